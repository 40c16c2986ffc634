/** Many transfers at once: a batch takes one lock, one update and one insert, whatever its size. */
import { assert, type Clock, type Minor, newId, partnerKey, present } from '../kernel/index.ts'
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
  /**
   * Posts and releases reserves, and moves credits as `creditMany` does: one lock of the accounts for all. A reserve that
   * ended before is a unique violation. Writes with the commit.
   */
  readonly settleMany: (tx: Tx, ends: readonly ReserveEnd[], credits: readonly Transfer[]) => Promise<void>
}

/** The end of a reserve: its money moves (`post`), or is available again (`release`). */
export type ReserveEnd = {
  readonly partnerId: string
  readonly reserveId: string
  readonly kind: Extract<TransferKind, 'post' | 'release'>
}

type IdentifiedTransfer = Transfer & { readonly id: string }
type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }
type AccountChange = Change & { readonly partnerId: string; readonly id: string }

export function createBatches(clock: Clock): Batches {
  /** Locks the accounts last, in the order of their ids: until the commit every other writer waits for them. */
  const write = (tx: Tx, transfers: readonly store.NewTransfer[]) => {
    const changes = changesOf(transfers)
    store.insertTransfers(tx, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
  }
  const toCredits = async (
    tx: Tx,
    transfers: readonly Transfer[],
    accounts: AccountSnapshots,
  ): Promise<readonly store.NewTransfer[]> => {
    assert(
      transfers.every(({ debit, credit }) => debit !== 'balance' && credit === 'balance'),
      'a credit debits a system account',
    )
    const identified = transfers.map((transfer) => ({ ...transfer, id: newId() }))
    return (await withAccountIds(tx, identified, accounts, clock)).map(ofKind('direct'))
  }
  return {
    accountsOf: async (tx, movements) => {
      if (movements.length === 0) return new Map()
      return readAccounts(tx, accountsNamed(movements))
    },
    fittingUnderLock,
    reserveMany: async (tx, reserves, accounts) => {
      if (reserves.length > 0) write(tx, (await withAccountIds(tx, reserves, accounts, clock)).map(ofKind('reserve')))
    },
    creditMany: async (tx, transfers, accounts) => {
      if (transfers.length > 0) write(tx, await toCredits(tx, transfers, accounts))
    },
    settleMany: async (tx, ends, credits) => {
      const ended = ends.length > 0 ? await toEnds(tx, ends) : []
      const credited =
        credits.length > 0 ? await toCredits(tx, credits, await readAccounts(tx, accountsNamed(credits))) : []
      if (ended.length + credited.length > 0) write(tx, [...ended, ...credited])
    },
  }
}

const accountsNamed = (movements: readonly Movement[]) =>
  distinctAccounts([...movements.map(debitAccount), ...movements.map(creditAccount)])

const ofKind =
  (kind: TransferKind) =>
  (transfer: IdentifiedTransfer & AccountIds): store.NewTransfer => ({ ...transfer, kind, reserveId: null })

/** A reserve never changes, so that it is read without a lock. */
async function toEnds(tx: Tx, ends: readonly ReserveEnd[]): Promise<readonly store.NewTransfer[]> {
  const keys = ends.map(({ partnerId, reserveId: id }) => ({ partnerId, id }))
  const reserves = new Map((await store.transfersById(tx, keys)).map((row) => [partnerKey(row.partnerId, row.id), row]))
  return ends.map(({ partnerId, reserveId, kind }) => {
    const reserve = present(reserves.get(partnerKey(partnerId, reserveId)), 'a reserve that is ended exists')
    assert(reserve.kind === 'reserve', 'only a reserve is posted or released')
    return { ...reserve, id: newId(), kind, reserveId }
  })
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
function changesOf(transfers: readonly store.NewTransfer[]): readonly AccountChange[] {
  const changes = new Map<string, { partnerId: string; id: string; posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, id: string, { posted, reserved }: Change) => {
    const change = changes.get(id)
    if (change === undefined) changes.set(id, { partnerId, id, posted, reserved })
    else {
      change.posted += posted
      change.reserved += reserved
    }
  }
  for (const { partnerId, kind, amount, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = effects(kind, amount)
    add(partnerId, debitAccountId, debit)
    add(partnerId, creditAccountId, credit)
  }
  return [...changes.values()].filter(({ posted, reserved }) => posted !== 0n || reserved !== 0n)
}
