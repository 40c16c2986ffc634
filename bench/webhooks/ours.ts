/** The service's own contestants: its role `worker` in a process of its own, on a database of the service. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../children.ts'
import { type Contestant, type Tally, loadedContestant, type LoadedOptions, type Sample } from '../contestants.ts'
import { withClient } from '../postgres.ts'
import { auditOwed, compare, deliveredSince, verifySigned } from './audit.ts'
import { type Flood, floodContestant, type Taken, used } from './flood.ts'
import { nowMs, type Place, until } from './place.ts'
import { percentile, rateOf, type Received } from './received.ts'

export type Ours = {
  readonly name: string
  readonly place: Place
  readonly seconds: number
  /** Frozen between samples. */
  readonly worker: Server
}

/** A worker that was frozen finds its leases, connections and caches cold: one event a partner warms them. */
async function prime({ place, worker }: Ours): Promise<readonly Received[]> {
  worker.thaw()
  const events = place.partnerIds.length
  const owed = place.healthyOf(events)
  await place.commit(events)
  await until('priming', async () => (await place.endpoints.count()) >= owed && (await isDrained(place)))
  return (await place.endpoints.take()).received
}

/** Nothing to fan out, and nothing owed to a healthy endpoint. */
export function isDrained({ databaseUrl, subscriptions }: Place): Promise<boolean> {
  const healthy = subscriptions.filter((each) => each.healthy)
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ busy: boolean }>(
      `select exists (select from events.pending) or exists (select from
          unnest($1::uuid[], $2::uuid[]) as s (partner_id, id) where exists (select from delivery.queue q
            where q.partner_id = s.partner_id and q.subscription_id = s.id)) as busy`,
      [healthy.map(({ partnerId }) => partnerId), healthy.map(({ subscriptionId }) => subscriptionId)],
    )
    return rows[0]?.busy === false
  })
}

export function checkOf(place: Place, { drained }: { readonly drained: boolean }) {
  const delivered = deliveredSince(place)
  const secretOf = (endpoint: number) => place.subscriptions[endpoint]?.secret ?? ''
  return async ({ received, sampled }: Taken): Promise<readonly string[]> => [
    ...compare(received, await delivered()),
    ...(await auditOwed(place, { drained })),
    ...verifySigned(sampled, secretOf),
  ]
}

/** As many deliveries a second as can be, from the commit of their events on. */
export function deliveriesContestant(ours: Ours): Contestant {
  const { name, place, seconds, worker } = ours
  const flood: Flood = {
    name,
    endpoints: place.endpoints,
    seconds,
    server: () => worker,
    prepare: () => prime(ours),
    release: async (deliveries) => {
      const perEvent = place.healthyOf(place.partnerIds.length) / place.partnerIds.length
      const events = Math.ceil(deliveries / perEvent)
      const owed = place.healthyOf(events)
      await place.commit(events)
      return owed
    },
    finished: () => isDrained(place),
    rest: worker.freeze,
    check: checkOf(place, { drained: true }),
  }
  return floodContestant(flood)
}

/** Events at an even pace, far below what can be done: how long each takes from its commit to the first byte. */
export function pacedContestant(ours: Ours & { readonly eventsPerSecond: number }): Contestant {
  const { name, place, seconds, worker, eventsPerSecond } = ours
  const check = checkOf(place, { drained: true })
  let wrong: readonly string[] = []
  const sample = async (): Promise<Sample> => {
    const primed = await prime(ours)
    const before = await worker.usage()
    const begun = performance.now()
    const count = Math.ceil(seconds * eventsPerSecond)
    const owed = place.healthyOf(count)
    const commits = await paced(place, count, 1000 / eventsPerSecond)
    await until(name, async () => (await place.endpoints.count()) >= owed && (await isDrained(place)))
    const after = await worker.usage()
    const wallSeconds = (performance.now() - begun) / 1000
    worker.freeze()
    const taken = await place.endpoints.take()
    wrong = await check({ ...taken, received: [...primed, ...taken.received] })
    const waits = taken.received.map(({ reference, atMs }) => atMs - (commits.get(reference) ?? Number.NaN))
    return {
      rate: rateOf(taken.received, seconds),
      p50Ms: percentile(waits, 0.5),
      p99Ms: percentile(waits, 0.99),
      ...used(before, after, wallSeconds),
    }
  }
  return { name, sample, warmUp: async () => void (await sample()), audit: () => Promise.resolve(wrong) }
}

/** When the commit of each was sent, by reference. One does not wait for another. */
async function paced(place: Place, count: number, everyMs: number): Promise<ReadonlyMap<string, number>> {
  const begun = nowMs()
  const commits = Array.from({ length: count }, async (_, index) => {
    await sleep(Math.max(0, begun + index * everyMs - nowMs()))
    const { references, atMs } = await place.commit(1)
    return [references[0] ?? '', atMs] as const
  })
  return new Map(await Promise.all(commits))
}

/** Deliveries are taken from a queue that is there already; the worker starts for it and ends after it. */
export function claimsContestant(options: {
  readonly name: string
  readonly place: Place
  readonly seconds: number
  readonly start: () => Promise<Server>
  /** So many deliveries are put into the queue before a sample. */
  readonly fill: (deliveries: number) => Promise<void>
}): Contestant {
  const { name, place, seconds, start, fill } = options
  const settleMs = 500
  let worker: Server | undefined
  return floodContestant({
    name,
    endpoints: place.endpoints,
    seconds,
    settleMs,
    server: () => undefined,
    prepare: async (deliveries) => {
      await fill(deliveries)
      return []
    },
    release: async (deliveries) => {
      worker = await start()
      return deliveries
    },
    finished: () => Promise.resolve(true),
    rest: async () => {
      await worker?.stop()
      worker = undefined
    },
    check: checkOf(place, { drained: false }),
  })
}

export type PayoutsOptions = Omit<LoadedOptions, 'audit' | 'tally'> & {
  readonly place: Place
  readonly worker: Server
  readonly tally: Tally
  readonly partnerId: string
  readonly books: () => Promise<readonly string[]>
}

/** Payouts by the API while a worker delivers their events; the rest drains afterwards. */
export function payoutsContestant(
  options: PayoutsOptions,
  meanwhile: (rate: number, share: number) => void,
): Contestant {
  const { place, worker, tally, partnerId, books, name, seconds } = options
  const payouts = loadedContestant(options)
  const check = checkOf(place, { drained: true })
  let wrong: readonly string[] = []
  const sample = async () => {
    worker.thaw()
    const before = tally.accepted
    const found = await payouts.sample()
    const endedMs = nowMs()
    place.committed.set(partnerId, tally.accepted)
    const owed = place.healthyOf(tally.accepted - before)
    await until(name, async () => (await place.endpoints.count()) >= owed && (await isDrained(place)))
    worker.freeze()
    const taken = await place.endpoints.take()
    wrong = [...(await check(taken)), ...(await books())]
    const during = taken.received.filter(({ atMs }) => atMs <= endedMs)
    return { ...found, during: during.length / seconds, share: during.length / owed }
  }
  return {
    name,
    sample: async () => {
      const { during, share, ...found } = await sample()
      meanwhile(during, share)
      return found
    },
    warmUp: async () => void (await sample()),
    audit: () => Promise.resolve(wrong),
  }
}
