/** A monitor that notifies the partner when a balance falls below a threshold, and when it recovers. */
import { kycOf } from '../people.ts'
import { balanceOf, ended, orderOf, payeeOf } from './payments.ts'
import { type Chapter, type Stage } from './stage.ts'

export const monitors: Chapter = {
  name: 'monitors',
  title: 'a balance that crosses a threshold, and comes back',
  run: async (stage) => {
    const { client, say, show } = stage
    const { id: accountId } = await balanceOf(client)
    say('The partner wants to know when less than 999,990.00 EUR are left.')
    const watched = { direction: 'Below', threshold: '999990.00', description: 'Float is low' } as const
    const monitor = await client.accounts.createMonitor(accountId, watched)
    show('a new monitor', monitor.state, 'Armed')

    const payee = await payeeOf(client, 'Grace Hopper')
    const payout = await client.payouts.create(orderOf(payee, '12.50'))
    await ended(stage, payout.reference)
    show('after a payout of 12.50', await stateOf(stage, accountId, monitor.id, 'Triggered'), 'Triggered')

    const { guid: customerId } = await client.customers.create({ email: 'ada@example.com', kyc: kycOf('Ada Lovelace') })
    const paidIn = { customerId, amount: '20.00', currency: 'EUR', outcome: 'completed' } as const
    const deposit = await client.simulations.createDeposit(paidIn)
    await ended(stage, deposit.reference)
    show('after a deposit of 20.00', await stateOf(stage, accountId, monitor.id, 'Armed'), 'Armed')

    const { data } = await client.accounts.listMonitorCrossings(accountId, monitor.id)
    const told = data.toReversed().map(({ kind, balance, reference }) => {
      const cause = reference === payout.reference ? 'payout' : reference === deposit.reference ? 'deposit' : 'unknown'
      return `${kind} at ${balance} by the ${cause}`
    })
    const expected = 'Triggered at 999987.50 by the payout, Rearmed at 1000007.50 by the deposit'
    show('each crossing once, with its cause', told.join(', '), expected)
  },
}

/** The worker judges an entry a few seconds behind it. */
const stateOf = ({ client, until }: Stage, accountId: string, id: string, expected: string): Promise<string> =>
  until(`the monitor is ${expected}`, async () => {
    const { state } = await client.accounts.getMonitor(accountId, id)
    return state === expected && state
  })
