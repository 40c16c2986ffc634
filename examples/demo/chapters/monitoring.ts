/** Monitoring of transactions: a rule is tried on what has happened, is on once two persons say so, and holds a payout until two decide. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kycOf } from '../people.ts'
import { grace, sam } from '../staff.ts'
import { ended, orderOf, payeeOf } from './payments.ts'
import { type Chapter, present, type Stage } from './stage.ts'

/** Workers read the rules that are on every five seconds. */
const rulesKnownMs = 6000

export const monitoring: Chapter = {
  name: 'monitoring',
  title: 'payments just under a threshold, a rule and its backtest, a payout that it holds, and two persons',
  run: async (stage) => {
    const { client, partnerId, operator, say, show, folder } = stage
    const ada = await client.customers.create({ email: 'ada@example.com', kyc: kycOf('Ada Lovelace') })
    const payee = await payeeOf(client, 'Joan Clarke', undefined, ada.guid)
    say('Ada pays in 5,000.00 EUR, and three payouts for her stay under 1,000.00 EUR each.')
    const deposit = { customerId: ada.guid, amount: '5000.00', currency: 'EUR', outcome: 'completed' } as const
    await ended(stage, (await client.simulations.createDeposit(deposit)).reference)
    for (const amount of ['950.00', '980.00', '999.99'])
      await ended(stage, (await client.payouts.create(orderOf(payee, amount))).reference)
    const file = join(folder, 'rule.json')
    const rule = {
      name: 'Just under 1,000',
      kind: 'structuring',
      currency: 'EUR',
      direction: 'Outward',
      when: 'before',
    }
    await writeFile(file, JSON.stringify({ ...rule, hours: 72, threshold: '1000.00', count: 3, partners: [partnerId] }))
    const command = <T>(name: string, ...words: readonly string[]) => operator<T>('monitoring', 'rule', name, ...words)
    const by = ['--staff', sam] as const
    const { id } = await command<{ id: string }>('set', '--from', file, ...by)
    const today = new Date()
    const day = (moment: Date) => moment.toISOString().slice(0, 10)
    // The day may change while the demo runs.
    const days = [
      '--from',
      day(new Date(today.getTime() - 86_400_000)),
      '--until',
      day(new Date(today.getTime() + 86_400_000)),
    ]
    const tested = await command<{ hits: number; subjects: number }>('backtest', '--id', id, ...days, ...by)
    show(
      'what the rule would have found',
      `${tested.hits} payouts of ${tested.subjects} customer`,
      '3 payouts of 1 customer',
    )
    const proposed = await command<{ state: string }>('on', '--id', id, ...by)
    show('one person turns it on', proposed.state, 'Proposed')
    const on = await command<{ state: string }>('on', '--id', id, '--staff', grace)
    show('a second person', on.state, 'On')
    await decide(stage, orderOf(payee, '990.00'))
  },
}

type Alert = { readonly id: string; readonly payouts: { readonly waiting: number } }

/** The rule finds the payout before the bank has it: it waits until two persons have closed the alert. */
async function decide(stage: Stage, order: ReturnType<typeof orderOf>): Promise<void> {
  const { client, partnerId, operator, say, show, until } = stage
  const onSince = performance.now()
  await until('workers have the rule', () => performance.now() - onSince > rulesKnownMs)
  const { reference } = await client.payouts.create(order)
  const step = await until('the payout waits', async () => {
    const { timeline, status } = await client.transactions.get(reference)
    const last = timeline.at(-1)?.step
    return (last === 'Screening' || status !== 'Pending') && `${last}, ${status}`
  })
  show('the next payout', step, 'Screening, Pending')
  const [alert] = await operator<readonly Alert[]>('monitoring', 'alert', 'list', '--partner', partnerId)
  const { id, payouts } = present(alert, 'the alert')
  show('its alert holds', `${payouts.waiting} payout`, '1 payout')
  say('Sam proposes to release the payout, and Grace agrees: Ada pays her builders.')
  const named = ['--partner', partnerId, '--id', id] as const
  const found = ['--disposition', 'explained', '--note', 'Pays her builders'] as const
  await operator('case', 'propose', ...named, '--action', 'release', ...found, '--staff', sam)
  await operator('case', 'approve', ...named, '--staff', grace)
  show('the payout', (await ended(stage, reference)).status, 'Completed')
}
