/** Reads transactions: by reference, lists, changes, and a period as it stood at its end. */
import { ownJson, type QueryOf, type TransactionRelation } from '@partner-payments/wire'
import type { Audit } from '../audit/index.ts'
import {
  createReaders,
  type Cursors,
  notFound,
  type Page,
  parseTime,
  type Refusal,
  type Sums,
  sumRowsRead,
  capSums,
} from '../kernel/api/index.ts'
import { after, type Clock, nilId, partnerKey } from '../kernel/index.ts'
import { createBatcher, type Database, oldestTransactionStart, type Tx, withoutTransaction } from '../postgres/index.ts'
import {
  normaliseAccount,
  parseAmountRange,
  readAmounts,
  readChangePosition,
  prefixRange,
  classifyRelation,
  formatChangePosition,
} from './rules.ts'
import * as store from './store.ts'
import type { Customers, CustomerUser } from '../parties/customers/index.ts'
import type { EventOutbox } from '../events/index.ts'

type ListQuery = QueryOf<'listTransactions'>

/** The other transactions of a payment, oldest first. */
export type RelatedTransactions = {
  readonly transaction: TransactionView
  readonly related: readonly { readonly relation: TransactionRelation; readonly transaction: TransactionView }[]
}

export type TransactionReads = {
  /** Reads a transaction. Refuses: not_found. */
  readonly get: (partnerId: string, reference: string) => Promise<TransactionView>
  /** Finds a transaction in the caller's transaction. */
  readonly find: (tx: Tx, partnerId: string, reference: string) => Promise<store.TransactionRow | undefined>
  /** Reads a transaction like `get`, with its customer. Refuses: not_found. */
  readonly getWithUser: (partnerId: string, reference: string) => Promise<TransactionWithUser>
  /** Adds their customers to transactions, by one statement. */
  readonly withUsers: <V extends TransactionView>(views: readonly V[]) => Promise<readonly (V & TransactionWithUser)[]>
  /** Reads a transaction with the caller and request that created it. Refuses: not_found. */
  readonly timeline: (
    partnerId: string,
    reference: string,
  ) => Promise<{
    readonly transaction: TransactionView
    /** Undefined: an earlier version created the transaction without a record. */
    readonly maker: Awaited<ReturnType<Audit['makerOf']>>
  }>
  /** Finds withdrawals for the operator, newest first. */
  readonly withdrawalsLike: typeof store.findWithdrawals
  /** Reads the audit records of the steps, with signed heads. Refuses: not_found. */
  readonly proof: (partnerId: string, reference: string) => ReturnType<Audit['proof']>
  /** Reads the other transactions of the payment. Refuses: not_found. */
  readonly related: (partnerId: string, reference: string) => Promise<RelatedTransactions>
  /**
   * Reads the transactions created in a period, oldest first, as they stood at its end. Omits what was only known
   * later: final status, error, debtor and hash.
   */
  readonly asOf: (filter: store.CreatedFilter) => AsyncGenerator<readonly TransactionView[]>
  /** Reads parties and references of payments for statements, by reference. */
  readonly namesOf: (
    partnerId: string,
    references: readonly string[],
  ) => Promise<ReadonlyMap<string, store.PaymentNames>>
  /**
   * Lists transactions. An unknown customer has none. With `updatedSince` the last page has a cursor, too. Refuses:
   * validation_failed (cursor, currency, amountMin, amountMax).
   */
  readonly list: (partnerId: string, query: ListQuery) => Promise<Page<TransactionView>>
  /** Sums at most `sumRowsMax` transactions. Refuses: validation_failed (currency, amount, amountMin, amountMax). */
  readonly sums: (partnerId: string, query: QueryOf<'sumTransactions'>) => Promise<Sums<store.TransactionSum>>
}

const readsPerBatchMax = 64
const readsUnderWayMax = 4
/** A page of a report is formatted in a few milliseconds. */
const rowsPerPageMax = 500

/** A payment has few returns: a bank returns it as a whole or in a few parts. */
const relatedMax = 100

export function createReads(deps: TransactionsDeps): TransactionReads {
  const { db } = deps
  // Concurrent reads share one statement.
  const find = createBatcher({
    db: withoutTransaction(db),
    work: findMany,
    callsMax: readsPerBatchMax,
    batchesMax: readsUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
  })
  const addUser = createBatcher({
    db: withoutTransaction(db),
    work: (tx, views: readonly TransactionView[]) => withUsers(tx, deps.customers, views),
    callsMax: readsPerBatchMax,
    batchesMax: readsUnderWayMax,
    partnerOf: ({ row }) => row.partnerId,
  })
  const get = async (partnerId: string, reference: string) => toView(await find({ partnerId, reference }))
  return {
    find: async (tx, partnerId, reference) =>
      (await store.transactionsByReference(tx, [{ partnerId, reference }])).find((row) => row.reference === reference),
    getWithUser: async (partnerId, reference) => {
      const transaction = await get(partnerId, reference)
      return transaction.row.customerId === null ? { ...transaction, user: null } : addUser(transaction)
    },
    withUsers: (views) => withUsers(db, deps.customers, views),
    asOf: (filter) => createdTransactions(db, filter),
    get,
    timeline: async (partnerId, reference) => {
      const transaction = await get(partnerId, reference)
      // The record of an opening has the id of its transaction.
      return { transaction, maker: await deps.audit.makerOf(partnerId, transaction.id) }
    },
    withdrawalsLike: store.findWithdrawals,
    proof: async (partnerId, reference) => {
      const { timeline } = await get(partnerId, reference)
      const ids = new Set(timeline.flatMap(({ record }) => (record === undefined ? [] : [record])))
      return deps.audit.proof(partnerId, reference, [...ids])
    },
    related: async (partnerId, reference) => {
      const transaction = await get(partnerId, reference)
      const original = transaction.row.originatingReference ?? reference
      const rows = await store.transactionsOfPayment(db, partnerId, original, relatedMax)
      const others = rows.filter((row) => row.reference !== reference)
      return {
        transaction,
        related: others.map((row) => ({ relation: classifyRelation(row, original), transaction: toView(row) })),
      }
    },
    namesOf: async (partnerId, references) =>
      new Map((await store.paymentNames(db, partnerId, references)).map((names) => [names.reference, names])),
    list: (partnerId, query) =>
      query.updatedSince === undefined
        ? listCreated(deps, partnerId, query)
        : listChanged(deps, partnerId, query, parseTime(query.updatedSince)),
    sums: async (partnerId, query) => {
      const filter = await readFilter(deps, partnerId, query)
      return capSums(filter === undefined ? [] : await store.sumTransactions(db, partnerId, filter, sumRowsRead))
    },
  }
}

async function listCreated(
  deps: TransactionsDeps,
  partnerId: string,
  query: ListQuery,
): Promise<Page<TransactionView>> {
  const { db, cursors } = deps
  const list = `transactions:${partnerId}`
  const request = cursors.read(list, query)
  const filter = await readFilter(deps, partnerId, query)
  if (filter === undefined) return cursors.page(list, request, [])
  const rows = await store.listTransactions(db, partnerId, filter, request.afterId, request.limit + 1)
  return cursors.page(list, request, rows.map(toView))
}

/**
 * Changes are listed by their times, but an earlier change may commit later. The page ends before the earliest time of
 * an uncommitted change, so that no change appears behind a cursor.
 */
async function listChanged(
  deps: TransactionsDeps,
  partnerId: string,
  query: ListQuery,
  since: Date,
): Promise<Page<TransactionView>> {
  const { db, cursors } = deps
  const list = changesList(partnerId)
  const { limit, afterId } = cursors.read(list, query)
  const start = startPosition(afterId, since)
  const filter = await readFilter(deps, partnerId, query)
  const before = await certainUntil(deps)
  const rows =
    filter === undefined
      ? []
      : await store.transactionsChanged(db, partnerId, filter, { after: start, before }, limit + 1)
  const data = rows.slice(0, limit)
  return {
    data: data.map(toView),
    nextCursor: cursors.write(list, formatChangePosition(data.at(-1) ?? start)),
    hasMore: rows.length > limit,
  }
}

/** Reads the filters. Undefined: the customer or the currency is unknown, and no transaction matches. */
async function readFilter(
  { db, customers }: TransactionsDeps,
  partnerId: string,
  query: Omit<ListQuery, 'limit' | 'cursor' | 'updatedSince'>,
): Promise<store.TransactionFilter | undefined> {
  const amounts = parseAmountRange(query)
  const customerId = query.customerId === undefined ? null : await customers.resolveId(db, partnerId, query.customerId)
  if (customerId === undefined || amounts === undefined) return undefined
  const exact = readAmounts(query)
  if (exact?.length === 0) return undefined
  const { referencePrefix, createdFrom, createdTo, account } = query
  return {
    ...amounts,
    amounts: exact,
    account: account === undefined ? null : normaliseAccount(account),
    websiteReference: query.websiteReference ?? null,
    status: query.status ?? null,
    category: query.category ?? null,
    type: query.type ?? null,
    rail: query.rail ?? null,
    customerId,
    beneficiaryId: query.beneficiaryId ?? null,
    idempotencyKey: query.idempotencyKey ?? null,
    endToEndId: query.endToEndId ?? null,
    userReference: query.userReference ?? null,
    references: referencePrefix === undefined ? null : prefixRange(referencePrefix),
    payerName: query.payerName?.trim().replaceAll(/\s+/g, ' ') ?? null,
    createdFrom: createdFrom === undefined ? null : parseTime(createdFrom),
    createdTo: createdTo === undefined ? null : parseTime(createdTo),
  }
}

/** Reads pages of a period. Each page is a short statement, so that a long report keeps no transaction open. */
async function* createdTransactions(db: Database, filter: store.CreatedFilter) {
  for (let after: store.CreatedPosition | undefined; ;) {
    const rows = await store.transactionsCreated(db, filter, after, rowsPerPageMax)
    yield rows.map((row) => viewAt(toView(row), filter.to))
    after = rows.at(-1)
    if (rows.length < rowsPerPageMax) return
  }
}

/**
 * Computes a transaction as it stood at a moment, by its timeline. The times in a timeline have one form, so that they
 * sort as text.
 */
function viewAt({ row, timeline, id }: TransactionView, moment: Date): TransactionView {
  const end = moment.toISOString()
  const known = timeline.filter(({ createdAt }) => createdAt < end)
  const { status, createdAt } = known.at(-1) ?? { status: 'Pending' as const, createdAt: row.createdAt.toISOString() }
  const updatedAt = new Date(createdAt)
  if (status !== 'Pending') return { id, timeline: known, row: { ...row, status, updatedAt } }
  return {
    id,
    timeline: known,
    row: { ...row, status, updatedAt, errorKey: null, debtor: null, transactionHash: null },
  }
}

/** Refuses each read separately: not_found. */
async function findMany(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly (store.TransactionRow | Refusal)[]> {
  const rows = await store.transactionsByReference(tx, keys)
  const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.reference), row]))
  return keys.map(({ partnerId, reference }) => byKey.get(partnerKey(partnerId, reference)) ?? notFound('transaction'))
}

// Transaction as it is read: its row, its timeline parsed from JSON, and its customer.

export type TransactionView = {
  readonly row: store.TransactionRow
  readonly timeline: readonly store.TimelineEntry[]
  readonly id: string
}
/** User in the interface document: the customer, with the IP address from which it acted. */
type PartnerUser = CustomerUser & { readonly ipAddress?: string }
/** `user`: null for a transaction of the partner itself. */
export type TransactionWithUser = TransactionView & { readonly user: PartnerUser | null }

const toView = (row: store.TransactionRow): TransactionView => ({
  row,
  id: row.id,
  timeline: ownJson<readonly store.TimelineEntry[]>(row.timeline),
})

/** Reads the customers of transactions, in one statement. */
async function withUsers<V extends TransactionView>(
  tx: Tx,
  customers: Pick<Customers, 'usersByIds'>,
  views: readonly V[],
): Promise<readonly (V & TransactionWithUser)[]> {
  const keys = new Map(
    views.flatMap(({ row: { partnerId, customerId: id } }) =>
      id === null ? [] : [[partnerKey(partnerId, id), { partnerId, id }] as const],
    ),
  )
  const users = await customers.usersByIds(tx, [...keys.values()])
  return views.map((each) => ({ ...each, user: toUser(each.row, users) }))
}

function toUser(
  { partnerId, customerId, partnerUser }: store.TransactionRow,
  users: Awaited<ReturnType<Customers['usersByIds']>>,
): PartnerUser | null {
  const found = customerId === null ? undefined : users.get(partnerKey(partnerId, customerId))
  if (found === undefined) return null
  const { isErased, ...user } = found
  const { ipAddress = '' } = partnerUser === null ? {} : ownJson<{ readonly ipAddress?: string }>(partnerUser)
  return ipAddress === '' || isErased ? user : { ...user, ipAddress }
}

// Changes in the order of their times, for lists and streams. A changed transaction moves to the end. A cursor is given
// out only when no change can appear before it.

/** Identifies the list in its cursors. */
const changesList = (partnerId: string): string => `transaction-changes:${partnerId}`

/** Returns the start position: that of a cursor, or a time. */
const startPosition = (position: string | null, since: Date): store.ChangePosition =>
  position === null ? { updatedAt: since, id: nilId } : readChangePosition(position)

/** Returns the time before which all changes are committed, minus the largest difference of the clocks. */
const certainUntil = async ({ db, clockDifferenceMsMax }: TransactionsDeps): Promise<Date> =>
  after(await oldestTransactionStart(db), -clockDifferenceMsMax)

type TransactionChange = { readonly cursor: string; readonly transaction: TransactionView }
export type TransactionChanges = {
  /** Reads pages with short statements: a slow reader keeps no transaction open, and one page in memory. */
  readonly pages: () => AsyncGenerator<readonly TransactionChange[]>
  /** Called once, when the reader has finished or disconnected. */
  readonly closed: () => void
}
export type TransactionExports = {
  /**
   * Streams every transaction that has changed since a position, in its state when its page is read. Ends with the
   * changes that were certain at the start. Refuses: validation_failed (after), rate_limited (too many at once).
   */
  readonly changes: (
    partnerId: string,
    from: { readonly cursor?: string; readonly since?: Date },
  ) => Promise<TransactionChanges>
}

/** A page is formatted in a few milliseconds, and takes less than a megabyte. */
const changeRowsPerPageMax = 500
const firstMoment = new Date(0)

export function createExports(deps: TransactionsDeps): TransactionExports {
  const { db, cursors } = deps
  const enter = createReaders()
  return {
    changes: async (partnerId, { cursor, since = firstMoment }) => {
      const list = changesList(partnerId)
      const start = startPosition(cursor === undefined ? null : cursors.open(list, cursor, '/query/after'), since)
      const before = await certainUntil(deps)
      return {
        closed: enter(partnerId),
        pages: async function* () {
          for (let position = start; ;) {
            const page = { after: position, before }
            const rows = await store.transactionsChanged(db, partnerId, store.noFilter, page, changeRowsPerPageMax)
            if (rows.length > 0)
              yield rows.map((row) => ({
                cursor: cursors.write(list, formatChangePosition(row)),
                transaction: toView(row),
              }))
            if (rows.length < changeRowsPerPageMax) return
            position = rows.at(-1) ?? position
          }
        },
      }
    },
  }
}

export type TransactionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly audit: Pick<Audit, 'append' | 'proof' | 'makerOf'>
  /** Largest difference between the clocks of the processes and of the database. */
  readonly clockDifferenceMsMax: number
}
