/** Pure: a endpoint queue in the memory of the worker that holds it: what it knows to be owed, what is under way, what is next. */
import { createWindow, type Health, type Window } from './health.ts'
import type { Limits } from '../limits.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import type { QueueRow } from './store-queue.ts'
import type { SigningKey } from '@partner-payments/wire'

/** A delivery that waits in memory, with its payload. */
export type Owed = QueueRow & { readonly data: string }

export type Target = {
  readonly url: string
  readonly ordered: boolean
  readonly keys: readonly SigningKey[]
  /** When the first of the keys ends. */
  readonly until: Date | null
  /** It has become ordered, and what it is owed is still to be marked so: nothing of it may be read. */
  readonly orderPending: string | null
  /** Of the subscription, as it was read. */
  readonly updatedAt: Date
}

/** The one that is known is kept, so that whoever sends to it need not learn it again. */
export const sameTarget = (a: Target, b: Target): boolean =>
  a.url === b.url &&
  a.ordered === b.ordered &&
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.until?.getTime() === b.until?.getTime() &&
  a.keys.length === b.keys.length &&
  a.keys.every((key, index) => key === b.keys[index])

/** Not asked for yet. */
export const unread: Target = {
  ...{ url: '', ordered: false, keys: [], until: null, orderPending: null, updatedAt: new Date(0) },
}

/** What a subscription is newly owed: all of it between two numbers of its partner's feed. */
export type Fresh = SubscriptionKey & {
  /** Of the subscription, when this was made for it. */
  readonly updatedAt: Date
  readonly after: bigint
  readonly upTo: bigint
  readonly rows: readonly Owed[]
}

/** One attempt to make. */
export type Claim = SubscriptionKey & {
  /** Of the event, within the service. */
  readonly deliveryId: string
  /** Where it goes, and what signs it. */
  readonly target: Target
  /** On the wire. */
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
  /** Attempts made before. */
  readonly attemptCount: number
}

/** An attempt under way. */
export type UnderWay = { readonly owed: Owed; readonly isProbe: boolean }

/** The end of a lease that may not be ours any more. */
export const doubtful = new Date(0)

export type EndpointQueue = {
  readonly key: SubscriptionKey
  target: Target
  health: Health
  readonly window: Window
  leaseUntil: Date
  /** Due again, and new: in the order in which they go. */
  again: Owed[]
  fresh: Owed[]
  readonly inFlight: Map<string, UnderWay>
  /** References with an attempt under way. */
  readonly references: Set<string>
  /** New rows are known up to this number of the feed; what is behind it is read from there on. */
  cursor: bigint
  /** There may be new rows behind the cursor. */
  mayHaveFresh: boolean
  /** Whoever reads from now on sees all up to this number. */
  committed: bigint
  /** When the next one is due again: null for never; a time that has come makes it read. */
  dueAt: Date | null
  /** Recorded or given back while rows are being read: what was read of them is of before. */
  readonly settled: Set<string>
  /** Nothing begins any more: it is given back, like this, once nothing is under way. */
  closing: { readonly closed: boolean; readonly dueAt: Date | null } | undefined
  /** Since when it has had nothing to do, by the stopwatch. */
  idleSince: number | undefined
}

export function createEndpointQueue(
  key: SubscriptionKey,
  target: Target,
  health: Health,
  leaseUntil: Date,
  now: Date,
): EndpointQueue {
  return {
    ...{ key, target, health, leaseUntil, window: createWindow(), again: [], fresh: [], inFlight: new Map() },
    ...{ references: new Set(), cursor: 0n, mayHaveFresh: true, dueAt: now, settled: new Set(), closing: undefined },
    ...{ committed: 0n, idleSince: undefined },
  }
}

/** All of the endpoint queue is read again, as if it had just been claimed. */
export function forget(endpointQueue: EndpointQueue, now: Date): void {
  Object.assign(endpointQueue, { again: [], fresh: [], cursor: 0n, mayHaveFresh: true, dueAt: now })
}

export const isPaused = ({ health }: EndpointQueue, now: Date): boolean =>
  health.pausedUntil !== null && health.pausedUntil > now

/** Attempts that may be under way at once: one while the breaker is open, a few after it closed. */
export const capOf = ({ health }: EndpointQueue, limits: Limits): number =>
  health.probeMs === null ? Math.min(health.slowStart ?? Infinity, limits.inFlightPerEndpointMax) : 1

export const hasRoom = (endpointQueue: EndpointQueue, now: Date, limits: Limits): boolean =>
  endpointQueue.closing === undefined &&
  endpointQueue.inFlight.size < capOf(endpointQueue, limits) &&
  !isPaused(endpointQueue, now) &&
  endpointQueue.leaseUntil.getTime() - now.getTime() > limits.leaseMarginMs

const isNext = ({ references }: EndpointQueue) => {
  // One of a reference at a time, in their order: an earlier one that waits in the list stands before the later ones.
  const waiting = new Set(references)
  return ({ reference }: Owed): boolean => {
    if (waiting.has(reference)) return false
    waiting.add(reference)
    return true
  }
}

function takeNext(endpointQueue: EndpointQueue): Owed | undefined {
  const first = endpointQueue.again.length > 0 ? endpointQueue.again : endpointQueue.fresh
  // Nearly always, and without a list of what is passed over.
  if (first[0] !== undefined && !endpointQueue.references.has(first[0].reference)) return first.shift()
  const mayGo = isNext(endpointQueue)
  for (const list of [endpointQueue.again, endpointQueue.fresh]) {
    const at = list.findIndex(mayGo)
    if (at >= 0) return list.splice(at, 1)[0]
  }
  return undefined
}

/** Takes the next one that may go, and has it under way. */
export function begin(endpointQueue: EndpointQueue): UnderWay | undefined {
  const owed = takeNext(endpointQueue)
  if (owed === undefined) return undefined
  const attempt = { owed, isProbe: endpointQueue.health.probeMs !== null }
  endpointQueue.inFlight.set(owed.eventId, attempt)
  endpointQueue.references.add(owed.reference)
  return attempt
}

/** It is no longer under way. */
export function end(endpointQueue: EndpointQueue, { eventId, reference }: Pick<Owed, 'eventId' | 'reference'>): void {
  endpointQueue.inFlight.delete(eventId)
  endpointQueue.references.delete(reference)
  endpointQueue.settled.add(eventId)
}

/** How many could go now, counted up to `max`. */
export function readyCount(endpointQueue: EndpointQueue, max: number): number {
  const mayGo = isNext(endpointQueue)
  let count = 0
  for (const list of [endpointQueue.again, endpointQueue.fresh])
    for (const owed of list) {
      if (mayGo(owed)) count += 1
      if (count >= max) return count
    }
  return count
}

/** Waiting rows that a endpoint queue keeps at most: those of references that are under way pile up before others. */
const waitingMax = 400

export const waitingOf = ({ again, fresh }: EndpointQueue): number => again.length + fresh.length

/** Whether rows should be read for it: fewer wait than may go at once, and there may be more. */
export function isHungry(endpointQueue: EndpointQueue, now: Date, limits: Limits): boolean {
  if (isPaused(endpointQueue, now) || endpointQueue.closing !== undefined) return false
  const dueAgain = endpointQueue.dueAt !== null && endpointQueue.dueAt <= now
  if (!endpointQueue.mayHaveFresh && !dueAgain) return false
  return (
    waitingOf(endpointQueue) < waitingMax &&
    readyCount(endpointQueue, limits.inFlightPerEndpointMax) < limits.inFlightPerEndpointMax
  )
}

/**
 * Takes what is new from the hands of the fan-out, so that it need not be read. Not where something before it is unknown,
 * nor where the order or the place of the deliveries is to be asked first. False: it is to be read.
 */
export function accept(
  endpointQueue: EndpointQueue,
  { after, upTo, rows, updatedAt }: Fresh,
  now: Date,
  rowsMax: number,
): boolean {
  endpointQueue.committed = upTo
  const { target, cursor } = endpointQueue
  const isCurrent = target.updatedAt.getTime() === updatedAt.getTime() && (target.until === null || target.until > now)
  const isNextOf = !endpointQueue.mayHaveFresh && cursor >= after && !target.ordered
  const hasPlace =
    waitingOf(endpointQueue) + rows.length <= Math.min(waitingMax, rowsMax) &&
    !endpointQueue.closing &&
    !isPaused(endpointQueue, now)
  if (!isCurrent || !isNextOf || !hasPlace) {
    endpointQueue.mayHaveFresh = true
    return false
  }
  endpointQueue.fresh.push(...rows.filter(({ sequence }) => sequence > cursor))
  endpointQueue.cursor = upTo > cursor ? upTo : cursor
  return true
}

const isKnown = (endpointQueue: EndpointQueue, eventId: string): boolean =>
  endpointQueue.inFlight.has(eventId) ||
  endpointQueue.settled.has(eventId) ||
  endpointQueue.again.some((owed) => owed.eventId === eventId) ||
  endpointQueue.fresh.some((owed) => owed.eventId === eventId)

/** The rows that are new to the endpoint queue. */
export const unknownOf = <T extends QueueRow>(endpointQueue: EndpointQueue, rows: readonly T[]): readonly T[] =>
  rows.filter((row) => !isKnown(endpointQueue, row.eventId))
