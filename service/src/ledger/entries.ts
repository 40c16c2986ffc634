/** Writes entries and their ends: a batch takes one lock, one update and one insert, whatever its size. */
import { assert, type Clock, type Minor, newId, partnerKey, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  accountsNamed,
  type AccountSnapshots,
  creditAccount,
  debitAccount,
  mapKey,
  type Movement,
} from './account-keys.ts'
import { createAccounts, readAccounts } from './accounts.ts'
import { createJudge } from './judge.ts'
import {
  type Change,
  effects,
  type Entry,
  type EntryRequest,
  entryTransfersMax,
  insufficientFunds,
  type TransferKind,
  transfersOf,
} from './rules.ts'
import * as store from './store.ts'

export type Entries = {
  /** Reads the accounts of transfers without a lock. An account that does not exist yet is absent. */
  readonly accountsOf: (tx: Tx, movements: readonly Movement[]) => Promise<AccountSnapshots>
  /**
   * Locks the accounts that entries would change and answers for each entry, in order, whether it fits as a whole. An entry
   * that does not fit takes nothing from those behind it. The same transaction must pass those that fit to `enterMany`.
   */
  readonly fittingUnderLock: (
    tx: Tx,
    requests: readonly EntryRequest[],
    accounts: AccountSnapshots,
  ) => Promise<readonly boolean[]>
  /**
   * Writes entries. The caller has checked the funds: if they do not fit, the commit fails by the constraint
   * `accounts_never_negative`. Locks the accounts, and writes with the commit.
   */
  readonly enterMany: (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => Promise<void>
  /**
   * As `enterMany`. If a customer of the partner was closed since `accounts` were read, the commit fails by the constraint
   * `accounts_reserved_check`. What was read of customers after `accounts` thus still holds.
   */
  readonly enterUnlessClosed: Entries['enterMany']
  /** A customer of the partner is closed in this transaction. Locks the balances of the partner. */
  readonly closeParty: (tx: Tx, partnerId: string) => Promise<void>
  /** Checks the funds under the lock, then writes the entry as `enterMany`. Refuses: insufficient_funds. */
  readonly enter: (tx: Tx, entry: Entry) => Promise<void>
  /**
   * Ends entries, and writes others as `enterMany` does: one lock of the accounts for all. An entry that ended before is a
   * unique violation. Writes with the commit.
   */
  readonly settleMany: (tx: Tx, ends: readonly EntryEnd[], entries: readonly Entry[]) => Promise<void>
}

/** The end of all reserves of an entry: their money moves (`post`), or is available again (`release`). */
export type EntryEnd = {
  readonly partnerId: string
  readonly entryId: string
  readonly kind: Extract<TransferKind, 'post' | 'release'>
}

type AccountChange = Change & { readonly partnerId: string; readonly id: string }

export function createEntries(clock: Clock): Entries {
  const { shortOfFunds } = createJudge(clock)

  const accountsOf = async (tx: Tx, movements: readonly Movement[]) =>
    movements.length === 0 ? new Map() : readAccounts(tx, accountsNamed(movements))

  const toTransfers = async (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => {
    const transfers = await withAccountIds(tx, entries.flatMap(transfersOf), accounts, clock)
    return transfers.map((transfer): store.NewTransfer => ({ ...transfer, reserveId: null }))
  }
  /** Locks the accounts last, in the order of their ids: until the commit every other writer waits for them. */
  const write = (tx: Tx, transfers: readonly store.NewTransfer[], read?: AccountSnapshots) => {
    const closed = new Map([...(read?.values() ?? [])].map(({ id, partiesClosed }) => [id, partiesClosed]))
    const changes = changesOf(transfers).map((change) => ({
      ...change,
      partiesClosed: closed.get(change.id) ?? null,
    }))
    store.insertTransfers(tx, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
  }
  const enterMany = async (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => {
    if (entries.length > 0) write(tx, await toTransfers(tx, entries, accounts))
  }
  return {
    accountsOf,
    fittingUnderLock: async (tx, requests, accounts) =>
      (await shortOfFunds(tx, requests, accounts)).map((currency) => currency === undefined),
    enterMany,
    enterUnlessClosed: async (tx, entries, accounts) => {
      if (entries.length > 0) write(tx, await toTransfers(tx, entries, accounts), accounts)
    },
    closeParty: store.closeParty,
    enter: async (tx, entry) => {
      const accounts = await accountsOf(tx, entry.transfers)
      const [currency] = await shortOfFunds(tx, [entry], accounts)
      if (currency !== undefined) throw insufficientFunds(currency)
      await enterMany(tx, [entry], accounts)
    },
    settleMany: async (tx, ends, entries) => {
      const ended = ends.length > 0 ? await toEnds(tx, ends) : []
      const movements = entries.flatMap(({ transfers }) => transfers)
      const entered = entries.length > 0 ? await toTransfers(tx, entries, await accountsOf(tx, movements)) : []
      if (ended.length + entered.length > 0) write(tx, [...ended, ...entered])
    },
  }
}

/** A reserve never changes, so that it is read without a lock. The transfer with the id of the entry is its first one. */
async function toEnds(tx: Tx, ends: readonly EntryEnd[]): Promise<readonly store.NewTransfer[]> {
  const keys = ends.map(({ partnerId, entryId: id }) => ({ partnerId, id }))
  const firsts = new Map((await store.transfersById(tx, keys)).map((row) => [keyOf(row), row]))
  const several = keys.filter((key) => (firsts.get(keyOf(key))?.entryId ?? null) !== null)
  const ofEntries = several.length > 0 ? await store.transfersOfEntries(tx, several, entryTransfersMax) : []
  const byEntry = Map.groupBy(ofEntries, ({ partnerId, entryId }) => partnerKey(partnerId, entryId ?? ''))
  return ends.flatMap(({ partnerId, entryId, kind }) => {
    const key = partnerKey(partnerId, entryId)
    const first = present(firsts.get(key), 'an entry that is ended exists')
    assert(first.entryId === null || first.entryId === entryId, 'an entry is ended as a whole, by its own id')
    const reserves = (byEntry.get(key) ?? [first]).filter((transfer) => transfer.kind === 'reserve')
    assert(reserves.length > 0, 'only a reserve is posted or released')
    return reserves.map((reserve) => ({ ...reserve, id: newId(), kind, reserveId: reserve.id }))
  })
}

const keyOf = ({ partnerId, id }: store.TransferKey) => partnerKey(partnerId, id)

/** Adds the ids of the accounts to each transfer. Creates the accounts that do not exist yet. */
async function withAccountIds<T extends Movement>(
  tx: Tx,
  transfers: readonly T[],
  accounts: AccountSnapshots,
  clock: Clock,
): Promise<readonly (T & AccountIds)[]> {
  const complete = findAccountIds(transfers, accounts)
  if (complete.length === transfers.length) return complete
  const missing = accountsNamed(transfers).filter((account) => !accounts.has(mapKey(account)))
  const all = findAccountIds(transfers, new Map([...accounts, ...(await createAccounts(tx, missing, clock))]))
  assert(all.length === transfers.length, 'the accounts of a transfer exist once they are created')
  return all
}

type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }

/** The transfers whose two accounts are known, with the ids of these accounts. */
const findAccountIds = <T extends Movement>(transfers: readonly T[], accounts: AccountSnapshots) =>
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
