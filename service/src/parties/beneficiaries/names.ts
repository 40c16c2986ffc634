/** Keeps the index of the beginnings of payees' names (docs/decisions/0123-payees-by-the-beginnings-of-their-names.md). */
import { createTurns } from '../../postgres/jobs/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { prefixesOfName } from '../customers/index.ts'
import * as store from './store.ts'

/** Replaces the prefixes of payees by those of their present names, under the locks of their rows. */
export async function indexNames(tx: Tx, partnerId: string, payees: readonly store.NamedPayee[]): Promise<void> {
  await store.deletePrefixes(
    tx,
    partnerId,
    payees.flatMap(({ id, isIndexed }) => (isIndexed ? [id] : [])),
  )
  await store.insertPrefixes(
    tx,
    partnerId,
    payees.flatMap(({ id, name }) => prefixesOfName(name ?? '').map((prefix) => ({ id, prefix }))),
  )
}

const payeesPerStepMax = 100

/** Indexes the names of payees that a process of an earlier version wrote or removed. Returns how many. */
export const createNameIndexing = ({ db }: { readonly db: Database }): (() => Promise<number>) =>
  createTurns(
    (afterId) => store.partnerWithNamesDue(db, afterId),
    (partnerId) =>
      db.transaction(async (tx) => {
        const payees = await store.claimNamesDue(tx, partnerId, payeesPerStepMax)
        await indexNames(tx, partnerId, payees)
        await store.markIndexed(tx, partnerId, payees)
        return payees.length
      }),
  )
