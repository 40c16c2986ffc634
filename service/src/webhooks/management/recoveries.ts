/** The operations of a partner on recoveries. A recovery redelivers every undelivered event in a time range. */
import { type Static, type SubscribedEvents, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, parseTime, Refusal, refuseField } from '../../kernel/api/index.ts'
import { after, assert, type Clock, dayMs, deriveTimeId, firstIdOf, hourMs, idTime, newId } from '../../kernel/index.ts'
import { columnValues, type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import * as store from './store-history.ts'
import { lockPartnerRow, lockSubscription, type SubscriptionKey } from './store-subscriptions.ts'
import { loadSubscription } from './subscriptions.ts'
import type { EventOutbox, PartnerEvent } from '../../events/index.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import * as leftovers from '../queue/store-queue.ts'
import { isSubscribedTo } from './rules.ts'

export type Recovery = store.RecoveryRow
type RecoveriesDeps = RecoveryStepDeps & { readonly cursors: Cursors }

/** Recoveries kept per subscription. */
const recoveriesKeptMax = 100

/** Refuses (400): an empty range, an `until` in the future, and a `since` before the retention period. */
function readRange({ since, until }: Static<typeof wire.RecoveryStart>, now: Date) {
  const range = { since: parseTime(since), until: until === undefined ? now : parseTime(until) }
  const refuse = (pointer: string, message: string) => refuseField({ pointer, code: 'out_of_range', message })
  if (range.until > now) throw refuse('/until', 'must not be in the future')
  if (range.since < after(now, -wire.eventRetentionDays * dayMs))
    throw refuse('/since', `must be at most ${wire.eventRetentionDays} days ago`)
  if (range.since >= range.until) throw refuse('/since', 'must be before until; the default of until is now')
  return range
}

export function createRecoveries(deps: RecoveriesDeps) {
  const { db, clock, cursors } = deps
  return {
    ...createRecoverySteps(deps),

    /**
     * Starts a recovery, which a worker carries out. Refuses: validation_failed (/since, /until), not_found,
     * recovery_in_progress.
     */
    recover: (
      partnerId: string,
      id: string,
      input: Static<typeof wire.RecoveryStart>,
      outerTx?: Tx,
    ): Promise<Recovery> =>
      inTransaction(db, outerTx, async (tx) => {
        const now = clock.now()
        const key = { partnerId, subscriptionId: id }
        // The lock serialises concurrent starts.
        if ((await lockSubscription(tx, partnerId, id)) === undefined) throw notFound('webhook subscription')
        const range = readRange(input, now)
        const running = await store.runningRecovery(tx, key)
        if (running !== undefined)
          throw new Refusal(
            'recovery_in_progress',
            `The recovery ${running} is still running. Wait until it is completed.`,
          )
        const row: Recovery = {
          id: newId(),
          subscriptionId: id,
          since: range.since,
          until: range.until,
          status: 'Running',
          afterSequence: 0n,
          examined: 0n,
          recovered: 0n,
          createdAt: now,
          updatedAt: now,
        }
        await store.deleteOldRecoveries(tx, key, recoveriesKeptMax - 1)
        await store.insertRecovery(tx, partnerId, row)
        return row
      }),

    /** Reads a recovery. Refuses: not_found. */
    recovery: async (partnerId: string, id: string, recoveryId: string): Promise<Recovery> => {
      await loadSubscription(db, partnerId, id)
      const row = await store.recoveryById(db, { partnerId, subscriptionId: id }, recoveryId)
      if (row === undefined) throw notFound('recovery')
      return row
    },

    /** Lists recoveries, newest first. Refuses: not_found. */
    recoveries: async (
      partnerId: string,
      id: string,
      query: Static<typeof wire.RecoveryQuery>,
    ): Promise<Page<Recovery>> => {
      await loadSubscription(db, partnerId, id)
      const list = `${partnerId} recoveries of ${id}`
      const request = cursors.read(list, query)
      const key = { partnerId, subscriptionId: id }
      const rows = await store.listRecoveries(db, key, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows)
    },
  }
}

export type Recoveries = ReturnType<typeof createRecoveries>

// The worker side of recoveries: a step reads a part of the feed and makes deliveries due. One transaction contains the
// deliveries of a step and its position in the feed, so that a recovery continues correctly after a crash.

type RecoveryStepDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
}

/** Events per transaction. The transaction locks the partner's row, and the fan-out of the partner waits for it. */
const eventsPerStepMax = 500
const recoveriesPerStepMax = 20
/**
 * The feed is in the order of fan-out, which differs from the order of time only if a transaction commits late. No
 * transaction lasts this long: after an event that is later than `until` by this much, all events are later than
 * `until`.
 */
const latenessMsMax = hourMs

/** Reads the next events of the feed. `inRange`: the event is between `since` and `until`. */
async function nextEvents(tx: Tx, partnerId: string, recovery: store.RecoveryRow) {
  const from = firstIdOf(recovery.since)
  const before = firstIdOf(recovery.until)
  const isNew = recovery.afterSequence === 0n
  const first = isNew ? await store.firstSequenceSince(tx, partnerId, from) : recovery.afterSequence + 1n
  if (first === undefined) return []
  const rows = await store.feedAfter(tx, partnerId, first - 1n, eventsPerStepMax)
  return rows.map((row) => ({ ...row, inRange: row.eventId >= from && row.eventId < before }))
}

function toDelivery(
  event: PartnerEvent,
  sequence: bigint,
  subscriptionId: string,
  now: Date,
): leftovers.RequeuedDelivery {
  return {
    eventId: event.id,
    sequence,
    wireEventId: deriveTimeId(event.id, subscriptionId),
    type: event.type,
    reference: event.reference,
    attemptCount: 0,
    createdAt: now,
  }
}

/** Makes held deliveries of these events due and creates missing deliveries. Returns their number. */
async function recoverDeliveries(
  tx: Tx,
  { clock, eventOutbox }: RecoveryStepDeps,
  key: SubscriptionKey,
  rows: readonly store.FeedRow[],
  subscribed: SubscribedEvents,
): Promise<number> {
  const { partnerId, subscriptionId } = key
  const now = clock.now()
  const sequences = new Map(rows.map((row) => [row.eventId, row.sequence]))
  const eventKeys = rows.map(({ eventId }) => ({ partnerId, eventId }))
  const events = await eventOutbox.byIds(tx, eventKeys)
  const wanted = events.filter((event) => isSubscribedTo(subscribed, event.type))
  if (wanted.length === 0) return 0
  const eventIds = wanted.map((event) => event.id)
  const delivered = new Set(await store.deliveredEventIds(tx, key, eventIds))
  const missing = wanted
    .filter((event) => !delivered.has(event.id))
    .map((event) => toDelivery(event, sequences.get(event.id) ?? 0n, subscriptionId, now))
  const madeDue = await leftovers.makeHeldDue(tx, key, eventIds, now)
  const inserted = await leftovers.insertDue(tx, key, missing, now)
  // A result may have been recorded since `deliveredEventIds`. `insertDue` waits for one that is being recorded, so that the
  // statement after it sees every delivery whose row had left the queue.
  const alreadyDelivered = inserted > 0 ? await leftovers.deleteLeftovers(tx, key, columnValues(missing)('eventId')) : 0
  const created = inserted - alreadyDelivered
  if (created > 0) endpointQueues.addOwed(tx, [{ ...key, count: created, wake: true }], null, now)
  return madeDue + created
}

/**
 * Reports whether the recovery has read its whole range. At the end of the feed it waits for pending events of the range: fan-out does not
 * deliver them to a subscription that was created after them.
 */
async function isComplete(
  tx: Tx,
  eventOutbox: EventOutbox,
  partnerId: string,
  { until }: store.RecoveryRow,
  rows: readonly store.FeedRow[],
): Promise<boolean> {
  const last = rows.at(-1)
  if (last !== undefined && idTime(last.eventId) >= after(until, latenessMsMax)) return true
  return rows.length < eventsPerStepMax && !(await eventOutbox.hasPendingBefore(tx, partnerId, firstIdOf(until)))
}

function createRecoverySteps(deps: RecoveryStepDeps) {
  const { db, clock, eventOutbox } = deps

  /** Returns true if the recovery can continue at once. */
  const step = (key: SubscriptionKey, id: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const { partnerId, subscriptionId } = key
      const now = clock.now()
      // Locks the partner, the endpoint queue and the subscription. Under the first lock, no other step is under way.
      await lockPartnerRow(tx, partnerId)
      if (!(await endpointQueues.wakeEndpointQueue(tx, partnerId, subscriptionId, now))) return false
      const subscription = await lockSubscription(tx, partnerId, subscriptionId)
      const recovery = await store.recoveryById(tx, key, id)
      if (subscription === undefined || recovery?.status !== 'Running') return false
      const rows = await nextEvents(tx, partnerId, recovery)
      const inRange = rows.filter((row) => row.inRange)
      const recovered = await recoverDeliveries(tx, deps, key, inRange, subscription)
      const complete = await isComplete(tx, eventOutbox, partnerId, recovery, rows)
      const advanced = await store.advanceRecovery(tx, partnerId, recovery, {
        afterSequence: rows.at(-1)?.sequence ?? recovery.afterSequence,
        examined: recovery.examined + BigInt(inRange.length),
        recovered: recovery.recovered + BigInt(recovered),
        status: complete ? 'Completed' : 'Running',
        updatedAt: now,
      })
      assert(advanced, 'a recovery advances only under the lock of its partner')
      return !complete && rows.length > 0
    })

  return {
    /** Advances each running recovery by one step. Returns how many can continue at once. */
    recoverStep: async (): Promise<number> => {
      let unfinished = 0
      const failures: unknown[] = []
      for (const { id, ...key } of await store.runningRecoveries(db, recoveriesPerStepMax))
        // Continues with the others if one recovery fails.
        if (await step(key, id).catch((error: unknown) => void failures.push(error))) unfinished += 1
      if (failures.length > 0) throw failures[0]
      return unfinished
    },
  }
}
