/**
 * The state of one endpoint queue in the memory of the worker that holds it. Pure. Every change of that state is a function
 * of this file: elsewhere its fields are read-only.
 */
import { nilId } from '../../kernel/index.ts'
import { createFailureWindow, type EndpointHealth, type FailureWindow } from './health.ts'
import type { DeliveryLimits } from '../limits.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import type { QueueRow } from './store-queue.ts'
import type { SigningKey } from '@partner-payments/wire'

export type StartedAttempt = {
  readonly delivery: QueuedDelivery
  /** The probe of an open breaker. */
  readonly isProbe: boolean
}

/** The state in which the endpoint queue will be released. `closed`: no delivery can be attempted until the subscription changes. */
export type QueueClosing = { readonly closed: boolean; readonly dueAt: Date | null }

/** Progress of marking rows as ordered, for the change `orderPending`: the rows up to the event `last` are marked. */
export type OrderMarking = { readonly orderPending: string; readonly last: string }

type QueueState = {
  readonly key: SubscriptionKey
  target: SubscriptionTarget
  health: EndpointHealth
  readonly window: FailureWindow
  leaseUntil: Date
  /** Rows whose due time has come, and rows without a due time. Each list is in the order of its attempts. */
  scheduledRows: QueuedDelivery[]
  newRows: QueuedDelivery[]
  readonly inFlight: Map<string, StartedAttempt>
  /** The references of the attempts in flight. */
  readonly busyReferences: Set<string>
  /** New rows up to this number of the feed have been read. */
  readUpTo: bigint
  /** True if there may be new rows after `readUpTo`. */
  mayHaveNewRows: boolean
  /** A read that begins now sees every row up to this number. */
  committedUpTo: bigint
  /** When scheduled rows have to be read next. Null: never. */
  nextDueAt: Date | null
  /** Events whose attempts ended since the last read began. That read may return their earlier state. */
  readonly endedSinceRead: Set<string>
  /** References of an ordered subscription whose previous row was delivered, so that the next row has to be read. */
  readonly unblockedReferences: Set<string>
  /** Progress of marking the rows of a subscription that became ordered. */
  orderMarking: OrderMarking | undefined
  /** Stops further attempts. The endpoint queue is released in this state when no attempt is in flight. */
  closing: QueueClosing | undefined
  /** The start of its idle time, by the monotonic clock. */
  idleSince: number | undefined
}

export type EndpointQueue = Readonly<QueueState>

/** The end of a lease that the worker may have lost. */
const leaseUncertain = new Date(0)

/**
 * Creates the state of an endpoint queue that was just claimed, without rows. `committedUpTo`: the highest number that fan-out
 * announced, if any.
 */
export const createEndpointQueue = (
  key: SubscriptionKey,
  health: EndpointHealth,
  leaseUntil: Date,
  now: Date,
  committedUpTo = 0n,
): EndpointQueue => ({
  key,
  target: unreadTarget,
  health,
  window: createFailureWindow(),
  leaseUntil,
  scheduledRows: [],
  newRows: [],
  inFlight: new Map(),
  busyReferences: new Set(),
  readUpTo: 0n,
  mayHaveNewRows: true,
  committedUpTo,
  nextDueAt: now,
  endedSinceRead: new Set(),
  unblockedReferences: new Set(),
  orderMarking: undefined,
  closing: undefined,
  idleSince: undefined,
})

export const isResting = ({ health }: EndpointQueue, now: Date): boolean =>
  health.pausedUntil !== null && health.pausedUntil > now

/** Returns the number of concurrent attempts: one while the breaker is open, a few after it has closed. */
const allowedInFlight = ({ health }: EndpointQueue, limits: DeliveryLimits): number =>
  health.probeMs === null ? Math.min(health.slowStart ?? Infinity, limits.inFlightPerEndpointMax) : 1

const mayStartAttempt = (queue: EndpointQueue, now: Date, limits: DeliveryLimits): boolean =>
  queue.closing === undefined &&
  queue.inFlight.size < allowedInFlight(queue, limits) &&
  !isResting(queue, now) &&
  queue.leaseUntil.getTime() - now.getTime() > limits.leaseMarginMs

/** Creates a filter of the rows that may start, called in their order: one of each reference at a time, the earliest first. */
const createReferenceFilter = ({ busyReferences }: EndpointQueue) => {
  const references = new Set(busyReferences)
  return ({ reference }: QueuedDelivery): boolean => {
    if (references.has(reference)) return false
    references.add(reference)
    return true
  }
}

function takeNext(queue: QueueState): QueuedDelivery | undefined {
  const first = queue.scheduledRows.length > 0 ? queue.scheduledRows : queue.newRows
  // The usual case needs no filter.
  if (first[0] !== undefined && !queue.busyReferences.has(first[0].reference)) return first.shift()
  const mayStart = createReferenceFilter(queue)
  for (const rows of [queue.scheduledRows, queue.newRows]) {
    const at = rows.findIndex(mayStart)
    if (at >= 0) return rows.splice(at, 1)[0]
  }
  return undefined
}

/** Starts the next attempt. Undefined if none may start. */
export function startAttempt(queue: QueueState, now: Date, limits: DeliveryLimits): StartedAttempt | undefined {
  const delivery = mayStartAttempt(queue, now, limits) ? takeNext(queue) : undefined
  if (delivery === undefined) return undefined
  const started = { delivery, isProbe: queue.health.probeMs !== null }
  queue.inFlight.set(delivery.eventId, started)
  queue.busyReferences.add(delivery.reference)
  queue.idleSince = undefined
  return started
}

export function endAttempt(queue: QueueState, { eventId, reference }: Pick<QueueRow, 'eventId' | 'reference'>): void {
  queue.inFlight.delete(eventId)
  queue.busyReferences.delete(reference)
  queue.endedSinceRead.add(eventId)
}

/** Counts the rows that could start now, up to `max`. */
export function countStartable(queue: EndpointQueue, max: number): number {
  const mayStart = createReferenceFilter(queue)
  let count = 0
  for (const rows of [queue.scheduledRows, queue.newRows])
    for (const delivery of rows) {
      if (mayStart(delivery)) count += 1
      if (count >= max) return count
    }
  return count
}

/** Rows that an endpoint queue keeps in memory. Many may belong to a busy reference and wait. */
const waitingMax = 400

export const waitingCount = ({ scheduledRows, newRows }: EndpointQueue): number => scheduledRows.length + newRows.length

const isScheduledReadDue = ({ nextDueAt }: EndpointQueue, now: Date): boolean => nextDueAt !== null && nextDueAt <= now

/** Reports whether rows should be read: fewer wait than may start at once, and there may be more. */
export function needsRead(queue: EndpointQueue, now: Date, limits: DeliveryLimits): boolean {
  if (isResting(queue, now) || queue.closing !== undefined) return false
  if (!queue.mayHaveNewRows && !isScheduledReadDue(queue, now)) return false
  return (
    waitingCount(queue) < waitingMax &&
    countStartable(queue, limits.inFlightPerEndpointMax) < limits.inFlightPerEndpointMax
  )
}

/** Drops the rows in memory. All rows are read again, as after a claim. */
export function discardRows(queue: QueueState, now: Date): void {
  queue.scheduledRows = []
  queue.newRows = []
  queue.readUpTo = 0n
  queue.mayHaveNewRows = true
  queue.nextDueAt = now
}

/**
 * Adds rows that fan-out has just committed, so that they need not be read. Refuses them if a row before them may be
 * unread, if the subscription changed or is ordered, or if there is no space. Then new rows have to be read.
 */
export function addNewDeliveries(
  queue: QueueState,
  { after, upTo, rows, updatedAt }: NewDeliveries,
  now: Date,
  rowsMax: number,
): boolean {
  queue.committedUpTo = upTo
  const { target, readUpTo } = queue
  const isCurrent = target.updatedAt.getTime() === updatedAt.getTime() && (target.until === null || target.until > now)
  const isComplete = !queue.mayHaveNewRows && readUpTo >= after && !target.ordered
  const hasSpace =
    waitingCount(queue) + rows.length <= Math.min(waitingMax, rowsMax) && !queue.closing && !isResting(queue, now)
  if (!isCurrent || !isComplete || !hasSpace) {
    queue.mayHaveNewRows = true
    return false
  }
  queue.newRows.push(...rows.filter(({ sequence }) => sequence > readUpTo))
  queue.readUpTo = upTo > readUpTo ? upTo : readUpTo
  return true
}

/** Range to read from an endpoint queue, taken from its state when the read began. */
export type ReadRequest = SubscriptionKey & {
  readonly after: bigint
  readonly ordered: boolean
  readonly readsNew: boolean
  readonly readsScheduled: boolean
  readonly committedUpTo: bigint
  readonly unblockedReferences: readonly string[]
}

/** Begins a read. Marks set from now on are for rows that this read may miss. */
export function beginRead(queue: QueueState, now: Date): ReadRequest {
  const request = {
    ...queue.key,
    after: queue.readUpTo,
    ordered: queue.target.ordered,
    readsNew: queue.mayHaveNewRows,
    readsScheduled: isScheduledReadDue(queue, now),
    committedUpTo: queue.committedUpTo,
    unblockedReferences: [...queue.unblockedReferences],
  }
  queue.unblockedReferences.clear()
  queue.endedSinceRead.clear()
  queue.mayHaveNewRows = false
  if (request.readsScheduled) queue.nextDueAt = null
  return request
}

/**
 * Reports whether the rows in memory were dropped since the read began. Earlier rows then have to be read before the rows of this
 * read.
 */
export const wasDiscarded = (queue: EndpointQueue, request: ReadRequest): boolean => queue.readUpTo < request.after

/** Ends a read that found these rows, up to `rowsMax` of each kind. */
export function endRead(
  queue: QueueState,
  request: ReadRequest,
  found: { readonly newRows: readonly QueueRow[]; readonly scheduledRows: readonly QueueRow[] },
  rowsMax: number,
  now: Date,
): void {
  const isComplete = found.newRows.length < rowsMax
  const last = found.newRows.at(-1)?.sequence ?? 0n
  if (request.readsNew) {
    if (last > queue.readUpTo) queue.readUpTo = last
    if (isComplete && request.committedUpTo > queue.readUpTo) queue.readUpTo = request.committedUpTo
  }
  if (!isComplete) queue.mayHaveNewRows = true
  if (request.readsScheduled) scheduleRead(queue, nextDueAfter(found.scheduledRows, rowsMax, now))
}

/** Returns when scheduled rows have to be read next: now, if due rows filled this read, because there may be more. */
function nextDueAfter(rows: readonly QueueRow[], rowsMax: number, now: Date): Date | null {
  const next = rows.find((row) => row.dueAt !== null && row.dueAt > now)
  if (next !== undefined) return next.dueAt
  return rows.length === rowsMax ? now : null
}

export function unblockReference(queue: QueueState, reference: string): void {
  queue.unblockedReferences.add(reference)
}

/** Starts marking rows because the subscription became ordered. Drops the rows in memory, which were read without the order. */
export function beginOrderMarking(queue: QueueState, orderPending: string, now: Date): void {
  discardRows(queue, now)
  queue.closing = undefined
  if (queue.orderMarking?.orderPending !== orderPending) queue.orderMarking = { orderPending, last: nilId }
}

export function setOrderMarking(queue: QueueState, marking: OrderMarking | undefined): void {
  queue.orderMarking = marking
}

/** Schedules a read of scheduled rows at `dueAt`, unless an earlier read is scheduled. */
export function scheduleRead(queue: QueueState, dueAt: Date | null): void {
  if (dueAt !== null && (queue.nextDueAt === null || dueAt < queue.nextDueAt)) queue.nextDueAt = dueAt
}

/** Reports whether the row is in memory or in flight, or its attempt ended during the read. */
export const isKnown = (queue: EndpointQueue, { eventId }: QueueRow): boolean =>
  queue.inFlight.has(eventId) ||
  queue.endedSinceRead.has(eventId) ||
  queue.scheduledRows.some((delivery) => delivery.eventId === eventId) ||
  queue.newRows.some((delivery) => delivery.eventId === eventId)

export function addRead(queue: QueueState, delivery: QueuedDelivery): void {
  const rows = delivery.dueAt === null ? queue.newRows : queue.scheduledRows
  rows.push(delivery)
}

/**
 * Sets the target and cancels a closing. An unchanged target keeps its object, because threads identify a target by it. Returns false
 * if the subscription became ordered: rows that were read before must be discarded.
 */
export function setTarget(queue: QueueState, target: SubscriptionTarget): boolean {
  const becameOrdered = target.ordered && !queue.target.ordered
  if (!isSameTarget(queue.target, target)) queue.target = target
  queue.closing = undefined
  return !becameOrdered
}

/** Drops the rows in memory and starts no further attempt. */
export function close(queue: QueueState, closing: QueueClosing, now: Date): void {
  discardRows(queue, now)
  queue.closing = closing
}

/** Resets the queue after a wake-up: another transaction changed rows or health, so both are read from the database. */
export function wakeUp(queue: QueueState, health: EndpointHealth, now: Date): void {
  queue.health = health
  queue.closing = undefined
  queue.nextDueAt = now
  queue.mayHaveNewRows = true
  // A row that blocked later rows of its reference may have left the queue.
  if (queue.target.ordered) queue.readUpTo = 0n
}

export function setHealth(queue: QueueState, health: EndpointHealth): void {
  queue.health = health
}

export function renewLease(queue: QueueState, leaseUntil: Date): void {
  queue.leaseUntil = leaseUntil
}

/** Stops new attempts until the lease is renewed: after a stale result, another worker may hold the endpoint queue. */
export function markLeaseUncertain(queue: QueueState, now: Date): void {
  queue.leaseUntil = leaseUncertain
  discardRows(queue, now)
}

export const isLeaseUncertain = ({ leaseUntil }: EndpointQueue): boolean => leaseUntil === leaseUncertain

/** Returns the time since the queue became idle, counted from the first call. */
export function idleMs(queue: QueueState, nowMs: number): number {
  queue.idleSince ??= nowMs
  return nowMs - queue.idleSince
}

// An attempt: a delivery from the queue, and its target.

/** A row of the queue with the payload of its event. */
export type QueuedDelivery = QueueRow & { readonly data: string }

/** URL and signing key of a subscription's deliveries. */
export type SubscriptionTarget = {
  readonly url: string
  readonly ordered: boolean
  readonly keys: readonly SigningKey[]
  /** When the first of the keys ends. */
  readonly until: Date | null
  /** Set while the rows of a subscription that became ordered are being marked. None of them may be read before that ends. */
  readonly orderPending: string | null
  /** `updatedAt` of the subscription when it was read. */
  readonly updatedAt: Date
}

const isSameTarget = (a: SubscriptionTarget, b: SubscriptionTarget): boolean =>
  a.url === b.url &&
  a.ordered === b.ordered &&
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.until?.getTime() === b.until?.getTime() &&
  a.keys.length === b.keys.length &&
  a.keys.every((key, index) => key === b.keys[index])

/** Placeholder before the first read. */
const unreadTarget: SubscriptionTarget = {
  url: '',
  ordered: false,
  keys: [],
  until: null,
  orderPending: null,
  updatedAt: new Date(0),
}

/** All deliveries that fan-out created for a subscription between two numbers of the partner's feed. */
export type NewDeliveries = SubscriptionKey & {
  /** `updatedAt` of the subscription when fan-out read it. */
  readonly updatedAt: Date
  readonly after: bigint
  readonly upTo: bigint
  readonly rows: readonly QueuedDelivery[]
}

export type Attempt = SubscriptionKey & {
  /** The id of the event within the service. */
  readonly deliveryId: string
  readonly target: SubscriptionTarget
  /** The id of the delivery that the partner sees. */
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
  /** Attempts made before. */
  readonly attemptCount: number
}

// The endpoint queues that a worker holds, by subscription.

export function createHeldQueues() {
  const bySubscription = new Map<string, EndpointQueue>()
  /**
   * Endpoint queues that may be able to start an attempt. They take turns: after a start an endpoint queue goes to the
   * end.
   */
  const startable = new Set<EndpointQueue>()
  /** Endpoint queues that the next step of the worker reads. */
  const toRead = new Set<EndpointQueue>()
  return {
    startable,
    toRead,
    get: (subscriptionId: string): EndpointQueue | undefined => bySubscription.get(subscriptionId),
    has: (subscriptionId: string): boolean => bySubscription.has(subscriptionId),
    size: (): number => bySubscription.size,
    all: (): MapIterator<EndpointQueue> => bySubscription.values(),
    /** False after the loss of the lease, even if the worker has claimed the same subscription again. */
    isHeld: (queue: EndpointQueue): boolean => bySubscription.get(queue.key.subscriptionId) === queue,
    add: (queue: EndpointQueue): void => {
      bySubscription.set(queue.key.subscriptionId, queue)
      toRead.add(queue)
    },
    remove: (queue: EndpointQueue): void => {
      bySubscription.delete(queue.key.subscriptionId)
      startable.delete(queue)
      toRead.delete(queue)
    },
  }
}

export type HeldQueues = ReturnType<typeof createHeldQueues>
