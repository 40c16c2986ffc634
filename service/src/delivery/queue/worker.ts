/**
 * A worker's hands: it holds lanes, keeps what they are owed next in memory, and says what to attempt. All rows of a lane
 * go through the one that holds it, so that no attempt needs a claim of its own.
 */
import { after, type Clock, type Log, newId } from '../../kernel/index.ts'
import * as memory from './endpoint-queue.ts'
import type { Claim, Fresh, Lane, UnderWay } from './endpoint-queue.ts'
import type { Lanes } from './endpoint-queues.ts'
import { type Limits, troubleRestMs } from '../limits.ts'
import { createReading } from './prefetch.ts'
import type { Recording } from './result-batches.ts'
import type { Verdict } from './schedule.ts'
import { createSettling } from './result-recording.ts'
import { createSlots } from './slots.ts'
import type { Release } from './store-endpoint-queues.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type HolderDeps = {
  readonly lanes: Lanes
  readonly record: (recording: Recording) => Promise<Verdict | 'stale'>
  readonly clock: Clock
  readonly log: Log
  readonly limits: Limits
  readonly retryDelaysMs: readonly number[]
}

export type HolderOptions = {
  /** Makes the attempt, and tells `settle` or `giveBack` at its end. */
  readonly begin: (claim: Claim) => void
  /** There is something for `step` to do. */
  readonly wake: () => void
  readonly pause: (ms: number) => Promise<void>
  readonly inFlightMax?: number | undefined
  /** How often lanes are looked for and looked after. */
  readonly idleMs: number
}

/** Behind every number of a feed. */
const maxSequence = 2n ** 63n - 1n
const lanesPerClaimMax = 200
/** Of what the fan-out hands over a worker keeps so many in memory; the rest is read in its turn. */
const rowsHandedMax = 20_000
/** What waits in memory is read again by whoever comes next. */
function releaseOf(lane: Lane, now: Date): Release {
  if (lane.closing) return { ...lane.key, after: maxSequence, ...lane.closing }
  const waits = memory.waitingOf(lane) + lane.inFlight.size > 0
  return { ...lane.key, after: waits ? 0n : lane.cursor, dueAt: waits ? now : lane.dueAt, closed: false }
}

export function createHolder(deps: HolderDeps, options: HolderOptions) {
  const { lanes: verbs, clock, log, limits } = deps
  const { begin, wake, idleMs } = options
  const workerId = newId()
  const lanes = new Map<string, Lane>()
  /** Lanes that may have an attempt to begin, in turn. */
  const ready = new Set<Lane>()
  /** Lanes for which rows should be read. */
  const hungry = new Set<Lane>()
  /** Fresh from the fan-out, and not held. */
  const heard = new Map<string, Fresh>()
  const slots = createSlots(options.inFlightMax ?? limits.inFlightMax)
  const reading = createReading({ verbs, clock, log })
  const underWay = new Map<Claim, UnderWay & { readonly lane: Lane }>()
  let open = true
  let lookedAt = -Infinity

  const drop = (lane: Lane) => {
    lanes.delete(lane.key.subscriptionId)
    ready.delete(lane)
    hungry.delete(lane)
  }

  /** One attempt of one lane. */
  const beginOne = (lane: Lane, now: Date): boolean => {
    const attempt = memory.hasRoom(lane, now, limits) ? memory.begin(lane) : undefined
    if (attempt === undefined) return false
    slots.take(lane.key.partnerId)
    lane.idleSince = undefined
    const { eventId: deliveryId, wireEventId: eventId, data, attemptCount } = attempt.owed
    const { partnerId, subscriptionId } = lane.key
    const claimed = { partnerId, subscriptionId, deliveryId, target: lane.target, eventId, data, attemptCount }
    underWay.set(claimed, { owed: attempt.owed, isProbe: attempt.isProbe, lane })
    begin(claimed)
    return true
  }

  /** Lanes take turns, one attempt each, until nothing more can begin. */
  const pump = () => {
    if (!open) return
    const now = clock.now()
    for (const lane of ready) {
      if (slots.free() <= 0) return
      // Over its partner's share it stays where it is, and is asked again when something ends.
      if (!slots.isFor(lane.key.partnerId, lane.inFlight.size)) continue
      ready.delete(lane)
      // At the end of the line, where this loop comes by once more.
      if (beginOne(lane, now)) ready.add(lane)
      if (!hungry.has(lane) && memory.isHungry(lane, now, limits)) hungry.add(lane)
    }
    if (hungry.size > 0) wake()
  }

  let pumping = false
  /** Once for all that end together. */
  const pumpSoon = () => {
    if (pumping) return
    pumping = true
    queueMicrotask(() => {
      pumping = false
      pump()
    })
  }

  const close = async (some: readonly Lane[]): Promise<void> => {
    some.forEach(drop)
    const now = clock.now()
    if (some.length > 0)
      await verbs.release(
        workerId,
        some.map((lane) => releaseOf(lane, now)),
      )
  }
  /** Their targets are asked for first, since a partner who changes an endpoint expects that at once. */
  const refill = async (): Promise<number> => {
    const batch = [...hungry].filter((lane) => lanes.get(lane.key.subscriptionId) === lane)
    hungry.clear()
    if (batch.length === 0) return 0
    const now = clock.now()
    const outcome = await reading.refill(batch).catch((error: unknown) => {
      for (const lane of batch) {
        memory.forget(lane, now)
        hungry.add(lane)
      }
      throw error
    })
    const shut = (lane: Lane, closing: NonNullable<Lane['closing']>) => {
      memory.forget(lane, now)
      lane.closing = closing
    }
    for (const lane of outcome.closed) shut(lane, { closed: true, dueAt: null })
    for (const lane of outcome.troubled) shut(lane, { closed: false, dueAt: after(now, troubleRestMs) })
    await close(batch.filter((lane) => lane.closing !== undefined && lane.inFlight.size === 0))
    for (const lane of batch) {
      if (lanes.get(lane.key.subscriptionId) !== lane) continue
      ready.add(lane)
      if (memory.isHungry(lane, now, limits)) hungry.add(lane)
    }
    pump()
    return outcome.rows
  }

  const claim = async (keys: readonly (SubscriptionKey & { readonly upTo?: bigint })[]): Promise<number> => {
    const wanted = keys
      .filter((key) => !lanes.has(key.subscriptionId))
      .slice(0, Math.max(0, limits.lanesMax - lanes.size))
    if (wanted.length === 0) return 0
    const { claimed, leaseUntil } = await verbs.claim(workerId, wanted)
    const upTo = new Map(wanted.map((key) => [key.subscriptionId, key.upTo]))
    const now = clock.now()
    for (const { partnerId, subscriptionId, ...health } of claimed) {
      const lane = memory.createLane({ partnerId, subscriptionId }, memory.unread, health, leaseUntil, now)
      lane.committed = upTo.get(subscriptionId) ?? 0n
      lanes.set(subscriptionId, lane)
      hungry.add(lane)
    }
    return claimed.length
  }

  const hear = async (keys: readonly SubscriptionKey[]): Promise<void> => {
    const now = clock.now()
    for (const { partnerId: _partnerId, subscriptionId, ...health } of await verbs.hear(workerId, keys)) {
      const lane = lanes.get(subscriptionId)
      if (lane === undefined) continue
      lane.health = health
      lane.closing = undefined
      lane.dueAt = now
      lane.mayHaveFresh = true
      // What stood before others may be gone without a word.
      if (lane.target.ordered) lane.cursor = 0n
      hungry.add(lane)
    }
  }

  /**
   * Renews in time, and where the clock was put back: nobody else would get a lease that ends in hours. A lane that is no
   * longer held is forgotten, and so is what it has under way.
   */
  const renew = async (): Promise<void> => {
    const now = clock.now().getTime()
    const old = [...lanes.values()].filter(({ leaseUntil }) => {
      const restMs = leaseUntil.getTime() - now
      return restMs < (limits.leaseMs * 2) / 3 || restMs > limits.leaseMs
    })
    if (old.length === 0) return
    const { held, leaseUntil } = await verbs.renew(
      workerId,
      old.map((lane) => lane.key),
    )
    for (const lane of old) {
      if (held.has(lane.key.subscriptionId)) {
        lane.leaseUntil = leaseUntil
        ready.add(lane)
      } else {
        log.warn({ subscriptionId: lane.key.subscriptionId }, 'a lane was taken over: its lease had ended')
        drop(lane)
      }
    }
  }

  /** Lanes that have something due by now read it; those without work are given back after a while, resting ones at once. */
  const lookAfter = async (): Promise<void> => {
    const now = clock.now()
    const watch = performance.now()
    const idle: Lane[] = []
    for (const lane of lanes.values()) {
      const paused = memory.isPaused(lane, now)
      if (memory.isHungry(lane, now, limits)) hungry.add(lane)
      else if (lane.inFlight.size > 0) continue
      else if (lane.closing) idle.push(lane)
      else if (!paused && memory.readyCount(lane, 1) > 0) ready.add(lane)
      else if (paused || watch - (lane.idleSince ??= watch) >= limits.lingerMs) idle.push(lane)
    }
    await close(idle)
  }

  const lookAround = async (): Promise<number> => {
    await renew()
    const due = await verbs.due(workerId, lanesPerClaimMax)
    await hear(due.filter((key) => key.mine && lanes.has(key.subscriptionId)))
    const claimed = await claim(due)
    await lookAfter()
    return claimed
  }

  const freed = (lane: Lane | undefined) => {
    if (lane !== undefined) {
      ready.add(lane)
      if (reading.isBlocked(lane)) hungry.add(lane)
      if (lane.leaseUntil === memory.doubtful) {
        lookedAt = -Infinity
        wake()
      }
    }
    pumpSoon()
  }
  const settling = createSettling(deps, { workerId, lanes, underWay, slots, reading, pause: options.pause, freed })

  return {
    workerId,
    /** Attempts under way. */
    inFlight: slots.taken,
    /** These are new, this moment, and committed: begun at once where nothing need be read for that. */
    hint: (news: readonly Fresh[]): void => {
      const now = clock.now()
      let place = rowsHandedMax - [...lanes.values()].reduce((sum, lane) => sum + memory.waitingOf(lane), 0)
      for (const fresh of news) {
        const lane = lanes.get(fresh.subscriptionId)
        if (lane === undefined) heard.set(fresh.subscriptionId, { ...fresh, rows: [] })
        else if (memory.accept(lane, fresh, now, place)) {
          place -= fresh.rows.length
          ready.add(lane)
        } else if (memory.isHungry(lane, now, limits)) hungry.add(lane)
      }
      pump()
      wake()
    },

    /** Looks around when it is time, claims what it heard of, reads what is wanted. Answers how much it did. */
    step: async (): Promise<number> => {
      const keys = [...heard.values()]
      heard.clear()
      // What was heard of goes first: somebody waits for it.
      let did = (await claim(keys)) + (await refill())
      if (performance.now() - lookedAt >= idleMs) {
        did += await lookAround()
        lookedAt = performance.now()
        did += await refill()
      }
      pump()
      return did
    },

    ...settling,

    /** No attempt begins any more. */
    stop: (): void => void (open = false),
    /** Gives all lanes back. */
    close: async (): Promise<void> => {
      open = false
      await close([...lanes.values()])
    },
  }
}

export type Holder = ReturnType<typeof createHolder>
