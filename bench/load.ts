/** Controls the load generator: `prepare` signs requests and is not measured, `go` is measured. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { baseEnv } from './environment.ts'
import type { BenchPartner } from './sign.ts'

export type LoadSpec = {
  readonly kind: 'payout' | 'deposit' | 'get' | 'quote' | 'conversion'
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Seconds before the measured time, because memory of a frozen process must be paged in. */
  readonly leadSeconds?: number
  /** How many requests are signed. The round ends early if the service is faster. */
  readonly count: number
  /** Repeats the signed requests: the server stores no nonces. */
  readonly cyclic: boolean
  /** The report lists acknowledged and unanswered requests. */
  readonly naming: boolean
  /** Repeats requests refused for lack of capacity (503) until the end of the round. */
  readonly insist?: boolean
  readonly partners: readonly BenchPartner[]
  /** `<keyPrefix>-<index>` is the idempotency key. */
  readonly keyPrefix: string
  /** The transactions that `get` reads, and the quotes that `conversion` accepts. */
  readonly references: readonly string[]
}

export type LoadReport = {
  /** Successes a second while every connection was busy. */
  readonly rate: number
  readonly accepted: number
  readonly refused: number
  /** The connection broke before the answer. */
  readonly unknown: number
  /** The first unsuccessful answer. */
  readonly problem: string | undefined
  readonly p50Ms: number
  readonly p99Ms: number
  readonly busySeconds: number
  /** Share of one core. */
  readonly cpuShare: number
  readonly acknowledged?: readonly number[]
  readonly unanswered?: readonly number[]
}

export type Load = {
  readonly prepare: (spec: LoadSpec) => Promise<void>
  readonly go: () => Promise<LoadReport>
  readonly stop: () => void
}

type Answer = { readonly failed?: string; readonly report?: LoadReport }

export function startLoad(privateKeyPem: string): Load {
  const child = fork(join(import.meta.dirname, 'load-child.ts'), { env: baseEnv, serialization: 'advanced' })
  const ask = (message: object | string) =>
    new Promise<Answer>((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`the load generator ended with ${code}`))
      child.once('exit', ended)
      child.once('message', (answer: Answer) => {
        child.removeListener('exit', ended)
        if (answer.failed === undefined) resolve(answer)
        else reject(new Error(`the load generator failed: ${answer.failed}`))
      })
      child.send(message)
    })
  return {
    prepare: async (spec) => void (await ask({ prepare: spec, privateKeyPem })),
    go: async () => {
      const { report } = await ask('go')
      if (!report) throw new Error('the load generator gave no report')
      return report
    },
    stop: () => child.disconnect(),
  }
}
