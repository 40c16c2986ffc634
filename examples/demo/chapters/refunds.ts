/** A payer gets the money of a checkout session back: in part, by a payout to the account that paid, and never more than was paid. */
import { randomUUID } from 'node:crypto'
import { ended } from './payments.ts'
import { refusalOf, type Chapter } from './stage.ts'

export const refunds: Chapter = {
  name: 'refunds',
  title: 'a payer gets a part of the money back, on the account that paid',
  run: async (stage) => {
    const { client, say, show, until } = stage
    const { guid } = await client.customers.create({ email: 'grace.payer@example.com' })
    const order = { amount: '49.90', currency: 'EUR', customerId: guid, description: 'Two lamps' } as const
    const { sessionId } = await client.checkout.create({ ...order, idempotencyKey: randomUUID() })
    const refund = (amount: string) => client.checkout.refund(sessionId, { amount, idempotencyKey: randomUUID() })
    show('a refund before the payment', await refusalOf(refund('20.00')), '409 checkout_session_not_paid')
    await client.simulations.runCheckoutSession(sessionId, { step: 'credit', debtorName: 'Grace Hopper' })
    await until('the session is paid', async () => (await client.checkout.get(sessionId)).status === 'Completed')
    say('One lamp was broken: its price goes back to the account that paid.')
    const { reference } = await refund('20.00')
    const paidOut = await ended(stage, reference)
    show('the refund', `${paidOut.amount} ${paidOut.currency} ${paidOut.status}`, '20.00 EUR Completed')
    const { refundedAmount } = await client.checkout.get(sessionId)
    show('what the session says is refunded', String(refundedAmount), '20.00')
    show('the whole price on top', await refusalOf(refund('49.90')), '422 refund_exceeds_payment /amount')
  },
}
