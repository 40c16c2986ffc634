/** The load generator as the bench sees it: `prepare` is not counted, `go` is. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { baseEnv } from './environment.ts'
import type { BenchPartner } from './sign.ts'

export type LoadSpec = {
  readonly kind: 'payout' | 'deposit' | 'get'
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Before those: not in the rate, nor in the times. What was frozen for long comes back from where the system has put it. */
  readonly leadSeconds?: number
  /** How many requests are signed; the round ends early where the service is faster. */
  readonly count: number
  /** The signed requests may be sent again and again: nobody behind the port remembers a nonce. */
  readonly cyclic: boolean
  /** The report names what was acknowledged and what got no answer. */
  readonly naming: boolean
  /** What is refused for want of capacity (503) is sent again, until the round is over. */
  readonly insist?: boolean
  readonly partners: readonly BenchPartner[]
  /** `<keyPrefix>-<index>` is the idempotency key. */
  readonly keyPrefix: string
  /** Of the transactions that `get` asks for. */
  readonly references: readonly string[]
}

export type LoadReport = {
  /** Successes a second while every connection was busy. */
  readonly rate: number
  readonly accepted: number
  readonly refused: number
  /** The connection broke before the answer. */
  readonly unknown: number
  /** The first answer that was no success. */
  readonly problem: string | undefined
  readonly p50Ms: number
  readonly p99Ms: number
  readonly busySeconds: number
  /** Of one core. */
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
