/**
 * A delivery worker as a process of its own, to be killed or frozen: `node webhooks-worker.ts <database url> <master key,
 * hex> [options]`. With options it lives by the machine's clock, as several do that must agree on the time.
 */
import { startDelivery } from '../../service/src/delivery/index.ts'
import { after, systemClock } from '../../service/src/kernel/index.ts'
import { createHooks } from './webhooks.ts'

export type WorkerOptions = {
  readonly leaseMs: number
  /** Its clock differs from the machine's by so much. */
  readonly skewMs?: number
  readonly queryTimeoutMs?: number
  readonly threads?: number
}

const [, , url = '', key = '', given] = process.argv
const options = given === undefined ? undefined : (JSON.parse(given) as WorkerOptions)
const { db, clock, log, webhooks } = await createHooks({
  ...{ url, key: Buffer.from(key, 'hex') },
  ...(options === undefined
    ? {}
    : {
        clock: { now: () => after(systemClock.now(), options.skewMs ?? 0) },
        limits: { leaseMs: options.leaseMs, leaseMarginMs: Math.ceil(options.leaseMs / 4) },
        retryDelaysMs: Array.from({ length: 50 }, () => 50),
        ...(options.queryTimeoutMs === undefined ? {} : { queryTimeoutMs: options.queryTimeoutMs }),
      }),
})
startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 20, threads: options?.threads ?? 0 })
