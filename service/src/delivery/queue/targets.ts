/** Reads where subscriptions deliver, and the keys that sign. */
import type { Clock, Log } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Target } from './attempt.ts'
import type { Secrets } from '../management/secrets.ts'
import type { PerShard } from './shards.ts'
import { type SubscriptionKey, targetsOf } from '../management/store-subscriptions.ts'

export type TargetDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly secrets: Pick<Secrets, 'signingKeys'>
  readonly perShard: PerShard
}

export type TargetsRead = {
  /** Targets by subscription. None for a disabled or deleted subscription. */
  readonly targets: ReadonlyMap<string, Target>
  /** Subscriptions that could not be read, for example because a secret cannot be decrypted. */
  readonly failed: ReadonlySet<string>
}

export function createTargetReader({ db, clock, log, secrets, perShard }: TargetDeps) {
  const readTogether = async (keys: readonly SubscriptionKey[]): Promise<ReadonlyMap<string, Target>> => {
    const now = clock.now()
    const [rows, signing] = await Promise.all([
      perShard(keys, (some) => targetsOf(db, some)),
      perShard(keys, async (some) => [...(await secrets.signingKeys(db, some, now))]),
    ])
    const signingOf = new Map(signing)
    return new Map(
      rows.map(({ subscriptionId, url, ordered, orderPending, updatedAt }) => {
        const { keys: signingKeys, until } = signingOf.get(subscriptionId) ?? { keys: [], until: null }
        return [subscriptionId, { url, ordered, orderPending, updatedAt, keys: signingKeys, until }]
      }),
    )
  }

  /** Reads them together, or one by one if that fails, so that one failure does not delay the other subscriptions. */
  return async (keys: readonly SubscriptionKey[]): Promise<TargetsRead> => {
    const failed = new Set<string>()
    try {
      return { targets: await readTogether(keys), failed }
    } catch (error) {
      if (keys.length > 1) log.debug({ err: error }, 'reading several subscriptions failed; reading them one by one')
    }
    const targets = new Map<string, Target>()
    for (const key of keys) {
      const { subscriptionId } = key
      try {
        for (const [id, target] of await readTogether([key])) targets.set(id, target)
      } catch (error) {
        log.error({ err: error, subscriptionId }, 'subscription cannot be read; its deliveries wait')
        failed.add(subscriptionId)
      }
    }
    return { targets, failed }
  }
}
