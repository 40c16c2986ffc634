/** The proofs by which `customers` determines the verification state of a customer, and their erasure. */
import { after, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { IdentityRecord, ReadIdentities } from '../customers/index.ts'
import { leaseMs, type StepDeps } from './step.ts'
import * as store from './store.ts'

export function createIdentityReader({ sealer }: { readonly sealer: Sealer }): ReadIdentities {
  const contents = store.createContentSealer(sealer)
  const toRecord = (row: store.IdentityRow): IdentityRecord => {
    const { subject, evidence } = contents.open(row)
    const { kinds, validUntil, decidedAt, createdAt } = row
    return {
      kinds,
      status: row.status as IdentityRecord['status'],
      decidedAt: decidedAt ?? createdAt,
      validUntil,
      fields: (evidence?.fields ?? []).map((each) => ({ ...each, value: subject[each.field] ?? '' })),
    }
  }
  return async (tx, partnerId, customerIds) =>
    Map.groupBy(
      (await store.verificationsInForce(tx, partnerId, customerIds)).map((row) => ({
        id: row.customerId,
        record: toRecord(row),
      })),
      ({ id }) => id,
    )
      .entries()
      .reduce(
        (found, [id, rows]) =>
          found.set(
            id,
            rows.map(({ record }) => record),
          ),
        new Map<string, readonly IdentityRecord[]>(),
      )
}

type IdentityErasure = {
  /**
   * Cancels undecided verifications, here and at the provider, and deletes their links. Decided verifications are
   * proofs that must be retained (AMLD, Art. 40).
   */
  readonly end: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
  /** Deletes the proofs, here and at the provider, when the retention period has ended. */
  readonly erase: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
}

export function createIdentityErasure({ clock, sealer }: Pick<StepDeps, 'clock' | 'sealer'>): IdentityErasure {
  const contents = store.createContentSealer(sealer)
  // Due after the lease of a worker that may be starting a session now.
  const queue = (tx: Tx, partnerId: string, customerId: string, which: 'undecided' | 'all') => {
    const now = clock.now()
    return store.queueErasures(tx, partnerId, customerId, { which, dueAt: after(now, leaseMs), now })
  }
  return {
    end: async (tx, partnerId, customerId) => {
      const rows = await store.openVerifications(tx, partnerId, customerId)
      await queue(tx, partnerId, customerId, 'undecided')
      for (const row of rows) {
        const content = { ...contents.open(row), url: null, returnUrl: null }
        const isOpen = row.decidedAt === null && row.status !== 'Failed'
        const status = isOpen ? 'Lapsed' : row.status
        const now = isOpen ? clock.now() : row.updatedAt
        await store.closeVerification(tx, row, { status, contentSealed: contents.seal(row, content), now })
      }
    },
    erase: async (tx, partnerId, customerId) => {
      await queue(tx, partnerId, customerId, 'all')
      await store.deleteVerifications(tx, partnerId, customerId)
    },
  }
}
