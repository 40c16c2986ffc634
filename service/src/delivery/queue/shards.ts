import type { SubscriptionKey } from '../management/store-subscriptions.ts'

export type PerShard = <K extends SubscriptionKey, T>(
  keys: readonly K[],
  work: (keys: readonly K[]) => Promise<readonly T[]>,
) => Promise<readonly T[]>

/** Runs `work` on all keys at once, or partner by partner if the database is sharded by partner. Not at all without keys. */
export const createPerShard =
  (sharded: boolean): PerShard =>
  async (keys, work) => {
    if (keys.length === 0) return []
    if (!sharded) return work(keys)
    const all = []
    for (const group of Map.groupBy(keys, (key) => key.partnerId).values()) all.push(...(await work(group)))
    return all
  }
