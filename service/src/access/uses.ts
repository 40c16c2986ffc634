/** Records when each credential was last used: at most once a minute, outside the request's transaction. */
import type { Caller } from '../kernel/api/index.ts'
import { type Clock, minuteMs, partnerKey } from '../kernel/index.ts'
import { createBatcher, type Tx, withoutTransaction } from '../postgres/index.ts'
import * as store from './store-management.ts'

const usesPerBatchMax = 500
const recordedMax = 10_000

/** Returns at once. A use that cannot be written is written with the next one. */
export function createUseRecorder(deps: { readonly db: Tx; readonly clock: Clock }) {
  const { db, clock } = deps
  const recordedMs = new Map<string, number>()
  const record = createBatcher({
    db: withoutTransaction(db),
    work: async (tx: Tx, uses: readonly store.Use[]) => {
      await store.recordUses(tx, uses)
      return uses.map(() => undefined)
    },
    callsMax: usesPerBatchMax,
    batchesMax: 1,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return ({ partnerId, serviceAccountId: id }: Caller): void => {
    const key = partnerKey(partnerId, id)
    const usedAt = clock.now()
    const last = recordedMs.get(key)
    if (last !== undefined && Math.abs(usedAt.getTime() - last) < minuteMs) return
    if (recordedMs.size >= recordedMax) recordedMs.clear()
    recordedMs.set(key, usedAt.getTime())
    record({ partnerId, id, usedAt }).catch(() => recordedMs.delete(key))
  }
}
