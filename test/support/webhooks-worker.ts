/**
 * A delivery worker as a process, so that tests can kill or stop it: `node webhooks-worker.ts <database url> <master key,
 * hex> [options]`. With options it uses the system clock, so that several workers agree on the time.
 */
import { after, systemClock } from '../../service/src/kernel/index.ts'
import { startDelivery } from './jobs.ts'
import { createHooks, type HooksOptions } from './webhooks.ts'

export type WorkerOptions = {
  readonly leaseMs: number
  /** The difference of its clock from the system clock. */
  readonly skewMs?: number
  readonly queryTimeoutMs?: number
  readonly threads?: number
}

const [, , url = '', key = '', optionsText] = process.argv
const options = optionsText === undefined ? undefined : (JSON.parse(optionsText) as WorkerOptions)

/** Short leases and delays, so that another worker takes over soon. */
function hooksOptions({ leaseMs, skewMs = 0, queryTimeoutMs }: WorkerOptions): HooksOptions {
  const options = {
    clock: { now: () => after(systemClock.now(), skewMs) },
    limits: { leaseMs, leaseMarginMs: Math.ceil(leaseMs / 4) },
    retryDelaysMs: Array.from({ length: 50 }, () => 50),
  }
  return queryTimeoutMs === undefined ? options : { ...options, queryTimeoutMs }
}

const { db, clock, log, webhooks } = await createHooks({
  ...(options === undefined ? {} : hooksOptions(options)),
  url,
  key: Buffer.from(key, 'hex'),
})
startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 20, threads: options?.threads ?? 0 })
