import type { Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type PerShard = <K extends SubscriptionKey, T>(
  keys: readonly K[],
  work: (keys: readonly K[]) => Promise<readonly T[]>,
) => Promise<readonly T[]>

type Deps = { readonly db: Pick<Database, 'sharded'>; readonly log: Log }

/** Runs `work` on all keys at once, or partner by partner if the database is sharded. Does nothing without keys. */
export const createPerShard =
  ({ db }: Deps): PerShard =>
  async (keys, work) => {
    if (keys.length === 0) return []
    if (!db.sharded) return work(keys)
    const all = []
    for (const group of Map.groupBy(keys, (key) => key.partnerId).values()) all.push(...(await work(group)))
    return all
  }

/**
 * Like `createPerShard`, but skips the partners of shards that do not answer. Throws if no shard answers.
 */
export const createPerReachableShard =
  ({ db, log }: Deps): PerShard =>
  async (keys, work) => {
    if (keys.length === 0) return []
    if (!db.sharded) return work(keys)
    const groups = Map.groupBy(keys, (key) => key.partnerId)
    const all = []
    const failures: unknown[] = []
    for (const [partnerId, group] of groups)
      try {
        all.push(...(await work(group)))
      } catch (error) {
        failures.push(error)
        log.error({ err: error, partnerId }, 'endpoint queues of a partner skipped: its shard does not answer')
      }
    if (failures.length === groups.size) throw failures[0]
    return all
  }
