/** A session is paid in parts by two payers, and a payer gets the money of a checkout session back: in part, by a payout to the account that paid, and never more than was paid. */
import { randomUUID } from 'node:crypto'
import { kycOf } from '../people.ts'
import { ended } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const refunds: Chapter = {
  name: 'refunds',
  title: 'a payer gets a part of the money back, on the account that paid',
  run: async (stage) => {
    const { client, say, show, until } = stage
    const { guid } = await client.customers.create({ email: 'grace.payer@example.com', kyc: kycOf('Grace Hopper') })
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
    await inParts(stage)
    show('the whole price on top', await refusalOf(refund('49.90')), '422 refund_exceeds_payment /amount')
  },
}

/** Two payers share a price. The refund of one names its part. */
async function inParts({ client, say, show, until }: Stage): Promise<void> {
  say('Two payers share the price of a table. Each part waits outside the balance for the other one.')
  const { guid } = await client.customers.create({ email: 'two.payers@example.com', kyc: kycOf('Joan Clarke') })
  const order = { amount: '80.00', currency: 'EUR', customerId: guid, partialPayments: true } as const
  const { sessionId } = await client.checkout.create({ ...order, idempotencyKey: randomUUID() })
  const pay = (amount: string, debtorName: string) =>
    client.simulations.runCheckoutSession(sessionId, { step: 'credit', amount, debtorName })
  const read = () => client.checkout.get(sessionId)
  await pay('50.00', 'Grace Hopper')
  await until('the first part has arrived', async () => (await read()).parts?.length === 1)
  const { status, remainingAmount } = await read()
  show('after the first part', `${status}, ${String(remainingAmount)} due`, 'Open, 30.00 due')
  await pay('30.00', 'Ada Lovelace')
  await until('the session is paid', async () => (await read()).status === 'Completed')
  const { parts = [] } = await read()
  const partId = parts.find(({ debtorName }) => debtorName === 'Ada Lovelace')?.partId ?? ''
  const refund = (amount: string) => client.checkout.refund(sessionId, { partId, amount, idempotencyKey: randomUUID() })
  show('more than the part of one payer', await refusalOf(refund('30.01')), '422 refund_exceeds_payment /amount')
}
