/** Many transfers at once: a batch takes one lock, one update and one insert, whatever its size. */
import { assert, type Clock, type Minor, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  type AccountSnapshots,
  creditAccount,
  debitAccount,
  distinctAccounts,
  mapKey,
  type Movement,
} from './account-keys.ts'
import { type Change, effects, fits, type ReservationRequest, type Transfer, type TransferKind } from './rules.ts'
import * as store from './store.ts'

export type Batches = {
  /** Reads the accounts of transfers without a lock. An account that does not exist yet is absent. */
  readonly accountsOf: (tx: Tx, movements: readonly Movement[]) => Promise<AccountSnapshots>
  /**
   * Locks the debited balances and answers for each request, in order, whether it fits. A request that does not fit takes
   * nothing from those behind it. The same transaction must pass those that fit to `reserveMany`.
   */
  readonly fittingUnderLock: (tx: Tx, requests: readonly ReservationRequest[]) => Promise<readonly boolean[]>
  /**
   * Reserves money. The caller has checked the funds: if a reserve does not fit, the commit fails by the constraint
   * `accounts_never_negative`. Locks the accounts, and writes with the commit.
   */
  readonly reserveMany: (tx: Tx, reserves: readonly IdentifiedTransfer[], accounts: AccountSnapshots) => Promise<void>
  /** Moves posted money from system accounts, which have no lower limit. Locks the accounts, and writes with the commit. */
  readonly creditMany: (tx: Tx, transfers: readonly Transfer[], accounts: AccountSnapshots) => Promise<void>
}

type IdentifiedTransfer = Transfer & { readonly id: string }
type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }
type AccountChange = Change & { readonly partnerId: string; readonly id: string }

export function createBatches(clock: Clock): Batches {
  /** Locks the accounts last, in the order of their ids: until the commit every other writer waits for them. */
  const write = (tx: Tx, kind: TransferKind, transfers: readonly (IdentifiedTransfer & AccountIds)[]) => {
    const changes = changesOf(kind, transfers)
    store.insertTransfers(tx, kind, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
  }
  return {
    accountsOf: async (tx, movements) => {
      if (movements.length === 0) return new Map()
      return readAccounts(tx, distinctAccounts([...movements.map(debitAccount), ...movements.map(creditAccount)]))
    },
    fittingUnderLock,
    reserveMany: async (tx, reserves, accounts) => {
      if (reserves.length > 0) write(tx, 'reserve', await withAccountIds(tx, reserves, accounts, clock))
    },
    creditMany: async (tx, transfers, accounts) => {
      if (transfers.length === 0) return
      assert(
        transfers.every(({ debit, credit }) => debit !== 'balance' && credit === 'balance'),
        'a credit debits a system account',
      )
      const identified = transfers.map((transfer) => ({ ...transfer, id: newId() }))
      write(tx, 'direct', await withAccountIds(tx, identified, accounts, clock))
    },
  }
}

async function fittingUnderLock(tx: Tx, requests: readonly ReservationRequest[]): Promise<readonly boolean[]> {
  if (requests.length === 0) return []
  const rows = await store.lockAccountsByKey(tx, distinctAccounts(requests.map(debitAccount)))
  const balances = new Map(rows.map((row) => [mapKey(row), { posted: row.posted, reserved: row.reserved }]))
  return requests.map((request) => {
    const balance = balances.get(mapKey(debitAccount(request)))
    const { debit } = effects('reserve', request.amount)
    if (!balance || !fits(request.debit, balance.posted, balance.reserved, debit)) return false
    balance.reserved += debit.reserved
    return true
  })
}

async function readAccounts(tx: Tx, keys: readonly store.AccountKey[]): Promise<AccountSnapshots> {
  const rows = await store.accountsByKey(tx, keys)
  return new Map(rows.map((row) => [mapKey(row), { id: row.id, available: row.posted - row.reserved }]))
}

/** Adds the ids of the accounts to each transfer. Creates the accounts that do not exist yet. */
async function withAccountIds(
  tx: Tx,
  transfers: readonly IdentifiedTransfer[],
  accounts: AccountSnapshots,
  clock: Clock,
): Promise<readonly (IdentifiedTransfer & AccountIds)[]> {
  const complete = findAccountIds(transfers, accounts)
  if (complete.length === transfers.length) return complete
  const named = [...transfers.map(debitAccount), ...transfers.map(creditAccount)]
  const missing = distinctAccounts(named.filter((account) => !accounts.has(mapKey(account))))
  // In the order of their keys: two batches that create the same accounts cannot deadlock.
  for (const { partnerId, name, currency } of missing.toSorted((a, b) => (mapKey(a) < mapKey(b) ? -1 : 1)))
    await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
  const all = findAccountIds(transfers, new Map([...accounts, ...(await readAccounts(tx, missing))]))
  assert(all.length === transfers.length, 'the accounts of a transfer exist once they are created')
  return all
}

/** The transfers whose two accounts are known, with the ids of these accounts. */
const findAccountIds = (transfers: readonly IdentifiedTransfer[], accounts: AccountSnapshots) =>
  transfers.flatMap((transfer) => {
    const debitAccountId = accounts.get(mapKey(debitAccount(transfer)))?.id
    const creditAccountId = accounts.get(mapKey(creditAccount(transfer)))?.id
    if (debitAccountId === undefined || creditAccountId === undefined) return []
    return [{ ...transfer, debitAccountId, creditAccountId }]
  })

/** One change per account, whatever the number of transfers. */
function changesOf(kind: TransferKind, transfers: readonly (Transfer & AccountIds)[]): readonly AccountChange[] {
  const changes = new Map<string, { partnerId: string; id: string; posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, id: string, { posted, reserved }: Change) => {
    const change = changes.get(id)
    if (change === undefined) changes.set(id, { partnerId, id, posted, reserved })
    else {
      change.posted += posted
      change.reserved += reserved
    }
  }
  for (const { partnerId, amount, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = effects(kind, amount)
    add(partnerId, debitAccountId, debit)
    add(partnerId, creditAccountId, credit)
  }
  return [...changes.values()].filter(({ posted, reserved }) => posted !== 0n || reserved !== 0n)
}
