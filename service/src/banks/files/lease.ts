/** The lease with which one process at a time receives the files of a bank. Each of its transactions checks the lease. */
import { after, type Clock, newId, secondMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as store from './store-incoming.ts'

/** Longer than the transaction of a page, and short enough that another process soon replaces a killed one. */
const leaseMs = 30 * secondMs
const renewedAfterMs = 10 * secondMs

/** Another process has the lease and does the work. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

export type Lease = {
  /** Renews the lease when it is due. Throws LeaseLost. */
  readonly keep: () => Promise<void>
  /** Runs `work` in a transaction that excludes other processes. Throws LeaseLost. */
  readonly transaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
}

type LeaseDeps = { readonly db: Database; readonly clock: Clock; readonly connector: string }

/** Returns a function that runs `work` under the lease and releases it; it returns undefined if another process has it. */
export function createLeases({ db, clock, connector }: LeaseDeps) {
  const leaseId = newId()
  let renewedAt = 0
  const take = async () => {
    const now = clock.now()
    const taken = await store.takeLease(db, connector, { leaseId, now, until: after(now, leaseMs) })
    renewedAt = performance.now()
    return taken === 1
  }
  const lease: Lease = {
    keep: async () => {
      if (performance.now() - renewedAt < renewedAfterMs) return
      if (!(await take())) throw new LeaseLost('another process receives the files of this bank')
    },
    transaction: async (work) => {
      await lease.keep()
      return db.transaction(async (tx) => {
        if ((await store.lockLease(tx, connector)) !== leaseId)
          throw new LeaseLost('another process receives the files of this bank')
        return work(tx)
      })
    },
  }
  return async <T>(work: (lease: Lease) => Promise<T>): Promise<T | undefined> => {
    await store.addIncoming(db, connector)
    if (!(await take())) return undefined
    try {
      return await work(lease)
    } catch (error) {
      if (error instanceof LeaseLost) return undefined
      throw error
    } finally {
      await store.releaseLease(db, connector, leaseId)
    }
  }
}
