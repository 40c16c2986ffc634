/** Triggers that arrive at the same time share a transaction. */
import { type BatcherOptions, createBatcher } from '../postgres/index.ts'
import type { Advanced } from './engine.ts'

/** A batch of 128 spent a tenth of its time on planning and round trips. */
const triggersPerBatchMax = 512
/** A batch locks the balances last, so a second batch can run until then. */
const batchesUnderWayMax = 2

export type Applied = Exclude<Advanced, 'deferred'>

/** Returns the effect of the trigger. Repeats a deferred trigger in a later batch. */
export function applyInBatches<Trigger extends { readonly partnerId: string }, Read = undefined>(
  options: Pick<BatcherOptions<Trigger, Advanced, Read>, 'db' | 'read' | 'work'>,
): (trigger: Trigger) => Promise<Applied> {
  const inBatch = createBatcher({
    ...options,
    callsMax: triggersPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Trigger) => partnerId,
    // On small tables the planner would choose sequential scans, and a cached plan would keep them as the tables grow.
    byIndex: true,
  })
  return async (trigger) => {
    for (;;) {
      const advanced = await inBatch(trigger)
      if (advanced !== 'deferred') return advanced
    }
  }
}
