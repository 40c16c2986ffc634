/**
 * Reads how long the oldest due work of each queue has waited: one indexed statement per queue. The statements run one after
 * another, because each would use a connection.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { type Clock, secondMs } from '../../kernel/index.ts'

export type QueueProbe = {
  /** The label of the metric: `events`, `payouts`, `bank_notifications`, `mail`, ... */
  readonly name: string
  /** The bank connector that the work belongs to. */
  readonly connector?: string
  /** Returns when the oldest due item became due. Null: nothing is due. */
  readonly oldestDue: (now: Date) => Promise<Date | null>
}

type QueueAgesOptions = {
  readonly clock: Clock
  readonly probes: readonly QueueProbe[]
  readonly observe: (queue: string, connector: string, ageMs: number) => void
  readonly everyMs?: number
}

/** Interval of the reads. Alerts have thresholds of minutes. */
const everyMsDefault = 30 * secondMs
const lookMsMax = 10 * secondMs

/** Limits the time of one probe, so that a hanging bank does not stop all probes. */
async function inTime<T>(look: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = pause(lookMsMax, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`a queue could not be read within ${lookMsMax / secondMs} s`)
  })
  try {
    return await Promise.race([look, late])
  } finally {
    late.catch(() => undefined)
    timer.abort()
  }
}

export function queueAgesJob({ clock, probes, observe, everyMs = everyMsDefault }: QueueAgesOptions): Job {
  const run = async () => {
    const now = clock.now()
    const failures: unknown[] = []
    for (const { name, connector = '', oldestDue } of probes)
      try {
        const oldest = await inTime(oldestDue(now))
        observe(name, connector, oldest === null ? 0 : Math.max(0, now.getTime() - oldest.getTime()))
      } catch (error) {
        failures.push(error)
      }
    // Thrown at the end, so that one failed probe does not stop the others.
    if (failures.length > 0) throw failures[0]
    return 0
  }
  return defineJob({ name: 'observability.queue-ages', everyMs, run })
}
