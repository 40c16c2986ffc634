/** The erasure of identity verifications with their customer. */
import type { Clock, Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { createContentSealer } from './sealed.ts'
import * as store from './store.ts'

export type IdentityErasure = {
  /** Ends what is not decided, and forgets the pages of the provider. What is decided is a proof, which the law keeps (AMLD, Art. 40). */
  readonly end: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
  /** Deletes the proofs, when nothing has to be kept any longer. */
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
  return {
    end: async (tx, partnerId, customerId) => {
      const rows = await store.openOf(tx, partnerId, customerId)
      for (const row of rows) {
        const content = { ...contents.open(row), url: null, returnUrl: null }
        const isOpen = row.decidedAt === null && row.status !== 'Failed'
        const status = isOpen ? 'Lapsed' : row.status
        const now = isOpen ? clock.now() : row.updatedAt
        await store.close(tx, row, { status, contentSealed: contents.seal(row, content), now })
      }
    },
    erase: store.deleteOf,
  }
}
