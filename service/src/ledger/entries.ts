/** Writes entries and their ends: a batch takes one lock, one update and one insert, whatever its size. */
import { assert, type Minor, newId, partnerKey, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  accountsNamed,
  type AccountSnapshots,
  creditAccount,
  debitAccount,
  mapKey,
  type Movement,
  type PartyKey,
} from './account-keys.ts'
import type { AccountKey } from './account-kinds.ts'
import { changeParties, readParties } from './parties.ts'
import { type CreateAccounts, createAccountsBy, type Opening, readAccounts } from './accounts.ts'
import { createJudge } from './judge.ts'
import { requirePermit } from './permits.ts'
import {
  type Change,
  effects,
  type Entry,
  type EntryRequest,
  entryTransfersMax,
  type Fit,
  insufficientFunds,
  type TransferKind,
  transfersOf,
} from './rules.ts'
import * as store from './store.ts'

export type Entries = {
  /** Reads the accounts of transfers without a lock. An account that does not exist yet is absent. */
  readonly accountsOf: (tx: Tx, movements: readonly Movement[]) => Promise<AccountSnapshots>
  /** Reads what parties have of the segregated balances among `accounts`, for the funds check. */
  readonly partiesOf: (tx: Tx, accounts: AccountSnapshots, parties: readonly PartyKey[]) => Promise<AccountSnapshots>
  /**
   * Locks the accounts that entries would change and answers for each entry, in order, whether it fits as a whole. An
   * entry that does not fit takes nothing from later ones. The same transaction must pass those that fit to
   * `enterMany`.
   */
  readonly fittingUnderLock: (
    tx: Tx,
    requests: readonly EntryRequest[],
    accounts: AccountSnapshots,
  ) => Promise<readonly Fit[]>
  /**
   * Writes entries. The caller has checked the funds: if they do not fit, the commit fails by the constraint
   * `accounts_never_negative`. If the state of a balance was changed since `accounts` was read, the commit fails by the constraint
   * `accounts_judged_by_state`. Locks the accounts, and writes with the commit.
   */
  readonly enterMany: (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => Promise<void>
  /** Checks the funds under the lock, then writes the entry as `enterMany`. Refuses: insufficient_funds. */
  readonly enter: (tx: Tx, entry: Entry) => Promise<void>
  /**
   * Ends entries, and writes others as `enterMany` does, under one lock of the accounts. An entry that ended before is
   * a unique violation. With `judged`, the entries depend on the states in it, as those of `enterMany` do. Writes with
   * the commit.
   */
  readonly settleMany: (
    tx: Tx,
    ends: readonly EntryEnd[],
    entries: readonly Entry[],
    judged?: AccountSnapshots,
  ) => Promise<void>
}

/** The end of all reserves of an entry: their money moves (`post`), or is available again (`release`). */
export type EntryEnd = {
  readonly partnerId: string
  readonly entryId: string
  readonly kind: Extract<TransferKind, 'post' | 'release'>
}

export function createEntries(opening: Opening): Entries {
  const { clock } = opening
  const createAccounts = createAccountsBy(opening)
  const { fitting } = createJudge(createAccounts)

  const accountsOf = async (tx: Tx, movements: readonly Movement[]) =>
    movements.length === 0 ? new Map() : readAccounts(tx, accountsNamed(movements))

  const toTransfers = async (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots): Promise<Written> => {
    for (const entry of entries) requirePermit(entry)
    const { transfers, segregated } = await withAccountIds(tx, entries.flatMap(transfersOf), accounts, createAccounts)
    return { transfers: transfers.map((transfer): store.NewTransfer => ({ ...transfer, reserveId: null })), segregated }
  }
  /**
   * Locks the accounts last, in the order of their ids, because every other writer waits for them until the commit. The lock of
   * a balance covers the accounts of its parties.
   */
  const write = (tx: Tx, { transfers, segregated }: Written, judged?: Judged) => {
    const changes = changesOf(transfers, judged, segregated)
    store.insertTransfers(tx, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
    if (segregated.size > 0) changeParties(tx, transfers, segregated)
  }
  const enterMany = async (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => {
    if (entries.length === 0) return
    const written = await toTransfers(tx, entries, accounts)
    write(tx, written, judgedOf(entries, written.transfers, accounts))
  }
  return {
    accountsOf,
    partiesOf: readParties,
    fittingUnderLock: fitting,
    enterMany,
    enter: async (tx, entry) => {
      const accounts = await accountsOf(tx, entry.transfers)
      const [fit] = await fitting(tx, [entry], accounts)
      if (fit !== undefined && fit !== true) throw insufficientFunds(fit, undefined)
      await enterMany(tx, [entry], accounts)
    },
    settleMany: async (tx, ends, entries, judged) => {
      const ended = ends.length > 0 ? await toEnds(tx, ends) : nothing
      const movements = entries.flatMap(({ transfers }) => transfers)
      const entered = entries.length > 0 ? await toTransfers(tx, entries, await accountsOf(tx, movements)) : nothing
      const judgedBy = judged === undefined ? undefined : judgedOf(entries, entered.transfers, judged)
      const transfers = [...ended.transfers, ...entered.transfers]
      const segregated = new Set([...ended.segregated, ...entered.segregated])
      if (transfers.length > 0) write(tx, { transfers, segregated }, judgedBy)
    },
  }
}

/** Transfers to write, and the ids of the segregated balances among their accounts. */
type Written = { readonly transfers: readonly store.NewTransfer[]; readonly segregated: ReadonlySet<string> }
const nothing: Written = { transfers: [], segregated: new Set() }

/** A reserve never changes, so that it is read without a lock. The transfer with the id of the entry is its first one. */
async function toEnds(tx: Tx, ends: readonly EntryEnd[]): Promise<Written> {
  const keys = ends.map(({ partnerId, entryId: id }) => ({ partnerId, id }))
  const firsts = new Map((await store.transfersById(tx, keys)).map((row) => [keyOf(row), row]))
  const several = keys.filter((key) => (firsts.get(keyOf(key))?.entryId ?? null) !== null)
  const ofEntries = several.length > 0 ? await store.transfersOfEntries(tx, several, entryTransfersMax) : []
  const byEntry = Map.groupBy(ofEntries, ({ partnerId, entryId }) => partnerKey(partnerId, entryId ?? ''))
  const segregated = new Set<string>()
  const transfers = ends.flatMap(({ partnerId, entryId, kind }) => {
    const key = partnerKey(partnerId, entryId)
    const first = present(firsts.get(key), 'an entry that is ended exists')
    assert(first.entryId === null || first.entryId === entryId, 'an entry is ended as a whole, by its own id')
    const reserves = (byEntry.get(key) ?? [first]).filter((transfer) => transfer.kind === 'reserve')
    assert(reserves.length > 0, 'only a reserve is posted or released')
    return reserves.map(({ debitSegregated, creditSegregated, ...reserve }) => {
      if (debitSegregated === true) segregated.add(reserve.debitAccountId)
      if (creditSegregated === true) segregated.add(reserve.creditAccountId)
      return { ...reserve, id: newId(), kind, reserveId: reserve.id }
    })
  })
  return { transfers, segregated }
}

const keyOf = ({ partnerId, id }: store.TransferKey) => partnerKey(partnerId, id)

/** Adds the ids of the accounts to each transfer. Creates the accounts that do not exist yet. */
async function withAccountIds<T extends Movement>(
  tx: Tx,
  transfers: readonly T[],
  accounts: AccountSnapshots,
  create: CreateAccounts,
): Promise<{ readonly transfers: readonly (T & AccountIds)[]; readonly segregated: ReadonlySet<string> }> {
  const complete = findAccountIds(transfers, accounts)
  if (complete.length === transfers.length)
    return { transfers: complete, segregated: segregatedAmong(transfers, accounts) }
  const missing = accountsNamed(transfers).filter((account) => !accounts.has(mapKey(account)))
  const known = new Map([...accounts, ...(await create(tx, missing))])
  const all = findAccountIds(transfers, known)
  assert(all.length === transfers.length, 'the accounts of a transfer exist once they are created')
  return { transfers: all, segregated: segregatedAmong(transfers, known) }
}

/** The ids of the segregated balances that some movements change. */
const segregatedAmong = (movements: readonly Movement[], accounts: AccountSnapshots): ReadonlySet<string> =>
  new Set(
    accountsNamed(movements).flatMap((account) => {
      const snapshot = accounts.get(mapKey(account))
      return snapshot?.segregated === true ? [snapshot.id] : []
    }),
  )

type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }

/** The transfers whose two accounts are known, with the ids of these accounts. */
const findAccountIds = <T extends Movement>(transfers: readonly T[], accounts: AccountSnapshots) =>
  transfers.flatMap((transfer) => {
    const debitAccountId = accounts.get(mapKey(debitAccount(transfer)))?.id
    const creditAccountId = accounts.get(mapKey(creditAccount(transfer)))?.id
    if (debitAccountId === undefined || creditAccountId === undefined) return []
    return [{ ...transfer, debitAccountId, creditAccountId }]
  })

/** The `blocks` by which the entries of a balance were judged, by the id of the balance. */
type Judged = ReadonlyMap<string, number>

/**
 * Collects the judged blocks of the balances; other accounts have no state. A balance that did not exist when it was
 * judged had no blocks.
 */
function judgedOf(
  entries: readonly Entry[],
  transfers: readonly store.NewTransfer[],
  accounts: AccountSnapshots,
): Judged {
  const judged = new Map<string, number>()
  const movements = entries.flatMap((entry) => entry.transfers)
  const add = (account: AccountKey, id: string | undefined) => {
    if (account.name === 'balance' && id !== undefined) judged.set(id, accounts.get(mapKey(account))?.blocks ?? 0)
  }
  for (const [index, movement] of movements.entries()) {
    add(debitAccount(movement), transfers[index]?.debitAccountId)
    add(creditAccount(movement), transfers[index]?.creditAccountId)
  }
  return judged
}

/**
 * One change per account, whatever the number of transfers. A transfer between two parties adds up to zero on their balance, which is
 * locked all the same, because its mode is compared.
 */
function changesOf(
  transfers: readonly store.NewTransfer[],
  judged: Judged | undefined,
  segregated: ReadonlySet<string>,
): readonly store.AccountChange[] {
  const changes = new Map<string, { partnerId: string; id: string; posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, id: string, { posted, reserved }: Change) => {
    if (posted === 0n && reserved === 0n) return
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
  return [...changes.values()].map((change) => ({
    ...change,
    judgedAt: judged?.get(change.id) ?? null,
    segregated: segregated.has(change.id),
  }))
}
