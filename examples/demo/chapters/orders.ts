/** A rent by a standing order: its dates ahead, and one that is due at once. */
import { randomUUID } from 'node:crypto'
import { payeeOf } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

/** A busy machine needs seconds for a request, and a date must lie ahead. */
const aheadMs = 5000

export const orders: Chapter = {
  name: 'orders',
  title: 'standing orders: dates ahead, and a first execution',
  run: async (stage) => {
    const { client, say, show } = stage
    const payee = await payeeOf(client, 'Grace Hopper')
    say('The rent is due on the last day of each month, or on the business day before.')
    const rent = { beneficiaryId: payee, amount: '950.00', currency: 'EUR', reference: 'Rent' }
    const months = { frequency: 'Monthly', startsOn: '2028-01-01', dayOfMonth: 31, businessDays: 'Preceding' } as const
    const order = await client.payouts.createStandingOrder(
      { ...rent, schedule: months },
      { idempotencyKey: randomUUID() },
    )
    for (const { date, executesAt } of (order.nextDates ?? []).slice(0, 4)) say(`  ${date} is paid at ${executesAt}`)
    // 30 April 2028 is a Sunday.
    const april = order.nextDates?.find(({ date }) => date === '2028-04-30')
    show('a date on a Sunday is paid on the Friday before', april?.executesAt ?? '', '2028-04-28T06:00:00.000Z')
    const wrong = { frequency: 'Weekly', startsOn: '2028-01-01', endsOn: '2027-12-31' } as const
    const refused = await refusalOf(client.payouts.createStandingOrder({ ...rent, schedule: wrong }))
    show('an end before the start', refused, '400 validation_failed /schedule/endsOn')
    await execution(stage, payee)
    show('the rent is cancelled', (await client.payouts.cancelStandingOrder(order.id)).endReason ?? '', 'Cancelled')
  },
}

async function execution({ client, until, say, show }: Stage, beneficiaryId: string): Promise<void> {
  const soon = new Date(Date.now() + aheadMs).toISOString()
  say(`One payout is ordered for ${soon.slice(0, 19)}.`)
  const { id } = await client.payouts.createStandingOrder({
    beneficiaryId,
    amount: '12.50',
    currency: 'EUR',
    schedule: { frequency: 'Once', startsOn: soon.slice(0, 10), time: soon.slice(11, 19), businessDays: 'None' },
  })
  const made = await until('the order has its execution', async () => {
    const { data } = await client.payouts.listStandingOrderExecutions(id)
    return data[0]
  })
  const { amount, type } = await client.transactions.get(made.reference ?? '')
  show('its execution', `${made.status}: ${amount} EUR, ${type}`, 'Made: 12.50 EUR, PartnerWithdraw')
  const ended = await client.payouts.getStandingOrder(id)
  show('the order afterwards', `${ended.status} ${ended.endReason}`, 'Ended Completed')
}
