/**
 * Writes entries, and posts or releases their reserves: a batch of any size needs one lock, one update and one insert.
 */
import { assert, type Minor, newId, partnerKey, present, type RowKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  accountsOfMovements,
  type AccountSnapshots,
  type BalanceChange,
  creditAccount,
  debitAccount,
  distinctAccounts,
  transferEffects,
  type Entry,
  type EntryRequest,
  entryTransfersMax,
  type FundsResult,
  fitsLimits,
  insufficientFunds,
  accountMapKey,
  type Movement,
  type PartyKey,
  partyMapKey,
  addChanges,
  type FundsShortage,
  findShortage,
  type TransferKind,
  entryTransfers,
} from './rules.ts'
import type { AccountKey } from './account-kinds.ts'
import { type CreateAccounts, createAccountCreator, type LedgerDeps, readAccounts } from './accounts.ts'
import { requirePermit } from './permits.ts'
import * as store from './store.ts'
import * as partyStore from './store-parties.ts'

export type Entries = {
  /** Reads the accounts of transfers without a lock. Accounts that do not exist are left out. */
  readonly accountsOf: (tx: Tx, movements: readonly Movement[]) => Promise<AccountSnapshots>
  /** Reads the sums of parties in the segregated balances among `accounts`, for the funds check. */
  readonly partiesOf: (tx: Tx, accounts: AccountSnapshots, parties: readonly PartyKey[]) => Promise<AccountSnapshots>
  /**
   * Locks the accounts of entries, and answers for each entry, in order, whether it fits as a whole. An entry that does
   * not fit leaves the funds to later ones. The same transaction must pass those that fit to `enterMany`.
   */
  readonly fittingUnderLock: (
    tx: Tx,
    requests: readonly EntryRequest[],
    accounts: AccountSnapshots,
  ) => Promise<readonly FundsResult[]>
  /**
   * Writes entries whose funds the caller has checked. If they do not fit, the commit fails by the constraint
   * `accounts_never_negative`. If the state of a balance has changed since `accounts` was read, the commit fails by the
   * constraint `accounts_judged_by_state`. Locks the accounts, and writes with the commit.
   */
  readonly enterMany: (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => Promise<void>
  /** Checks the funds under the lock, then writes the entry like `enterMany`. Refuses: insufficient_funds. */
  readonly enter: (tx: Tx, entry: Entry) => Promise<void>
  /**
   * Posts or releases the reserves of entries, and writes others like `enterMany`, under one lock of the accounts.
   * Doing so twice for an entry is a unique violation. With `judged`, the commit fails if the states in it have
   * changed, like that of `enterMany`. Writes with the commit.
   */
  readonly settleMany: (
    tx: Tx,
    ends: readonly EntryEnd[],
    entries: readonly Entry[],
    judged?: AccountSnapshots,
  ) => Promise<void>
}

/** End of all reserves of an entry: their money moves (`post`), or is available again (`release`). */
export type EntryEnd = {
  readonly partnerId: string
  readonly entryId: string
  readonly kind: Extract<TransferKind, 'post' | 'release'>
}

export function createEntries(opening: LedgerDeps): Entries {
  const { clock } = opening
  const createAccounts = createAccountCreator(opening)
  const { fitting } = createFundsJudge(createAccounts)

  const accountsOf = async (tx: Tx, movements: readonly Movement[]) =>
    movements.length === 0 ? new Map() : readAccounts(tx, accountsOfMovements(movements))

  const toTransfers = async (
    tx: Tx,
    entries: readonly Entry[],
    accounts: AccountSnapshots,
  ): Promise<WrittenTransfers> => {
    for (const entry of entries) requirePermit(entry)
    const { transfers, segregated } = await withAccountIds(
      tx,
      entries.flatMap(entryTransfers),
      accounts,
      createAccounts,
    )
    return { transfers: transfers.map((transfer): store.NewTransfer => ({ ...transfer, reserveId: null })), segregated }
  }
  /**
   * Locks the accounts last, in the order of their ids, because every other writer waits for them until the commit. The
   * lock of a balance covers the accounts of its parties.
   */
  const write = (tx: Tx, { transfers, segregated }: WrittenTransfers, judged?: JudgedBlocks) => {
    const changes = sumAccountChanges(transfers, judged, segregated)
    store.insertTransfers(tx, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
    if (segregated.size > 0) changeParties(tx, transfers, segregated)
  }
  const enterMany = async (tx: Tx, entries: readonly Entry[], accounts: AccountSnapshots) => {
    if (entries.length === 0) return
    const written = await toTransfers(tx, entries, accounts)
    write(tx, written, collectJudged(entries, written.transfers, accounts))
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
      const judgedBy = judged === undefined ? undefined : collectJudged(entries, entered.transfers, judged)
      const transfers = [...ended.transfers, ...entered.transfers]
      const segregated = new Set([...ended.segregated, ...entered.segregated])
      if (transfers.length > 0) write(tx, { transfers, segregated }, judgedBy)
    },
  }
}

/** Transfers to write, and the ids of the segregated balances among their accounts. */
type WrittenTransfers = { readonly transfers: readonly store.NewTransfer[]; readonly segregated: ReadonlySet<string> }
const nothing: WrittenTransfers = { transfers: [], segregated: new Set() }

/** Reads the reserves of ends without a lock, because a reserve never changes. The first transfer has the id of the entry. */
async function toEnds(tx: Tx, ends: readonly EntryEnd[]): Promise<WrittenTransfers> {
  const keys = ends.map(({ partnerId, entryId: id }) => ({ partnerId, id }))
  const firsts = new Map((await store.transfersById(tx, keys)).map((row) => [keyOf(row), row]))
  const several = keys.filter((key) => (firsts.get(keyOf(key))?.entryId ?? null) !== null)
  const ofEntries = several.length > 0 ? await store.transfersOfEntries(tx, several, entryTransfersMax) : []
  const byEntry = Map.groupBy(ofEntries, ({ partnerId, entryId }) => partnerKey(partnerId, entryId ?? ''))
  const segregated = new Set<string>()
  const transfers = ends.flatMap(({ partnerId, entryId, kind }) => {
    const key = partnerKey(partnerId, entryId)
    const first = present(firsts.get(key), `no entry ${entryId} of partner ${partnerId} to ${kind}`)
    assert(first.entryId === null || first.entryId === entryId, `transfer ${entryId} is not the first of its entry`)
    const reserves = (byEntry.get(key) ?? [first]).filter((transfer) => transfer.kind === 'reserve')
    assert(reserves.length > 0, `entry ${entryId} has no reserve to ${kind}`)
    return reserves.map(({ debitSegregated, creditSegregated, ...reserve }) => {
      if (debitSegregated === true) segregated.add(reserve.debitAccountId)
      if (creditSegregated === true) segregated.add(reserve.creditAccountId)
      return { ...reserve, id: newId(), kind, reserveId: reserve.id }
    })
  })
  return { transfers, segregated }
}

const keyOf = ({ partnerId, id }: RowKey) => partnerKey(partnerId, id)

/** Adds the ids of the accounts to each transfer. Creates missing accounts. */
async function withAccountIds<T extends Movement>(
  tx: Tx,
  transfers: readonly T[],
  accounts: AccountSnapshots,
  create: CreateAccounts,
): Promise<{ readonly transfers: readonly (T & AccountIds)[]; readonly segregated: ReadonlySet<string> }> {
  const complete = findAccountIds(transfers, accounts)
  if (complete.length === transfers.length)
    return { transfers: complete, segregated: segregatedAmong(transfers, accounts) }
  const missing = accountsOfMovements(transfers).filter((account) => !accounts.has(accountMapKey(account)))
  const known = new Map([...accounts, ...(await create(tx, missing))])
  const all = findAccountIds(transfers, known)
  assert(all.length === transfers.length, 'an account of a transfer is missing after its creation')
  return { transfers: all, segregated: segregatedAmong(transfers, known) }
}

/** Finds the ids of the segregated balances that movements change. */
const segregatedAmong = (movements: readonly Movement[], accounts: AccountSnapshots): ReadonlySet<string> =>
  new Set(
    accountsOfMovements(movements).flatMap((account) => {
      const snapshot = accounts.get(accountMapKey(account))
      return snapshot?.segregated === true ? [snapshot.id] : []
    }),
  )

type AccountIds = { readonly debitAccountId: string; readonly creditAccountId: string }

/** Adds the ids of the accounts to the transfers whose two accounts are known. */
const findAccountIds = <T extends Movement>(transfers: readonly T[], accounts: AccountSnapshots) =>
  transfers.flatMap((transfer) => {
    const debitAccountId = accounts.get(accountMapKey(debitAccount(transfer)))?.id
    const creditAccountId = accounts.get(accountMapKey(creditAccount(transfer)))?.id
    if (debitAccountId === undefined || creditAccountId === undefined) return []
    return [{ ...transfer, debitAccountId, creditAccountId }]
  })

/** Value of `blocks` when the entries of a balance were checked, by the id of the balance. */
type JudgedBlocks = ReadonlyMap<string, number>

/**
 * Collects the values of `blocks` at the check of the balances; other accounts have no state. A balance that did not
 * exist at the check had no blocks.
 */
function collectJudged(
  entries: readonly Entry[],
  transfers: readonly store.NewTransfer[],
  accounts: AccountSnapshots,
): JudgedBlocks {
  const judged = new Map<string, number>()
  const movements = entries.flatMap((entry) => entry.transfers)
  const add = (account: AccountKey, id: string | undefined) => {
    if (account.name === 'balance' && id !== undefined)
      judged.set(id, accounts.get(accountMapKey(account))?.blocks ?? 0)
  }
  for (const [index, movement] of movements.entries()) {
    add(debitAccount(movement), transfers[index]?.debitAccountId)
    add(creditAccount(movement), transfers[index]?.creditAccountId)
  }
  return judged
}

/**
 * Sums one change per account for any number of transfers. A transfer between two parties adds up to zero on their
 * balance, which is locked nevertheless, because its mode is compared.
 */
function sumAccountChanges(
  transfers: readonly store.NewTransfer[],
  judged: JudgedBlocks | undefined,
  segregated: ReadonlySet<string>,
): readonly store.AccountChange[] {
  const changes = new Map<string, { partnerId: string; id: string; posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, id: string, { posted, reserved }: BalanceChange) => {
    if (posted === 0n && reserved === 0n) return
    const change = changes.get(id)
    if (change === undefined) changes.set(id, { partnerId, id, posted, reserved })
    else {
      change.posted += posted
      change.reserved += reserved
    }
  }
  for (const { partnerId, kind, amount, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = transferEffects(kind, amount)
    add(partnerId, debitAccountId, debit)
    add(partnerId, creditAccountId, credit)
  }
  return [...changes.values()].map((change) => ({
    ...change,
    judgedAt: judged?.get(change.id) ?? null,
    segregated: segregated.has(change.id),
  }))
}

// Decides under the lock which entries fit the balances of their accounts.

/** Net change of an entry on each account, or for each party of a balance, by its key. */
type NetChanges = ReadonlyMap<string, NetChange>
type NetChange = { readonly account: AccountKey; readonly partyId?: string; readonly change: BalanceChange }

const zero: BalanceChange = { posted: 0n, reserved: 0n }

function createFundsJudge(createAccounts: CreateAccounts) {
  return {
    /**
     * Locks every account of the entries in the order of the ids. Answers for each entry, in order, whether it fits as
     * a whole.
     */
    fitting: async (
      tx: Tx,
      requests: readonly EntryRequest[],
      accounts: AccountSnapshots,
    ): Promise<readonly FundsResult[]> => {
      if (requests.length === 0) return []
      const changes = requests.map(netChanges)
      const impossible = await createMissing(tx, requests, changes, accounts, createAccounts)
      const changed = changes.flatMap((each, index) => (impossible[index] ? [] : accountsIn(each)))
      if (changed.length === 0) return changes.map((_each, index) => impossible[index] ?? true)
      const locked = await store.lockAccountsByKey(tx, distinctAccounts(changed))
      const balances = new Map<string, BalanceChange>(locked.map((row) => [accountMapKey(row), row]))
      const ofParties = await partyChanges(tx, requests, locked, balances)
      return changes.map(
        (each, index) => impossible[index] ?? takeChanges(balances, new Map([...(ofParties[index] ?? []), ...each])),
      )
    },
  }
}

/** Adds the parties of the segregated balances to `balances`, and returns the changes of each request for them. */
async function partyChanges(
  tx: Tx,
  requests: readonly EntryRequest[],
  locked: Awaited<ReturnType<typeof store.lockAccountsByKey>>,
  balances: Map<string, BalanceChange>,
): Promise<readonly NetChanges[]> {
  const segregated = new Map(
    locked.flatMap((row) =>
      row.segregated === true
        ? [[accountMapKey(row), { id: row.id, available: 0n, segregated: true as const }] as const]
        : [],
    ),
  )
  if (segregated.size === 0) return []
  const changes = requests.map((request) => netPartyChanges(request, segregated))
  const parties = changes.flatMap((each) => [...each.values()].map(partyKeyOf))
  for (const [key, sums] of await partySums(tx, parties, segregated)) balances.set(key, sums)
  return changes
}

const partyKeyOf = ({ account: { partnerId, currency }, partyId = partnerId }: NetChange): PartyKey => ({
  partnerId,
  currency,
  partyId,
})

const accountsIn = (changes: NetChanges): readonly AccountKey[] => [...changes.values()].map(({ account }) => account)

/**
 * Creates the missing accounts of the entries before the lock. Creates none for an entry that takes from a missing
 * account that no entry of the batch fills, because a refusal writes nothing. Returns the shortage of that account.
 */
async function createMissing(
  tx: Tx,
  requests: readonly EntryRequest[],
  changes: readonly NetChanges[],
  accounts: AccountSnapshots,
  createAccounts: CreateAccounts,
): Promise<readonly (FundsShortage | undefined)[]> {
  const named = requests.map(({ transfers }) => accountsOfMovements(transfers))
  const unknown = distinctAccounts(named.flat().filter((account) => !accounts.has(accountMapKey(account))))
  if (unknown.length === 0) return []
  const found = await readAccounts(tx, unknown)
  const missing = new Set(unknown.map(accountMapKey).filter((key) => !found.has(key)))
  const fitsEmpty = ({ account, change }: NetChange) => fitsLimits(account.name, zero, change)
  const empty = new Set(missing)
  for (const each of changes) for (const [key, change] of each) if (fitsEmpty(change)) empty.delete(key)
  const impossible = changes.map((each) => {
    const short = [...each].find(([key, change]) => empty.has(key) && !fitsEmpty(change))
    return short && { currency: short[1].account.currency, available: 0n }
  })
  const needed = named.flatMap((each, index) => (impossible[index] ? [] : each))
  const created = distinctAccounts(needed.filter((account) => missing.has(accountMapKey(account))))
  if (created.length > 0) await createAccounts(tx, created)
  return impossible
}

const netChanges = (request: EntryRequest): NetChanges =>
  sumChangesBy(request, (account) => ({ key: accountMapKey(account), account }))

/** Sums the changes for the parties of segregated balances. */
const netPartyChanges = (request: EntryRequest, segregated: AccountSnapshots): NetChanges =>
  sumChangesBy(request, (account, partyId) => {
    const { partnerId, currency } = account
    const key = partyMapKey({ partnerId, currency, partyId })
    return segregated.has(accountMapKey(account)) ? { key, account, partyId } : undefined
  })

/** Sums the changes of the transfers. `place`: the key of a change. Undefined: the change does not count. */
function sumChangesBy(
  { transfers }: EntryRequest,
  place: (account: AccountKey, partyId: string) => (Omit<NetChange, 'change'> & { readonly key: string }) | undefined,
): NetChanges {
  const changes = new Map<string, NetChange>()
  const add = (account: AccountKey, partyId: string, change: BalanceChange) => {
    if (change.posted === 0n && change.reserved === 0n) return
    const found = place(account, partyId)
    if (found === undefined) return
    const { key, ...where } = found
    changes.set(key, { ...where, change: addChanges(changes.get(key)?.change ?? zero, change) })
  }
  for (const transfer of transfers) {
    const { debit, credit } = transferEffects(transfer.kind, transfer.amount)
    add(debitAccount(transfer), transfer.partyId, debit)
    add(creditAccount(transfer), transfer.partyId, credit)
  }
  return changes
}

/** Applies the changes of an entry to the balances if all of them fit. */
function takeChanges(balances: Map<string, BalanceChange>, changes: NetChanges): FundsResult {
  const balanceOf = (key: string) => balances.get(key) ?? zero
  for (const [key, { account, partyId, change }] of changes) {
    const { posted, reserved } = balanceOf(key)
    if (!fitsLimits(account.name, { posted, reserved }, change))
      return findShortage(account, partyId, posted - reserved)
  }
  for (const [key, { change }] of changes) balances.set(key, addChanges(balanceOf(key), change))
  return true
}

// Subsidiary accounts of a segregated balance: one for each customer, and one for the partner itself. The balance is
// their control account: it has their sum. They change with its transfers, under its lock, and never fall below their
// reserved part.

/** Writes the changes of the accounts of parties. Creates missing accounts. */
function changeParties(tx: Tx, transfers: readonly store.NewTransfer[], segregated: ReadonlySet<string>): void {
  const changes = new Map<string, partyStore.PartyChange & { posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, accountId: string, partyId: string, { posted, reserved }: BalanceChange) => {
    if (!segregated.has(accountId) || (posted === 0n && reserved === 0n)) return
    const key = partnerKey(accountId, partyId)
    const change = changes.get(key)
    if (change === undefined) changes.set(key, { partnerId, accountId, partyId, posted, reserved })
    else {
      change.posted += posted
      change.reserved += reserved
    }
  }
  for (const { partnerId, kind, amount, partyId, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = transferEffects(kind, amount)
    add(partnerId, debitAccountId, partyId, debit)
    add(partnerId, creditAccountId, partyId, credit)
  }
  const changed = [...changes.values()]
  if (changed.length === 0) return
  partyStore.ensurePartyAccounts(tx, changed)
  partyStore.changePartyAccounts(tx, changed)
}

/**
 * Reads the parties of the segregated balances among `accounts`, as snapshots under `partyMapKey`. A party without an
 * account is absent. Pooled balances need no statement.
 */
async function readParties(
  tx: Tx,
  accounts: AccountSnapshots,
  parties: readonly PartyKey[],
): Promise<AccountSnapshots> {
  const sums = await partySums(tx, parties, accounts)
  return new Map([...sums].map(([key, { posted, reserved }]) => [key, { id: key, available: posted - reserved }]))
}

/** Reads the sums of parties of segregated balances, by `partyMapKey`. They cannot change under the lock of the balances. */
async function partySums(
  tx: Tx,
  parties: readonly PartyKey[],
  balances: AccountSnapshots,
): Promise<Map<string, BalanceChange>> {
  const asked = partyAccounts(balances, parties)
  if (asked.length === 0) return new Map()
  const rows = await partyStore.readParties(
    tx,
    asked.map(({ account }) => account),
  )
  const found = new Map(rows.map((row) => [partnerKey(row.accountId, row.partyId), row]))
  return new Map(
    asked.flatMap(({ key, account: { accountId, partyId } }) => {
      const row = found.get(partnerKey(accountId, partyId))
      return row === undefined ? [] : [[key, { posted: row.posted, reserved: row.reserved }] as const]
    }),
  )
}

type PartyAccount = { readonly key: string; readonly account: partyStore.PartyAccountKey }

/** Lists the accounts of parties in segregated balances, each once. */
function partyAccounts(balances: AccountSnapshots, parties: readonly PartyKey[]): readonly PartyAccount[] {
  const asked = new Map<string, PartyAccount>()
  for (const party of parties) {
    const balance = balances.get(accountMapKey({ ...party, name: 'balance' }))
    if (balance?.segregated !== true) continue
    const { partnerId, partyId } = party
    const key = partyMapKey(party)
    asked.set(key, { key, account: { partnerId, accountId: balance.id, partyId } })
  }
  return [...asked.values()]
}
