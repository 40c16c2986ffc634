/** Reads how long the oldest due work of each queue has waited. One statement per queue and look, by an index. */
import { type Clock, type Log, type Loop, secondMs, startLoop } from '../kernel/index.ts'

/** One queue of work. */
export type QueueProbe = {
  /** The label of the metric: `events`, `payouts`, `bank_notifications`, `mail`, ... */
  readonly name: string
  /** Since when the oldest due item waits; null: nothing is due. */
  readonly oldestDue: (now: Date) => Promise<Date | null>
}

export type QueueAgesOptions = {
  readonly clock: Clock
  readonly log: Log
  readonly probes: readonly QueueProbe[]
  readonly observe: (queue: string, ageMs: number) => void
  readonly idleMs?: number
}

const idleMsDefault = 5 * secondMs

export function startQueueAges({ clock, log, probes, observe, idleMs = idleMsDefault }: QueueAgesOptions): Loop {
  const step = async () => {
    const now = clock.now()
    for (const { name, oldestDue } of probes) {
      const oldest = await oldestDue(now)
      observe(name, oldest === null ? 0 : Math.max(0, now.getTime() - oldest.getTime()))
    }
    return 0
  }
  return startLoop({ name: 'observability.queue-ages', idleMs, log, step })
}
