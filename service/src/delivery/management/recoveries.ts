/**
 * Recovery: walks the feed of a time and makes due, again or at all, what a subscription wants of it and did not get. A
 * step is one transaction with the place it has got to, so that a process that dies has done whole steps, and the next
 * one goes on behind them.
 */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal, refuseField } from '../../api/index.ts'
import {
  after,
  assert,
  type Clock,
  dayMs,
  derivedTimeId,
  firstIdOf,
  hourMs,
  momentOfId,
  newId,
} from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { wants } from './rules.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import * as store from './store-recoveries.ts'
import * as requeue from '../queue/store-requeue.ts'
import { lockPartnerRow, lockSubscription, type SubscriptionKey } from './store-subscriptions.ts'
import { loadSubscription } from './subscriptions.ts'

export type Recovery = store.RecoveryRow
export type RecoveriesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
}

/** Of the feed, in one transaction: it holds the partner's row, and its fan-out waits for it. */
const eventsPerStepMax = 500
const recoveriesPerStepMax = 20
/**
 * The feed is in the order of fan-out, which is that of time but for what commits late. No transaction lasts so long: what
 * stands behind a moment that is later by this much than `until` happened after `until`.
 */
const latenessMsMax = hourMs
/** Of a subscription: who starts one after another is not remembered all of them. */
const recoveriesKeptMax = 100

/** Refuses (400): since not before until, until to come, since older than what is kept. */
function readSpan({ since, until }: Static<typeof wire.RecoveryStart>, now: Date) {
  const span = { since: new Date(since), until: until === undefined ? now : new Date(until) }
  const refuse = (pointer: string, message: string) => refuseField({ pointer, code: 'out_of_range', message })
  if (span.until > now) throw refuse('/until', 'must not be in the future')
  if (span.since < after(now, -wire.eventRetentionDays * dayMs))
    throw refuse('/since', `must be at most ${wire.eventRetentionDays} days ago`)
  if (span.since >= span.until) throw refuse('/since', 'must be before until, which is now where it is absent')
  return span
}

export function createRecoveries({ db, clock, cursors, eventOutbox }: RecoveriesDeps) {
  /** The part of the feed behind `place`, as far as it concerns the recovery. */
  const nextOf = async (tx: Tx, partnerId: string, row: Recovery) => {
    const from = firstIdOf(row.since)
    const before = firstIdOf(row.until)
    const first = row.afterSequence === 0n ? await store.firstInFeed(tx, partnerId, from) : row.afterSequence + 1n
    if (first === undefined) return []
    const rows = await store.feedAfter(tx, partnerId, first - 1n, eventsPerStepMax)
    return rows.map((each) => ({ ...each, wanted: each.eventId >= from && each.eventId < before }))
  }

  const requeueThese = async (
    tx: Tx,
    key: SubscriptionKey,
    rows: readonly store.FeedRow[],
    names: readonly string[],
  ) => {
    const { partnerId, subscriptionId } = key
    const now = clock.now()
    const places = new Map(rows.map((row) => [row.eventId, row.sequence]))
    const events = await eventOutbox.byIds(
      tx,
      rows.map(({ eventId }) => ({ partnerId, eventId })),
    )
    const wanted = events.filter((event) => wants(names, event.type))
    if (wanted.length === 0) return 0
    const ids = wanted.map((event) => event.id)
    const delivered = new Set(await store.deliveredOf(tx, key, ids))
    const missing = wanted.filter((event) => !delivered.has(event.id))
    const held = await requeue.makeHeldDue(tx, key, ids, now)
    const made = await requeue.insertDue(
      tx,
      key,
      missing.map((event) => ({
        eventId: event.id,
        sequence: places.get(event.id) ?? 0n,
        wireEventId: derivedTimeId(event.id, subscriptionId),
        type: event.type,
        reference: event.reference,
        attemptCount: 0,
        createdAt: now,
      })),
      now,
    )
    if (made > 0) endpointQueues.addOwed(tx, [{ ...key, count: made, wake: true }], null, now)
    return held + made
  }

  /** True while there is more to do. */
  const step = (key: SubscriptionKey, id: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const { partnerId, subscriptionId } = key
      const now = clock.now()
      // Partner, endpoint queue, subscription: read under the first, so that what is read is where the last step ended.
      await lockPartnerRow(tx, partnerId)
      if (!(await endpointQueues.wakeEndpointQueue(tx, partnerId, subscriptionId, now))) return false
      const subscription = await lockSubscription(tx, partnerId, subscriptionId)
      const row = await store.recoveryById(tx, key, id)
      if (subscription === undefined || row?.status !== 'Running') return false
      const rows = await nextOf(tx, partnerId, row)
      const inTime = rows.filter((each) => each.wanted)
      const recovered = await requeueThese(tx, key, inTime, subscription.events)
      // What was not yet fanned out when the walk ends would be missed by a subscription that came after it.
      const last = rows.at(-1)
      const isPast = last !== undefined && momentOfId(last.eventId) >= after(row.until, latenessMsMax)
      const ended =
        isPast ||
        (rows.length < eventsPerStepMax && !(await eventOutbox.hasPendingBefore(tx, partnerId, firstIdOf(row.until))))
      const moved = await store.advanceRecovery(tx, partnerId, row, {
        afterSequence: last?.sequence ?? row.afterSequence,
        examined: row.examined + BigInt(inTime.length),
        recovered: row.recovered + BigInt(recovered),
        status: ended ? 'Completed' : 'Running',
        updatedAt: now,
      })
      assert(moved, 'a recovery moves under the lock of its partner only')
      return !ended && rows.length > 0
    })

  return {
    /**
     * Starts a recovery; a worker walks it. Refuses: validation_failed (/since, /until), not_found,
     * recovery_in_progress.
     */
    recover: (partnerId: string, id: string, input: Static<typeof wire.RecoveryStart>): Promise<Recovery> =>
      db.transaction(async (tx) => {
        const now = clock.now()
        const key = { partnerId, subscriptionId: id }
        // Its lock makes two starts at once one after the other.
        if ((await lockSubscription(tx, partnerId, id)) === undefined) throw notFound('webhook subscription')
        const span = readSpan(input, now)
        const running = await store.runningRecovery(tx, key)
        if (running !== undefined)
          throw new Refusal('recovery_in_progress', `The recovery ${running} is under way; one runs at a time.`)
        const row: Recovery = {
          id: newId(),
          subscriptionId: id,
          ...span,
          status: 'Running',
          afterSequence: 0n,
          examined: 0n,
          recovered: 0n,
          createdAt: now,
          updatedAt: now,
        }
        await store.forgetOld(tx, key, recoveriesKeptMax - 1)
        await store.insertRecovery(tx, partnerId, row)
        return row
      }),

    /** Refuses: not_found. */
    recovery: async (partnerId: string, id: string, recoveryId: string): Promise<Recovery> => {
      await loadSubscription(db, partnerId, id)
      const row = await store.recoveryById(db, { partnerId, subscriptionId: id }, recoveryId)
      if (row === undefined) throw notFound('recovery')
      return row
    },

    /** Refuses: not_found. */
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

    /** A worker's step: of each recovery under way the next part. Answers how many have more to do. */
    recoverStep: async (): Promise<number> => {
      let more = 0
      const failures: unknown[] = []
      for (const { id, ...key } of await store.runningRecoveries(db, recoveriesPerStepMax))
        // One's trouble is not the others'.
        if (await step(key, id).catch((error: unknown) => void failures.push(error))) more += 1
      if (failures.length > 0) throw failures[0]
      return more
    },
  }
}

export type Recoveries = ReturnType<typeof createRecoveries>
