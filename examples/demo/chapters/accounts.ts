/** The balance as a statement, at a past time, and blocked. */
import { minorOf } from '../money.ts'
import { kycOf } from '../people.ts'
import { sam } from '../staff.ts'
import { balanceOf, ended, orderOf, payeeOf } from './payments.ts'
import { present, refusalOf, type Chapter, type Stage } from './stage.ts'

export const accounts: Chapter = {
  name: 'accounts',
  title: 'a statement, a past balance, and a block',
  run: async (stage) => {
    await statement(stage)
    await block(stage)
  },
}

async function statement(stage: Stage): Promise<void> {
  const { client, say, show } = stage
  const customer = await client.customers.create({ email: 'ada@example.com', kyc: kycOf('Ada Lovelace') })
  say('Ada pays in 100.00 EUR, and 12.50 EUR are paid out for her.')
  const deposit = { customerId: customer.guid, amount: '100.00', currency: 'EUR', outcome: 'completed' } as const
  await ended(stage, (await client.simulations.createDeposit(deposit)).reference)
  const payee = await payeeOf(client, 'Grace Hopper', undefined, customer.guid)
  await ended(stage, (await client.payouts.create(orderOf(payee, '12.50'))).reference)

  const { id, posted } = await balanceOf(client)
  const { data: entries } = await client.accounts.listEntries(id, {})
  for (const { at, direction, amount, balance } of entries)
    say(`  ${at}  ${direction.padEnd(8)}${amount.padStart(12)}${balance.padStart(14)}`)
  show('the newest entry leads to the balance', entries[0]?.balance ?? '', posted)
  const broken = entries.filter(({ balance, direction, amount }, index) => {
    const before = minorOf(entries[index + 1]?.balance ?? '0.00')
    return minorOf(balance) !== before + (direction === 'Inward' ? minorOf(amount) : -minorOf(amount))
  })
  show('entries that do not lead to the next', `${broken.length} of ${entries.length}`, '0 of 3')

  const before = await balanceOf(client, present(entries[0], 'an entry').at)
  show('the balance before the payout', before.posted, '1000100.00')
  const { data: parts } = await client.accounts.listCustomerBalances(customer.guid)
  show('what moved for Ada', parts.map(({ posted: sum, currency }) => `${sum} ${currency}`).join(), '87.50 EUR')
}

async function block({ client, partnerId, operator, say, show }: Stage): Promise<void> {
  say('A court orders that nothing may leave the balance. The operator blocks it.')
  const account = ['--partner', partnerId, '--currency', 'EUR', '--reason', 'CourtOrder', '--staff', sam] as const
  await operator('account', 'block', '--direction', 'outbound', ...account, '--yes')
  const payee = await payeeOf(client, 'Grace Hopper')
  show(
    'a payout from a blocked balance',
    await refusalOf(client.payouts.create(orderOf(payee, '1.00'))),
    '422 account_blocked',
  )
  const [change] = (await client.accounts.listStateChanges({ currency: 'EUR' })).data
  show('what the partner reads', `${change?.state} ${change?.reason}`, 'BlockedOutbound CourtOrder')
  await operator('account', 'unblock', ...account)
  show('after the order is lifted', (await client.payouts.create(orderOf(payee, '1.00'))).status, 'Pending')
}
