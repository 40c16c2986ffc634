/** A round of one sender: more than it can do in its time is there at once, what arrives is counted, the rest drains. */
import type { Server } from '../children.ts'
import type { Contestant, Sample } from '../contestants.ts'
import type { Usage } from '../usage.ts'
import { countFor } from './events.ts'
import { until } from './place.ts'
import { rateOf, type Received, type Sampled } from './received.ts'
import type { Endpoints } from './receivers.ts'

export type Taken = { readonly received: readonly Received[]; readonly sampled: readonly Sampled[] }
export type Flood = {
  readonly name: string
  readonly endpoints: Endpoints
  readonly seconds: number
  /** Passed over after the first arrival. */
  readonly settleMs?: number
  readonly server: () => Pick<Server, 'usage'> | undefined
  /** Not measured: so many deliveries are made ready, or what is at rest is woken. Answers what it delivered by that. */
  readonly prepare: (deliveries: number) => Promise<readonly Received[]>
  /** Answers how many deliveries are to come. */
  readonly release: (deliveries: number) => Promise<number>
  /** All is recorded, and nothing is under way. */
  readonly finished: (owed: number) => Promise<boolean>
  /** Neither takes nor gives from now on. */
  readonly rest: () => Promise<void> | void
  readonly check: (taken: Taken) => Promise<readonly string[]>
}

const firstRate = 500

export function floodContestant(flood: Flood): Contestant {
  const { name, endpoints, seconds, settleMs = 0 } = flood
  let lastRate = firstRate
  let wrong: readonly string[] = []
  const sample = async (): Promise<Sample> => {
    const deliveries = countFor(lastRate, seconds + settleMs / 1000)
    const primed = await flood.prepare(deliveries)
    const before = await flood.server()?.usage()
    const begun = performance.now()
    const owed = await flood.release(deliveries)
    await until(name, async () => (await endpoints.count()) >= owed && (await flood.finished(owed)))
    const after = await flood.server()?.usage()
    const wallSeconds = (performance.now() - begun) / 1000
    await flood.rest()
    const taken = await endpoints.take()
    wrong = await flood.check({ ...taken, received: [...primed, ...taken.received] })
    // Without the pause: how many are made ready must not depend on what was passed over.
    lastRate = Math.max(firstRate, rateOf(taken.received, seconds))
    return { rate: rateOf(taken.received, seconds, settleMs), ...used(before, after, wallSeconds) }
  }
  return {
    name,
    sample,
    warmUp: async () => void (await sample()),
    audit: () => Promise.resolve(wrong),
  }
}

export function used(before: Usage | undefined, after: Usage | undefined, seconds: number): Partial<Sample> {
  if (!before || !after) return {}
  return { serverCpu: (after.cpuSeconds - before.cpuSeconds) / seconds, rssBytes: after.rssBytes }
}
