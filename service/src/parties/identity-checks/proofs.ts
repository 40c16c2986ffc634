/** The proofs of customers, as `customers` judges by them. */
import type { Sealer } from '../../kernel/index.ts'
import type { IdentitiesOf, IdentityRecord } from '../customers/index.ts'
import { createContentSealer } from './store.ts'
import * as store from './store.ts'

export function createIdentitiesOf({ sealer }: { readonly sealer: Sealer }): IdentitiesOf {
  const contents = createContentSealer(sealer)
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
      (await store.inForceOf(tx, partnerId, customerIds)).map((row) => ({ id: row.customerId, record: toRecord(row) })),
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
