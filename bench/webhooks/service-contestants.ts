/** The contestants of the service: its role `worker` as a process, on a service database. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../children.ts'
import { loadedContestant, type LoadedOptions } from '../contestants.ts'
import { withClient } from '../postgres.ts'
import type { Contestant, Sample } from '../rounds.ts'
import type { Service } from '../stage.ts'
import { auditOwed, compare, deliveredSince, verifySigned } from './audit.ts'
import { type Flood, floodContestant, type FloodRecord, used } from './flood.ts'
import { nowMs, type Setup, until } from './setup.ts'
import { percentile, rateOf, type ReceivedRequest } from './received.ts'

type ServiceContestantOptions = {
  readonly name: string
  readonly setup: Setup
  readonly seconds: number
  /** Frozen between samples. */
  readonly worker: Server
}

/** Resumes a frozen worker, and renews its leases, connections and caches with one event per partner. */
async function prime({ setup, worker }: ServiceContestantOptions): Promise<readonly ReceivedRequest[]> {
  worker.thaw()
  const events = setup.partnerIds.length
  const owed = setup.healthyDeliveries(events)
  await setup.commit(events)
  await until('priming', async () => (await setup.endpoints.count()) >= owed && (await isDrained(setup)))
  return (await setup.endpoints.take()).received
}

/** True if no event is pending and healthy endpoints have no queued delivery. */
export function isDrained({ databaseUrl, subscriptions }: Setup): Promise<boolean> {
  const healthy = subscriptions.filter((each) => each.healthy)
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ busy: boolean }>(
      `select exists (select from events.pending) or exists (select from
          unnest($1::uuid[], $2::uuid[]) as healthy (partner_id, id) where exists (select from delivery.queue
            where queue.partner_id = healthy.partner_id and queue.subscription_id = healthy.id)) as busy`,
      [healthy.map(({ partnerId }) => partnerId), healthy.map(({ subscriptionId }) => subscriptionId)],
    )
    return rows[0]?.busy === false
  })
}

export function checkOf(setup: Setup, { drained }: { readonly drained: boolean }) {
  const delivered = deliveredSince(setup)
  const secretOf = (endpoint: number) => setup.subscriptions[endpoint]?.secret ?? ''
  return async ({ received, sampled }: FloodRecord): Promise<readonly string[]> => [
    ...compare(received, await delivered()),
    ...(await auditOwed(setup, { drained })),
    ...verifySigned(sampled, secretOf),
  ]
}

/** Measures the maximum rate of deliveries, starting with the commit of their events. */
export function deliveriesContestant(ours: ServiceContestantOptions): Contestant {
  const { name, setup, seconds, worker } = ours
  const flood: Flood = {
    name,
    endpoints: setup.endpoints,
    seconds,
    server: () => worker,
    prepare: () => prime(ours),
    release: async (deliveries) => {
      const perEvent = setup.healthyDeliveries(setup.partnerIds.length) / setup.partnerIds.length
      const events = Math.ceil(deliveries / perEvent)
      const owed = setup.healthyDeliveries(events)
      await setup.commit(events)
      return owed
    },
    finished: () => isDrained(setup),
    suspend: worker.freeze,
    check: checkOf(setup, { drained: true }),
  }
  return floodContestant(flood)
}

/** Commits events at an even pace, far below the maximum. Measures the time from each commit to the first byte. */
export function pacedContestant(ours: ServiceContestantOptions & { readonly eventsPerSecond: number }): Contestant {
  const { name, setup, seconds, worker, eventsPerSecond } = ours
  const check = checkOf(setup, { drained: true })
  let wrong: readonly string[] = []
  const sample = async (): Promise<Sample> => {
    const primed = await prime(ours)
    const before = await worker.usage()
    const begun = performance.now()
    const count = Math.ceil(seconds * eventsPerSecond)
    const owed = setup.healthyDeliveries(count)
    const commits = await paced(setup, count, 1000 / eventsPerSecond)
    await until(name, async () => (await setup.endpoints.count()) >= owed && (await isDrained(setup)))
    const after = await worker.usage()
    const wallSeconds = (performance.now() - begun) / 1000
    worker.freeze()
    const taken = await setup.endpoints.take()
    wrong = await check({ ...taken, received: [...primed, ...taken.received] })
    const waits = taken.received.map(({ reference, atMs }) => atMs - (commits.get(reference) ?? Number.NaN))
    return {
      rate: rateOf(taken.received, seconds),
      p50Ms: percentile(waits, 0.5),
      p99Ms: percentile(waits, 0.99),
      ...used(before, after, wallSeconds),
    }
  }
  return { name, sample, audit: () => Promise.resolve(wrong) }
}

/** Commits events at an even pace, without waiting for each other. Returns the time of each commit by reference. */
async function paced(setup: Setup, count: number, everyMs: number): Promise<ReadonlyMap<string, number>> {
  const begun = nowMs()
  const commits = Array.from({ length: count }, async (_, index) => {
    await sleep(Math.max(0, begun + index * everyMs - nowMs()))
    const { references, atMs } = await setup.commit(1)
    return [references[0] ?? '', atMs] as const
  })
  return new Map(await Promise.all(commits))
}

/** Measures deliveries from an existing queue. The worker starts and ends with each sample. */
export function claimsContestant(options: {
  readonly name: string
  readonly setup: Setup
  readonly seconds: number
  readonly start: () => Promise<Server>
  /** Adds deliveries to the queue before a sample. */
  readonly fill: (deliveries: number) => Promise<void>
}): Contestant {
  const { name, setup, seconds, start, fill } = options
  const settleMs = 500
  let worker: Server | undefined
  return floodContestant({
    name,
    endpoints: setup.endpoints,
    seconds,
    settleMs,
    server: () => undefined,
    prepare: async (deliveries) => {
      await fill(deliveries)
      return []
    },
    release: async (deliveries) => {
      worker = await start()
      worker.thaw()
      return deliveries
    },
    finished: () => Promise.resolve(true),
    suspend: async () => {
      await worker?.stop()
      worker = undefined
    },
    check: checkOf(setup, { drained: false }),
  })
}

/** Measures payouts by the API while a worker delivers their events. The remaining deliveries drain afterwards. */
export function payoutsContestant(
  options: Service & Omit<LoadedOptions, 'tally'> & { readonly setup: Setup; readonly worker: Server },
): Contestant {
  const { setup, worker, tally, audit, name, seconds } = options
  const payouts = loadedContestant(options)
  const check = checkOf(setup, { drained: true })
  let wrong: readonly string[] = []
  const sample = async () => {
    worker.thaw()
    const before = tally.accepted
    const found = await payouts.sample()
    const endedMs = nowMs()
    for (const partnerId of setup.partnerIds) setup.committed.set(partnerId, tally.accepted)
    const owed = setup.healthyDeliveries(tally.accepted - before)
    await until(name, async () => (await setup.endpoints.count()) >= owed && (await isDrained(setup)))
    worker.freeze()
    const taken = await setup.endpoints.take()
    wrong = [...(await check(taken)), ...(await audit())]
    const during = taken.received.filter(({ atMs }) => atMs <= endedMs).length
    return { ...found, during: { rate: during / seconds, share: during / owed } }
  }
  return { name, sample, audit: () => Promise.resolve(wrong) }
}
