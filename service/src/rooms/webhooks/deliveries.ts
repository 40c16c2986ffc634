/**
 * The verbs of what subscriptions are owed, as the delivery worker uses them: fan out, claim, record, release.
 * Every delivery is attempted at least once, and until the endpoint says 2xx or the schedule ends; then it is held.
 */
import type { SigningKey } from '@partner-payments/wire'
import {
  after,
  assert,
  type Clock,
  derivedId,
  newId,
  randomFraction,
  type Sealer,
  secondMs,
} from '../../kernel/index.ts'
import type { Outbox } from '../../outbox/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as queue from './store-deliveries.ts'
import { type AttemptResult, nextOf, retryDelaysMsDefault, type Verdict, verdictOf } from './schedule.ts'
import * as store from './store.ts'
import { openSecret } from './subscriptions.ts'

export type SubscriptionKey = store.SubscriptionKey

/** One attempt to make: whoever holds the lease makes it, and nobody else records it. */
export type Claim = {
  readonly partnerId: string
  readonly subscriptionId: string
  readonly deliveryId: string
  readonly leaseId: string
  readonly url: string
  /** Each signs the delivery. */
  readonly keys: readonly SigningKey[]
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
}

export type DeliveriesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly outbox: Outbox
  /** The pauses between attempts; the sandbox shortens them. One attempt more than there are pauses. */
  readonly retryDelaysMs?: readonly number[]
}

/** Longer than any attempt: 15 s of exchange, and time to record it. */
export const leaseMs = 60 * secondMs
/** Attempts under way at once to one endpoint. */
export const inFlightPerEndpointMax = 10
const claimFailureRestMs = 30 * secondMs
const purgeRowsMax = 1000
const sweepLanesMax = 100

export function createDeliveries(deps: DeliveriesDeps) {
  const { db, clock, sealer, outbox, retryDelaysMs = retryDelaysMsDefault } = deps
  assert(
    retryDelaysMs.every((ms) => Number.isSafeInteger(ms) && ms >= 0),
    'a retry delay is a whole number of milliseconds',
  )

  const deliveriesOf = async (
    tx: Tx,
    partnerId: string,
    events: Awaited<ReturnType<Outbox['take']>>,
  ): Promise<readonly queue.DeliveryInsert[]> => {
    const subscriptions = await store.enabledSubscriptions(tx, partnerId)
    const wanted = events.flatMap((event) =>
      subscriptions
        // What happened before a subscription was there is none of its business, however late it is fanned out.
        .filter(({ events: names, createdAt }) => names.includes(event.type) && createdAt <= event.occurredAt)
        .map((subscription) => ({ event, subscriptionId: subscription.id })),
    )
    if (wanted.length === 0) return []
    const first = await store.takeSequence(tx, partnerId, wanted.length)
    return wanted.map(({ event, subscriptionId }, index) => ({
      id: newId(),
      subscriptionId,
      eventId: event.id,
      wireEventId: derivedId(event.id, subscriptionId),
      sequence: first + BigInt(index),
      reference: event.reference,
    }))
  }

  return {
    /** Due-work scan: partners with events to fan out. */
    partnersToFanOut: (partnersMax: number) => outbox.partnersWithPending(db, partnersMax),

    /**
     * Turns up to `eventsMax` events into one delivery for each enabled subscription that wants them. Answers how many
     * events it took: none, too, where another worker is at it, since one at a time keeps the order of the events.
     */
    fanOut: async (tx: Tx, partnerId: string, eventsMax: number): Promise<number> => {
      await store.ensurePartner(tx, partnerId)
      if (!(await store.lockPartner(tx, partnerId))) return 0
      const events = await outbox.take(tx, partnerId, eventsMax)
      const rows = await deliveriesOf(tx, partnerId, events)
      if (rows.length === 0) return events.length
      const now = clock.now()
      const wanted = new Set(rows.map((row) => row.eventId))
      await queue.insertMessages(
        tx,
        partnerId,
        events.filter((event) => wanted.has(event.id)),
      )
      // Lanes before deliveries, and in the order of their ids, like every verb that locks several.
      const counts = Map.groupBy(rows, (row) => row.subscriptionId)
      for (const subscriptionId of [...counts.keys()].sort()) {
        await queue.wakeLane(tx, partnerId, subscriptionId, now)
        await queue.addOwed(tx, { partnerId, subscriptionId }, counts.get(subscriptionId)?.length ?? 0)
      }
      await queue.insertDeliveries(tx, partnerId, rows, now)
      return events.length
    },

    /** Due-work scan: subscriptions that may have something to attempt, longest waiting first. */
    dueSubscriptions: (lanesMax: number) => queue.dueLanes(db, clock.now(), lanesMax),

    /**
     * Leases up to `attemptsMax` due deliveries of one subscription, within the cap of its endpoint. None where another
     * worker is claiming from it, where it is disabled, or while its endpoint rests.
     */
    claim: (key: SubscriptionKey, attemptsMax: number): Promise<readonly Claim[]> =>
      db.transaction(async (tx) => {
        const now = clock.now()
        const lane = await queue.lockLane(tx, key, now)
        if (lane === undefined) return []
        const target = await store.targetOf(tx, key.partnerId, key.subscriptionId)
        if (target === undefined || (lane.pausedUntil !== null && lane.pausedUntil > now)) {
          await queue.setLaneDue(tx, key, target === undefined ? null : lane.pausedUntil)
          return []
        }
        const room = inFlightPerEndpointMax - lane.inFlight
        const rowsMax = Math.min(room, attemptsMax)
        const lease = { id: newId(), until: after(now, leaseMs) }
        const rows = rowsMax > 0 ? await queue.claim(tx, key, lease, now, rowsMax) : []
        // Cut short by the caller, not by the endpoint: it stays due, and goes to the end of the line.
        if (rows.length === rowsMax && rowsMax < room) await queue.setLaneDue(tx, key, now)
        else await queue.settleLane(tx, key, now)
        const signs = openSecret(sealer, key.partnerId, key.subscriptionId, target.secretSealed)
        const keys = [{ kind: 'v1', key: signs }] as const
        return rows.map(({ id, eventId, data }) => ({
          ...key,
          deliveryId: id,
          leaseId: lease.id,
          url: target.url,
          keys,
          eventId,
          data,
        }))
      }),

    /** A claim failed for a reason of its own: the subscription waits a while, so that it does not stand before others. */
    postpone: async (key: SubscriptionKey): Promise<void> =>
      queue.setLaneDue(db, key, after(clock.now(), claimFailureRestMs)),

    /**
     * Logs the attempt and settles the delivery: delivered, due again later, or held. 410 disables the subscription.
     * A claim whose lease is no longer held changes nothing: `stale`.
     */
    recordAttempt: (claim: Claim, result: AttemptResult): Promise<Verdict | 'stale'> =>
      db.transaction(async (tx) => {
        const { partnerId, subscriptionId, deliveryId } = claim
        const now = clock.now()
        if (!(await queue.wakeLane(tx, partnerId, subscriptionId, now))) return 'stale'
        const verdict = verdictOf(result)
        if (verdict === 'gone') await store.disableGone(tx, partnerId, subscriptionId, claim.url, now)
        const delivery = await queue.lockLeased(tx, claim)
        if (delivery === undefined) return 'stale'
        const next = nextOf(result, delivery.failures, now, randomFraction(), retryDelaysMs)
        await queue.recordNext(tx, partnerId, deliveryId, next)
        await queue.insertAttempt(tx, partnerId, deliveryId, delivery.attemptCount + 1, result)
        if (next.pausedUntil !== null) await queue.pauseLane(tx, claim, next.pausedUntil)
        return verdict
      }),

    /** Gives the lease back: the attempt was not made, or its answer is not waited for. It is due at once. */
    release: (claim: Claim): Promise<boolean> =>
      db.transaction(async (tx) => {
        await queue.wakeLane(tx, claim.partnerId, claim.subscriptionId, clock.now())
        return queue.releaseLease(tx, claim)
      }),

    /** Frees what dead workers hold. Only where no other worker can be alive: the embedded database has one process. */
    releaseLeases: (partnerId: string): Promise<void> =>
      db.transaction(async (tx) => {
        const now = clock.now()
        for (const subscriptionId of await queue.leasedSubscriptions(tx, partnerId)) {
          await queue.wakeLane(tx, partnerId, subscriptionId, now)
          await queue.releaseLeases(tx, { partnerId, subscriptionId })
        }
      }),

    /** Housekeeping: drops the remains of deleted subscriptions in batches, and wakes a lane that sleeps on work. */
    sweep: async (): Promise<number> => {
      let did = 0
      for (const key of await store.deletedSubscriptions(db, sweepLanesMax))
        did += await db.transaction((tx) => store.purge(tx, key, purgeRowsMax))
      for (const { partnerId, subscriptionId } of await queue.sleepingLanes(db, sweepLanesMax))
        if (await queue.wakeLane(db, partnerId, subscriptionId, clock.now())) did += 1
      return did
    },

    /** Per subscription: what was ever owed, and what became of it; delivered + pending + held = owed. */
    reconcile: (tx: Tx, partnerId: string) => queue.reconcile(tx, partnerId),
  }
}

export type Deliveries = ReturnType<typeof createDeliveries>
