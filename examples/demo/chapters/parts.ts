/** Segregated money: a payout never uses the money of another customer. */
import { kycOf } from '../people.ts'
import { sam } from '../staff.ts'
import { balanceOf, ended, orderOf, payeeOf } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const parts: Chapter = {
  name: 'parts',
  title: "a segregated balance, a customer's payout, the partner's own, and a transfer between them",
  run: async (stage) => {
    const { client, partnerId, operator, say, show } = stage
    const ada = await client.customers.create({ email: 'ada@example.com', kyc: kycOf('Ada Lovelace') })
    const grace = await client.customers.create({ email: 'grace@example.com', kyc: kycOf('Grace Hopper') })
    say('The operator keeps the money of each customer apart, while payments go on.')
    const of = ['--partner', partnerId, '--currency', 'EUR'] as const
    const plan = await operator<{ shortCustomers: number }>('segregation', 'plan', ...of)
    show('customers that have paid out more than they paid in', `${plan.shortCustomers}`, '0')
    await operator('segregation', 'set', ...of, '--mode', 'segregated', '--staff', sam, '--note', 'agreed')
    show("the partner's own money", (await balanceOf(client)).own?.posted ?? '', '1000000.00')
    await payments(stage, ada.guid, grace.guid)
  },
}

async function payments(stage: Stage, ada: string, grace: string): Promise<void> {
  const { client, say, show } = stage
  const deposit = { customerId: ada, amount: '100.00', currency: 'EUR', outcome: 'completed' } as const
  await ended(stage, (await client.simulations.createDeposit(deposit)).reference)
  const adas = await payeeOf(client, 'Joan Clarke', undefined, ada)
  const graces = await payeeOf(client, 'Joan Clarke', undefined, grace)
  show(
    'a payout for a customer who has nothing',
    await refusalOf(client.payouts.create(orderOf(graces, '0.01'))),
    '422 insufficient_funds',
  )
  const { reference } = await client.payouts.create(orderOf(adas, '60.00'))
  show('a payout for the one who paid in', (await ended(stage, reference)).status, 'Completed')
  show(
    'one cent more than she has left',
    await refusalOf(client.payouts.create(orderOf(adas, '40.01'))),
    '422 insufficient_funds',
  )
  say('The partner gives Grace 5.00 EUR of its own, at once and without a bank.')
  await client.accounts.createTransfer({ amount: '5.00', currency: 'EUR', toCustomerId: grace })
  const [part] = (await client.accounts.listCustomerBalances(grace)).data
  show('what Grace has', part?.posted ?? '', '5.00')
  const { posted, own } = await balanceOf(client)
  show('the balance, and what of it is the own', `${posted}, ${own?.posted}`, '1000040.00, 999995.00')
}
