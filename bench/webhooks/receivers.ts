/** The endpoints as the bench sees them. */
import { startAsked } from './ask.ts'
import type { Behaviour, Received, Sampled } from './received.ts'

/** `refused`: nobody listens there. */
export type EndpointKind = Behaviour | 'refused'
/** No service of any machine is on it, and nothing that needs a port is given it. */
const refusedUrl = 'http://127.0.0.1:1/'
const sampledMax = 200

export type Endpoints = {
  readonly urls: readonly string[]
  readonly kinds: readonly EndpointKind[]
  /** Healthy deliveries since the last `take`. */
  readonly count: () => Promise<number>
  readonly take: () => Promise<{ readonly received: readonly Received[]; readonly sampled: readonly Sampled[] }>
  readonly stop: () => void
}

/** The dead ones are in a process apart, so that the healthy ones do not pay for them. */
export async function startEndpoints(kinds: readonly EndpointKind[]): Promise<Endpoints> {
  const healthy = startAsked('receiver-child.ts')
  const dead = startAsked('receiver-child.ts')
  const behaviours = (wanted: (kind: EndpointKind) => boolean): readonly Behaviour[] =>
    kinds.map((kind) => (kind !== 'refused' && wanted(kind) ? kind : 'error'))
  const isOk = (kind: EndpointKind) => kind === 'ok'
  const [healthyPorts, deadPorts] = await Promise.all([
    healthy.ask<number[]>({ listen: behaviours(isOk) }),
    dead.ask<number[]>({ listen: behaviours((kind) => !isOk(kind)) }),
  ])
  const urls = kinds.map((kind, at) =>
    kind === 'refused' ? refusedUrl : `http://127.0.0.1:${(isOk(kind) ? healthyPorts : deadPorts)[at]}/hooks`,
  )
  return {
    urls,
    kinds,
    count: () => healthy.ask({ count: true }),
    take: () => healthy.ask({ take: { sampled: sampledMax } }),
    stop: () => {
      healthy.stop()
      dead.stop()
    },
  }
}
