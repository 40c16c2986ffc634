/** A round with more deliveries than a contestant can send: counts the arrivals of the measured time, then drains. */
import type { Server } from '../children.ts'
import type { Contestant, Sample } from '../rounds.ts'
import type { Usage } from '../usage.ts'
import { countFor } from './events.ts'
import { until } from './setup.ts'
import { rateOf, type ReceivedRequest, type SampledRequest } from './received.ts'
import type { Endpoints } from './receivers.ts'

export type FloodRecord = { readonly received: readonly ReceivedRequest[]; readonly sampled: readonly SampledRequest[] }
export type Flood = {
  readonly name: string
  readonly endpoints: Endpoints
  readonly seconds: number
  /** Time after the first arrival that is not counted. */
  readonly settleMs?: number
  readonly server: () => Pick<Server, 'usage'> | undefined
  /** Prepares deliveries, or resumes the process, outside of the measured time. Returns what this delivered. */
  readonly prepare: (deliveries: number) => Promise<readonly ReceivedRequest[]>
  /** Starts the deliveries. Returns how many are expected. */
  readonly release: (deliveries: number) => Promise<number>
  /** True if all deliveries are recorded and none is under way. */
  readonly finished: (expected: number) => Promise<boolean>
  /** Stops the process between rounds. */
  readonly suspend: () => Promise<void> | void
  readonly check: (taken: FloodRecord) => Promise<readonly string[]>
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
    const expected = await flood.release(deliveries)
    await until(name, async () => (await endpoints.count()) >= expected && (await flood.finished(expected)))
    const after = await flood.server()?.usage()
    const wallSeconds = (performance.now() - begun) / 1000
    await flood.suspend()
    const taken = await endpoints.take()
    wrong = await flood.check({ ...taken, received: [...primed, ...taken.received] })
    // Without `settleMs`, so that the next count does not depend on it.
    lastRate = Math.max(firstRate, rateOf(taken.received, seconds))
    return { rate: rateOf(taken.received, seconds, settleMs), ...used(before, after, wallSeconds) }
  }
  return { name, sample, audit: () => Promise.resolve(wrong) }
}

export function used(before: Usage | undefined, after: Usage | undefined, seconds: number): Partial<Sample> {
  if (!before || !after) return {}
  return { serverCpu: (after.cpuSeconds - before.cpuSeconds) / seconds, rssBytes: after.rssBytes }
}
