/** Finds and creates the accounts of transfers. */
import { type Clock, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type AccountSnapshots, accountMapKey } from './rules.ts'
import type { AccountKey } from './account-kinds.ts'
import type { MoneyHolds } from './permits.ts'
import * as store from './store.ts'

/** Reads accounts without a lock. Missing accounts are absent. */
export async function readAccounts(tx: Tx, keys: readonly AccountKey[]): Promise<AccountSnapshots> {
  if (keys.length === 0) return new Map()
  const rows = await store.accountsByKey(tx, keys)
  return new Map(
    rows.map((row) => {
      const { id, posted, reserved, controlled, controlsChanged, state, blocks, segregated } = row
      const snapshot = { id, available: posted - reserved, state: state ?? 'Active', blocks: blocks ?? 0 }
      const marks = {
        ...(controlled === true ? { controls: controlsChanged ?? 0 } : {}),
        ...(segregated === true ? { segregated } : {}),
      }
      return [accountMapKey(row), { ...snapshot, ...marks }]
    }),
  )
}

/** `segregates`: whether a new balance is segregated. `holds`: reads which parties screening holds. */
export type LedgerDeps = { readonly clock: Clock; readonly segregates: boolean; readonly holds: MoneyHolds }

/** Creates an account without money if it is missing. Takes no lock if it exists. */
export const ensureAccount = (tx: Tx, { partnerId, name, currency }: AccountKey, { clock, segregates }: LedgerDeps) =>
  store.ensureAccount(
    tx,
    partnerId,
    { id: newId(), name, currency, segregated: name === 'balance' && segregates ? true : null },
    clock.now(),
  )

export type CreateAccounts = (tx: Tx, keys: readonly AccountKey[]) => Promise<AccountSnapshots>

/**
 * Creates the missing accounts in the order of their keys, so that two batches with the same accounts cannot deadlock.
 * Runs before any account is locked, because other transactions wait for an account that this one has created.
 */
export const createAccountCreator =
  (opening: LedgerDeps): CreateAccounts =>
  async (tx, keys) => {
    for (const key of keys.toSorted((a, b) => (accountMapKey(a) < accountMapKey(b) ? -1 : 1)))
      await ensureAccount(tx, key, opening)
    return readAccounts(tx, keys)
  }
