/** Starts and reads the endpoints of the bench. */
import { startChild } from '../child.ts'
import type { Behaviour, ReceivedRequest, SampledRequest } from './received.ts'

/** `refused`: no process listens on the port. */
export type EndpointKind = Behaviour | 'refused'
/** Port 1: no service listens there, and the system does not assign it. */
const refusedUrl = 'http://127.0.0.1:1/'
const sampledMax = 200

export type Endpoints = {
  readonly urls: readonly string[]
  readonly kinds: readonly EndpointKind[]
  /** Requests to healthy endpoints since the last `take`. */
  readonly count: () => Promise<number>
  readonly take: () => Promise<{
    readonly received: readonly ReceivedRequest[]
    readonly sampled: readonly SampledRequest[]
  }>
  readonly stop: () => void
}

/** Dead endpoints have a process of their own, so that they cost the healthy ones nothing. */
export async function startEndpoints(kinds: readonly EndpointKind[]): Promise<Endpoints> {
  const healthy = startChild('webhooks/receiver-child.ts')
  const dead = startChild('webhooks/receiver-child.ts')
  const behaviours = (wanted: (kind: EndpointKind) => boolean): readonly Behaviour[] =>
    kinds.map((kind) => (kind !== 'refused' && wanted(kind) ? kind : 'error'))
  const isOk = (kind: EndpointKind) => kind === 'ok'
  const [healthyPorts, deadPorts] = await Promise.all([
    healthy.request<number[]>({ listen: behaviours(isOk) }),
    dead.request<number[]>({ listen: behaviours((kind) => !isOk(kind)) }),
  ])
  const urls = kinds.map((kind, at) =>
    kind === 'refused' ? refusedUrl : `http://127.0.0.1:${(isOk(kind) ? healthyPorts : deadPorts)[at]}/hooks`,
  )
  return {
    urls,
    kinds,
    count: () => healthy.request({ count: true }),
    take: () => healthy.request({ take: { sampled: sampledMax } }),
    stop: () => {
      healthy.stop()
      dead.stop()
    },
  }
}
