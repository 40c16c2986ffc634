/** The erasure of identity verifications with their customer. */
import { after, type Clock, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { createContentSealer, queueErasures } from './store.ts'
import { leaseMs } from './step.ts'
import * as store from './store.ts'

export type IdentityErasure = {
  /**
   * Ends what is not decided, here and at the provider, and forgets its pages. What is decided is a proof, which the law keeps
   * (AMLD, Art. 40).
   */
  readonly end: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
  /** Deletes the proofs, here and at the provider, when nothing has to be kept any longer. */
  readonly erase: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
}

export function createIdentityErasure({
  clock,
  sealer,
}: {
  readonly clock: Clock
  readonly sealer: Sealer
}): IdentityErasure {
  const contents = createContentSealer(sealer)
  // Behind the lease of a worker that may be starting a session now.
  const queue = (tx: Tx, partnerId: string, customerId: string, which: 'undecided' | 'all') => {
    const now = clock.now()
    return queueErasures(tx, partnerId, customerId, { which, dueAt: after(now, leaseMs), now })
  }
  return {
    end: async (tx, partnerId, customerId) => {
      const rows = await store.openOf(tx, partnerId, customerId)
      await queue(tx, partnerId, customerId, 'undecided')
      for (const row of rows) {
        const content = { ...contents.open(row), url: null, returnUrl: null }
        const isOpen = row.decidedAt === null && row.status !== 'Failed'
        const status = isOpen ? 'Lapsed' : row.status
        const now = isOpen ? clock.now() : row.updatedAt
        await store.close(tx, row, { status, contentSealed: contents.seal(row, content), now })
      }
    },
    erase: async (tx, partnerId, customerId) => {
      await queue(tx, partnerId, customerId, 'all')
      await store.deleteOf(tx, partnerId, customerId)
    },
  }
}
