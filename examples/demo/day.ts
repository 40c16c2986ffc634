/** The day itself: money in, money out, and everything that may go wrong on the way. */
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
import { type Cast, expect, setUp, type Stage } from './setup.ts'
import { fire, type Strike } from './strikes.ts'

export type Day = { readonly cast: Cast; readonly payments: readonly Payment[] }

/** `strike` kills the service and starts it again; undefined on a peaceful day. */
export async function liveTheDay(stage: Stage, strike?: Strike): Promise<Day> {
  const cast = await setUp(stage)
  const payments: Payment[] = []
  const note = (topic: string) => (payment: Payment) => {
    payments.push(payment)
    stage.print(topic, lineOf(payment))
    return payment
  }
  const incoming = await Promise.all(deposits.map((plan) => makeDeposit(stage, cast, plan).then(note('deposit'))))
  await strike?.('deposits are on their way', () => arrived(stage, incoming, 'submitted'))
  await settle(stage, incoming)

  const outgoing = await Promise.all(payouts.map((plan) => makePayout(stage, cast, plan).then(note('payout'))))
  await strike?.('payouts are sent and not settled', () => arrived(stage, outgoing, 'sent'))
  await settle(stage, outgoing)
  payments.push(await refundOf(stage, outgoing))
  await replay(stage, cast, note('payout'))
  await refuse(stage, cast)

  const simulated = await Promise.all(
    withdrawals.map((plan) => makeWithdrawal(stage, cast, plan).then(note('withdrawal'))),
  )
  await strike?.('withdrawals are requested', () => true)
  await settle(stage, simulated)
  if (strike) {
    const survivors = await fire(stage, cast, strike)
    payments.push(...survivors)
    await settle(stage, survivors)
  }
  await showTimeline(stage, payments)
  return { cast, payments }
}

const referenceWidth = 24
const lineOf = ({ amount, currency, reference, what }: Payment) =>
  `${amountText(amount).padStart(9)} ${currency}  ${reference.padEnd(referenceWidth)}  ${what}`

/** Whether an event of that name has come for one of the payments. */
export const arrived = ({ receiver }: Stage, payments: readonly Payment[], name: string): boolean =>
  payments.some(({ reference }) => receiver.eventsOf(reference).some(({ data }) => data.eventType.endsWith(`.${name}`)))

/** Waits until each transaction has the status that it is to end in, and its last event has come. */
async function settle({ client, receiver, print, until }: Stage, payments: readonly Payment[]): Promise<void> {
  const ends = payments.map(async ({ reference, what, ending }) => {
    const last = ending.events.at(-1)
    const how = `${reference} (${what}) is ${ending.status}, and ${last} has come`
    return until(how, async () => {
      if (!receiver.eventsOf(reference).some(({ data }) => data.eventType === last)) return false
      return (await client.getTransaction(reference)).status === ending.status
    })
  })
  await Promise.all(ends)
  const counts = Map.groupBy(payments, ({ ending }) => ending.status)
  print('', [...counts].map(([status, { length }]) => `${length} ${status}`).join(', '))
}

/** A return after settlement is a transaction of its own, which its event links to the payout. */
async function refundOf({ receiver, print, until }: Stage, payments: readonly Payment[]): Promise<Payment> {
  const payout = payments.find(({ amount }) => amountText(amount).replace(',', '') === returned)
  if (payout === undefined) throw new Error('no payout is to be returned')
  const { data } = await until(`the return of ${payout.reference} is told`, () =>
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

/** The same key and body again: the same answer, and no second payout. */
async function replay(stage: Stage, cast: Cast, note: (payment: Payment) => Payment): Promise<void> {
  const key = randomUUID()
  const plan = { what: 'asked for twice', to: 'landlord', amount: '33.33', currency: 'EUR' } as const
  const ending = 'customer payout settled'
  const first = note(await makePayout(stage, cast, { ...plan, ending }, key))
  const body = { beneficiaryId: cast.payees.landlord, amount: '33.33', currency: 'EUR', idempotencyKey: key }
  const again = await stage.client.call('createFiatPayout', { body })
  expect('the reference of the second answer', again.body.reference, first.reference)
  expect('Idempotent-Replayed', again.headers.get('idempotent-replayed'), 'true')
  stage.print('', 'the second answer is the first one, replayed')
  await settle(stage, [first])
}

/** More than there is. */
async function refuse({ client, print }: Stage, cast: Cast): Promise<void> {
  const beneficiaryId = cast.payees.landlord
  const body = { beneficiaryId, amount: '9999999.99', currency: 'EUR', idempotencyKey: randomUUID() }
  const problem = await client.createFiatPayout(body).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(problem instanceof ApiProblem))
    throw new Error('a payout of more than there is was not refused', { cause: problem })
  expect('the refusal', `${problem.status} ${problem.code}`, '422 insufficient_funds')
  print('refused', `9,999,999.99 EUR  ${problem.message}`)
}

async function showTimeline({ client, print }: Stage, payments: readonly Payment[]): Promise<void> {
  const shown = payments.find(({ what }) => what.includes('returned'))
  if (shown === undefined) throw new Error('no payout was returned')
  const { reference, status, type, rail, timeline } = await client.getTransaction(shown.reference)
  print('timeline', `${reference}: ${type}, ${rail}, ${status}`)
  for (const step of timeline) print('', `  ${step.createdAt}  ${step.step.padEnd(9)}  ${step.status}`)
}
