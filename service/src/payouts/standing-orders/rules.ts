/** Pure: the task of a due standing order, and the order after it. */
import type { Refusal } from '../../kernel/api/index.ts'
import { after, dayMs, minuteMs, newId, present } from '../../kernel/index.ts'
import { payoutFingerprint, type PayoutCall, type PayoutRow, toProblem } from '../index.ts'
import {
  nextPosition,
  midnightAfter,
  type Occurrence,
  occurrenceFrom,
  type SchedulePosition,
  type OrderSchedule,
} from './schedule.ts'
import type { EndReason, ExecutionRow, OrderRow } from './store.ts'

/** Maximum delay of a payout after an outage: the beneficiary may have been paid in another way since. */
const lateDaysMax = 3
const retryMs = 15 * minuteMs

/** Returns the schedule of an order. The column `dates` stores the number of dates. */
export const orderSchedule = (order: OrderRow): OrderSchedule => order
export const schedulePosition = ({ nextIndex: index, nextNumber: number }: OrderRow): SchedulePosition => ({
  index,
  number,
})

/** Returns the next date. Every order that has not ended has one. */
const nextOccurrence = (order: OrderRow): Occurrence =>
  present(occurrenceFrom(orderSchedule(order), schedulePosition(order)), `no next date for standing order ${order.id}`)

/**
 * Decides what to do on a due date. `try`: create the payout. `skip`: it is too late. `giveUp`: the order was tried
 * until midnight.
 */
export function orderTask(order: OrderRow, now: Date): 'try' | 'skip' | 'giveUp' {
  if (order.retryUntil !== null) return now < order.retryUntil ? 'try' : 'giveUp'
  return now > after(nextOccurrence(order).executesAt, lateDaysMax * dayMs) ? 'skip' : 'try'
}

/** Returns the idempotency key of an order's date, so that each date is paid at most once. */
const orderKey = ({ id }: Pick<OrderRow, 'id'>, { date }: Pick<Occurrence, 'date'>): string =>
  `standing-order ${id} ${date}`

export function toPayoutCall(order: OrderRow): PayoutCall {
  const { partnerId, accountId, accountName, ipAddress, beneficiaryId, amount, currency, reference } = order
  const { note, refusesDuplicates } = order
  return {
    caller: { partnerId, serviceAccountId: accountId, name: accountName, permissions: [] },
    nonce: undefined,
    operation: 'createStandingOrder',
    idempotencyKey: orderKey(order, nextOccurrence(order)),
    requestFingerprint: payoutFingerprint({ amount, currency, beneficiaryId, reference }),
    amount,
    currency,
    reference,
    ip: ipAddress,
    refusesDuplicates,
    ...(note === null ? {} : { note }),
    payee: { beneficiaryId },
  }
}

/** Result of a due date. `order`: the order after the date was processed. */
export type DateResult = { readonly order: OrderRow; readonly execution: ExecutionRow }

export function createdResult(order: OrderRow, payout: PayoutRow, now: Date): DateResult {
  const execution = toExecution(order, now)
  const result = { status: 'Made', payoutId: payout.id, transactionReference: payout.reference } as const
  return {
    order: { ...moveToNextDate(order, now), payoutsMade: order.payoutsMade + 1 },
    execution: { ...execution, ...result, attempts: order.attempts + 1 },
  }
}

export const skippedResult = (order: OrderRow, now: Date): DateResult => ({
  order: moveToNextDate(order, now),
  execution: { ...toExecution(order, now), status: 'Skipped' },
})

/**
 * Returns the result of a refused attempt. Only insufficient funds are retried, on the same day: a daily limit is not
 * reset before midnight.
 */
export function refusedResult(order: OrderRow, refusal: Refusal, now: Date): DateResult {
  const { code, errors } = refusal
  const attempts = order.attempts + 1
  const execution = { ...toExecution(order, now), ...toProblem(refusal), attempts }
  const failed = { ...execution, status: 'Failed' } as const
  if (code === 'not_found' && errors.some(({ pointer }) => pointer === '/beneficiaryId'))
    return { order: endOrder(order, 'BeneficiaryDeleted', now), execution: failed }
  if (code !== 'insufficient_funds') return { order: moveToNextDate(order, now), execution: failed }
  const retryUntil = order.retryUntil ?? midnightAfter(now)
  const retryAt = wholeMinute(after(now, retryMs))
  const dueAt = retryAt < retryUntil ? retryAt : retryUntil
  const retrying = { ...order, attempts, retryUntil, dueAt, updatedAt: now }
  return { order: retrying, execution: { ...execution, status: 'Retrying' } }
}

/** Returns the result of a date that is no longer retried. `tried`: the execution after the last attempt. */
export const givenUpResult = (order: OrderRow, tried: ExecutionRow, now: Date): DateResult => ({
  order: moveToNextDate(order, now),
  execution: { ...tried, status: 'Failed', updatedAt: now },
})

export const endOrder = (order: OrderRow, endReason: EndReason, now: Date): OrderRow => ({
  ...order,
  ...settledDate,
  status: 'Ended',
  endReason,
  dueAt: null,
  endedAt: now,
  updatedAt: now,
})

export const pauseOrder = (order: OrderRow, now: Date): OrderRow => ({
  ...order,
  ...settledDate,
  status: 'Paused',
  dueAt: null,
  updatedAt: now,
})

/** Activates an order, or ends it if no date is left. `next`: its next date. */
export function activateOrder(order: OrderRow, next: Occurrence | undefined, now: Date): OrderRow {
  if (next === undefined) return endOrder(order, 'Completed', now)
  const { index: nextIndex, number: nextNumber, executesAt: dueAt } = next
  return { ...order, ...settledDate, status: 'Active', nextIndex, nextNumber, dueAt, updatedAt: now }
}

/** Fields of an order whose date is not being retried. */
const settledDate = { retryUntil: null, attempts: 0 } as const

const moveToNextDate = (order: OrderRow, now: Date): OrderRow =>
  activateOrder(order, occurrenceFrom(orderSchedule(order), nextPosition(nextOccurrence(order))), now)

function toExecution(order: OrderRow, now: Date): Omit<ExecutionRow, 'status'> {
  const { date: occursOn, executesAt } = nextOccurrence(order)
  return {
    partnerId: order.partnerId,
    id: newId(),
    orderId: order.id,
    occursOn,
    executesAt,
    attempts: order.attempts,
    payoutId: null,
    transactionReference: null,
    problemCode: null,
    problemDetail: null,
    createdAt: now,
    updatedAt: now,
  }
}

/** Orders that are due at the same time form one group. */
const wholeMinute = (time: Date): Date => new Date(time.getTime() - (time.getTime() % minuteMs))
