/** Controls the load generator: `prepare` signs requests and is not measured, `go` is measured. */
import { startChild } from './child.ts'
import type { BenchPartner } from './sign.ts'

export type LoadSpec = {
  readonly kind: 'payout' | 'deposit'
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Seconds before the measured time, because memory of a frozen process must be paged in. */
  readonly leadSeconds?: number
  /** How many requests are signed. The round ends early if the service is faster. */
  readonly count: number
  /** Repeats requests refused for lack of capacity (503) until the end of the round. */
  readonly insist?: boolean
  readonly partners: readonly BenchPartner[]
  /** `<keyPrefix>-<index>` is the idempotency key. */
  readonly keyPrefix: string
}

export type LoadReport = {
  /** Successes a second while every connection was busy. */
  readonly rate: number
  readonly accepted: number
  readonly refused: number
  /** The connection broke before the answer. */
  readonly unknown: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly busySeconds: number
  readonly cpuShare: number
}

export type LoadMessage = { readonly prepare: LoadSpec; readonly privateKeyPem: string } | { readonly go: true }
export type Load = {
  readonly prepare: (spec: LoadSpec) => Promise<void>
  /** Rejects if an answer is unsuccessful. */
  readonly go: () => Promise<LoadReport>
  readonly stop: () => void
}

export function startLoad(privateKeyPem: string): Load {
  const child = startChild('load-child.ts')
  return {
    prepare: (spec) => child.request({ prepare: spec, privateKeyPem }),
    go: () => child.request({ go: true }),
    stop: child.stop,
  }
}
