/** The payments of the day: deposits, payouts and withdrawals, successful and failing. */
import { randomUUID } from 'node:crypto'
import { ApiProblem } from '@partner-payments/sdk'
import { endings } from './causes.ts'
import { amountText } from './money.ts'
import {
  deposits,
  makeDeposit,
  makePayout,
  makeWithdrawal,
  type Payment,
  payouts,
  returned,
  withdrawals,
} from './payments.ts'
import { type Context, expect, type Parties, setUp } from './setup.ts'
import { type Kill, payAndKill } from './kills.ts'

export type Day = { readonly parties: Parties; readonly payments: readonly Payment[] }

/** `kill` kills and restarts the service at a given moment. Without it the service runs all day. */
export async function runDay(context: Context, kill?: Kill): Promise<Day> {
  const parties = await setUp(context)
  const payments: Payment[] = []
  const note = (topic: string) => (payment: Payment) => {
    payments.push(payment)
    context.print(topic, lineOf(payment))
    return payment
  }
  const incoming = await Promise.all(deposits.map((plan) => makeDeposit(context, parties, plan).then(note('deposit'))))
  await kill?.('a deposit is submitted', () => arrived(context, incoming, 'submitted'))
  await awaitFinal(context, incoming)

  const outgoing = await Promise.all(payouts.map((plan) => makePayout(context, parties, plan).then(note('payout'))))
  await kill?.('a payout is sent', () => arrived(context, outgoing, 'sent'))
  await awaitFinal(context, outgoing)
  payments.push(await refundOf(context, outgoing))
  await replay(context, parties, note('payout'))
  await refuse(context, parties)

  const simulated = await Promise.all(
    withdrawals.map((plan) => makeWithdrawal(context, parties, plan).then(note('withdrawal'))),
  )
  await kill?.('withdrawals are requested', () => true)
  await awaitFinal(context, simulated)
  if (kill) {
    const paid = await payAndKill(context, parties, kill)
    payments.push(...paid)
    await awaitFinal(context, paid)
  }
  await showTimeline(context, payments)
  return { parties, payments }
}

const referenceWidth = 24
export const lineOf = ({ amount, currency, reference, what }: Payment) =>
  `${amountText(amount).padStart(9)} ${currency}  ${reference.padEnd(referenceWidth)}  ${what}`

/** Whether an event of that name has arrived for one of the payments. */
export const arrived = ({ receiver }: Context, payments: readonly Payment[], name: string): boolean =>
  payments.some(({ reference }) => receiver.eventsOf(reference).some(({ data }) => data.eventType.endsWith(`.${name}`)))

/** Waits until each transaction has its final status and its last event has arrived. */
export async function awaitFinal(
  { client, receiver, print, until }: Context,
  payments: readonly Payment[],
): Promise<void> {
  const finals = payments.map(async ({ reference, what, ending }) => {
    const last = ending.events.at(-1)
    return until(`${reference} (${what}) is ${ending.status}, and ${last} has arrived`, async () => {
      if (!receiver.eventsOf(reference).some(({ data }) => data.eventType === last)) return false
      return (await client.transactions.get(reference)).status === ending.status
    })
  })
  await Promise.all(finals)
  const counts = Map.groupBy(payments, ({ ending }) => ending.status)
  print('', [...counts].map(([status, { length }]) => `${length} ${status}`).join(', '))
}

/** A return after settlement is a new transaction. Its event names the payout that it refunds. */
export async function refundOf({ receiver, print, until }: Context, payments: readonly Payment[]): Promise<Payment> {
  const payout = payments.find(({ amount }) => amountText(amount).replace(',', '') === returned)
  if (payout === undefined) throw new Error('the day has no payout that the bank returns')
  const { data } = await until(`the event of the return of ${payout.reference} has arrived`, () =>
    receiver.arrivals.find(
      ({ data: { ...event } }) =>
        event.eventType === 'transaction.status.changed' && event.originatingTransactionReference === payout.reference,
    ),
  )
  const refund: Payment = {
    ...payout,
    reference: data.reference,
    what: `return of ${payout.reference}`,
    type: 'PartnerCustomerRefund',
    ending: endings.refund,
    instructed: false,
  }
  print('return', lineOf(refund))
  return refund
}

/** Repeats a request with the same key and body: the service returns the same answer and creates no second payout. */
export async function replay(context: Context, parties: Parties, note: (payment: Payment) => Payment): Promise<void> {
  const key = randomUUID()
  const plan = { what: 'requested twice', to: 'landlord', amount: '33.33', currency: 'EUR' } as const
  const ending = 'customer payout settled'
  const first = note(await makePayout(context, parties, { ...plan, ending }, key))
  const body = { beneficiaryId: parties.payees.landlord, amount: '33.33', currency: 'EUR', idempotencyKey: key }
  const again = await context.client.call('createFiatPayout', { body })
  expect('the reference of the second answer', again.body.reference, first.reference)
  expect('Idempotent-Replayed', again.headers.get('idempotent-replayed'), 'true')
  context.print('', 'the second request returned the first answer (Idempotent-Replayed)')
  await awaitFinal(context, [first])
}

/** Requests more money than the balance holds. */
export async function refuse({ client, print }: Context, parties: Parties): Promise<void> {
  const beneficiaryId = parties.payees.landlord
  const body = { beneficiaryId, amount: '9999999.99', currency: 'EUR', idempotencyKey: randomUUID() }
  const problem = await client.payouts.create(body).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(problem instanceof ApiProblem))
    throw new Error('a payout above the balance was not refused', { cause: problem })
  expect('the refusal', `${problem.status} ${problem.code}`, '422 insufficient_funds')
  print('refused', `9,999,999.99 EUR  ${problem.message}`)
}

async function showTimeline({ client, print }: Context, payments: readonly Payment[]): Promise<void> {
  const shown = payments.find(({ what }) => what.includes('returned'))
  if (shown === undefined) throw new Error('the day has no returned payout')
  const { reference, status, type, rail, timeline } = await client.transactions.get(shown.reference)
  print('timeline', `${reference}: ${type}, ${rail}, ${status}`)
  for (const step of timeline) print('', `  ${step.createdAt}  ${step.step.padEnd(9)}  ${step.status}`)
}
