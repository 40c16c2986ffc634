/**
 * Checks which entries of a batch fit the balances. While the balances are ample, the check decides without a lock.
 * Otherwise it waits for the earlier batches, locks the balances and decides on them.
 *
 * Invariant: the batches that one process admits without a lock fit together, in any order of their commits. The
 * constraint `accounts_never_negative` covers everything else. README.md has the proof and the failure cases.
 */
import type { Minor } from '../kernel/index.ts'
import type { BatchPosition, Tx } from '../postgres/index.ts'
import {
  type AccountSnapshots,
  debitAccount,
  type EntryRequest,
  type FundsResult,
  accountMapKey,
  partyMapKey,
  findShortage,
} from './rules.ts'
import { type AccountKey, accountKind } from './account-kinds.ts'
import type { Entries } from './entries.ts'

/**
 * Requested amounts by account, for accounts with a lower limit, and by party of segregated balances. Credits of an
 * entry do not count.
 */
type RequestedTotals = ReadonlyMap<string, Minor>

/** Batch whose check has begun, linked to the batch whose check began next. */
type CheckedBatch = { readonly totals: RequestedTotals; next: CheckedBatch | undefined }

/** Moment before a batch reads its balances. */
export type ReadMark = { readonly underWay: readonly CheckedBatch[]; readonly lastChecked: CheckedBatch }

/** Balances that a batch has read, and the mark that was set before the read. */
export type BalancesSnapshot = { readonly accounts: AccountSnapshots; readonly mark: ReadMark }

export type FundsCheck = {
  /** Marks the moment. Must be called before the statement that reads the balances is sent. */
  readonly markRead: () => ReadMark
  /**
   * Reports whether the whole batch fits without a lock. Registers its amounts, which every later check then counts, so
   * a caller calls this once for each batch. False for a batch without a position.
   */
  readonly isAmple: (
    requests: readonly EntryRequest[],
    read: BalancesSnapshot,
    position: BatchPosition | undefined,
  ) => boolean
  /**
   * Answers for each request whether it fits. A request that does not fit leaves the funds to later requests. A batch
   * without a position (a rerun) always locks.
   */
  readonly check: (
    tx: Tx,
    requests: readonly EntryRequest[],
    read: BalancesSnapshot,
    position: BatchPosition | undefined,
  ) => Promise<readonly FundsResult[]>
}

export function createFundsCheck(ledger: { readonly fittingUnderLock: Entries['fittingUnderLock'] }): FundsCheck {
  const underWay = new Set<CheckedBatch>()
  let lastChecked: CheckedBatch = { totals: new Map(), next: undefined }

  const register = (totals: RequestedTotals, position: BatchPosition) => {
    const batch: CheckedBatch = { totals, next: undefined }
    lastChecked.next = batch
    lastChecked = batch
    underWay.add(batch)
    void position.ended.then(() => underWay.delete(batch))
  }

  const isAmple: FundsCheck['isAmple'] = (requests, { accounts, mark }, position) => {
    if (position === undefined) return false
    const totals = sumRequests(requests, accounts)
    const isCovered = covers(accounts, totals, possiblyMissing(mark))
    // Runs in the same turn of the event loop as the decision, so that every later check counts this batch.
    register(totals, position)
    return isCovered
  }

  return {
    markRead: () => ({ underWay: [...underWay], lastChecked }),
    isAmple,
    check: async (tx, requests, read, position) => {
      if (isAmple(requests, read, position)) return requests.map(() => true)
      await position?.earlierEnded
      // The balances stay locked until the commit: everything else must be read before.
      return ledger.fittingUnderLock(tx, requests, read.accounts)
    },
  }
}

function sumRequests(requests: readonly EntryRequest[], accounts: AccountSnapshots): RequestedTotals {
  const totals = new Map<string, Minor>()
  const add = (key: string, amount: Minor) => totals.set(key, (totals.get(key) ?? 0n) + amount)
  for (const { transfers } of requests)
    for (const transfer of transfers) for (const { key } of limitedSums(transfer, accounts)) add(key, transfer.amount)
  return totals
}

type LimitedSum = { readonly key: string; readonly account: AccountKey; readonly partyId?: string }

/**
 * Lists the sums that a transfer debits and that must not fall below zero: first the party's part, which is smaller.
 */
function limitedSums(transfer: EntryRequest['transfers'][number], accounts: AccountSnapshots): readonly LimitedSum[] {
  if (accountKind(transfer.debit).mayFallBelowZero) return []
  const account = debitAccount(transfer)
  const key = accountMapKey(account)
  if (accounts.get(key)?.segregated !== true) return [{ key, account }]
  const { partyId } = transfer
  return [
    { key: partyMapKey({ ...account, partyId }), account, partyId },
    { key, account },
  ]
}

/** Reports whether the read balances cover an entry: the first check of a batch. */
export function checkReadBalances(accounts: AccountSnapshots, request: EntryRequest): FundsResult {
  const totals = sumRequests([request], accounts)
  const availableIn = (key: string) => accounts.get(key)?.available ?? 0n
  const short = request.transfers
    .flatMap((transfer) => limitedSums(transfer, accounts))
    .find(({ key }) => availableIn(key) < (totals.get(key) ?? 0n))
  return short === undefined || findShortage(short.account, short.partyId, availableIn(short.key))
}

/** Reports whether the balance that an entry debits is segregated. Undefined: the balance does not exist yet. */
export function isSegregated(accounts: AccountSnapshots, { transfers: [transfer] }: EntryRequest): boolean | undefined {
  const account = transfer && accounts.get(accountMapKey(debitAccount(transfer)))
  return account && account.segregated === true
}

/** Lists the batches whose reserves may be missing from the balances: those under way at the mark, and those checked since. */
function possiblyMissing({ underWay, lastChecked }: ReadMark): readonly CheckedBatch[] {
  const missing = [...underWay]
  for (let batch = lastChecked.next; batch !== undefined; batch = batch.next) missing.push(batch)
  return missing
}

/** Reports whether each balance covers `totals` and every batch that may be missing. An unknown account covers nothing. */
function covers(accounts: AccountSnapshots, totals: RequestedTotals, missing: readonly CheckedBatch[]): boolean {
  return [...totals].every(([key, total]) => {
    const uncounted = missing.reduce((sum, batch) => sum + (batch.totals.get(key) ?? 0n), 0n)
    return (accounts.get(key)?.available ?? 0n) >= total + uncounted
  })
}
