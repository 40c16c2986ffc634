/** Finds and creates the accounts of transfers. */
import { type Clock, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type AccountSnapshots, mapKey } from './account-keys.ts'
import type { AccountKey } from './account-kinds.ts'
import * as store from './store.ts'

/** Reads accounts without a lock. An account that does not exist is absent. */
export async function readAccounts(tx: Tx, keys: readonly AccountKey[]): Promise<AccountSnapshots> {
  if (keys.length === 0) return new Map()
  const rows = await store.accountsByKey(tx, keys)
  return new Map(
    rows.map((row) => {
      const { id, posted, reserved, controlled, controlsChanged, state, blocks } = row
      const snapshot = { id, available: posted - reserved, state: state ?? 'Active', blocks: blocks ?? 0 }
      return [mapKey(row), controlled === true ? { ...snapshot, controls: controlsChanged ?? 0 } : snapshot]
    }),
  )
}

/**
 * Creates the accounts that do not exist yet, in the order of their keys: two batches that create the same accounts
 * cannot deadlock. Runs before any account is locked, because another transaction waits for an account that this one
 * has created.
 */
export async function createAccounts(tx: Tx, keys: readonly AccountKey[], clock: Clock): Promise<AccountSnapshots> {
  for (const { partnerId, name, currency } of keys.toSorted((a, b) => (mapKey(a) < mapKey(b) ? -1 : 1)))
    await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
  return readAccounts(tx, keys)
}
