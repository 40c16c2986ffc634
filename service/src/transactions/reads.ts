/** Reads of transactions: one by its reference, lists, changes, and a period as it stood at its end. */
import type { QueryOf, TransactionRelation } from '@partner-payments/wire'
import type { Audit } from '../audit/index.ts'
import { notFound, type Page, readTime, type Refusal } from '../kernel/api/index.ts'
import { partnerKey } from '../kernel/index.ts'
import { createBatcher, type Database, type Tx, withoutTransaction } from '../postgres/index.ts'
import { certainUntil, changesList, startOf } from './changes.ts'
import type { TransactionsDeps } from './deps.ts'
import { readAmountRange, referencesWith, relationOf, writeChangePosition } from './rules.ts'
import * as store from './store.ts'
import { type ShownTransaction, type TransactionView, view, withUsers } from './view.ts'

type ListQuery = QueryOf<'listTransactions'>

/** The other transactions of a payment, the oldest first. */
export type Related = {
  readonly transaction: TransactionView
  readonly related: readonly { readonly relation: TransactionRelation; readonly transaction: TransactionView }[]
}

export type Reads = {
  /** Refuses: not_found. */
  readonly get: (partnerId: string, reference: string) => Promise<TransactionView>
  /** Finds a transaction in the caller's transaction. */
  readonly find: (tx: Tx, partnerId: string, reference: string) => Promise<store.TransactionRow | undefined>
  /** Reads a transaction as `get` does, with its customer. Refuses: not_found. */
  readonly getShown: (partnerId: string, reference: string) => Promise<ShownTransaction>
  /** Adds their customers to the transactions of a page, by one statement. */
  readonly withUsers: <V extends TransactionView>(views: readonly V[]) => Promise<readonly (V & ShownTransaction)[]>
  /** A transaction with who created it, and by which request. Refuses: not_found. */
  readonly timeline: (
    partnerId: string,
    reference: string,
  ) => Promise<{
    readonly transaction: TransactionView
    /** Undefined: an earlier version created the transaction without a record. */
    readonly maker: Awaited<ReturnType<Audit['makerOf']>>
  }>
  /** Withdrawals that fit a search of the operator, newest first. */
  readonly withdrawalsLike: typeof store.withdrawalsLike
  /** The audit records of the steps, under signed heads. Refuses: not_found. */
  readonly proof: (partnerId: string, reference: string) => ReturnType<Audit['proof']>
  /** Refuses: not_found. */
  readonly related: (partnerId: string, reference: string) => Promise<Related>
  /**
   * The transactions created in a period, oldest first, as they stood at its end. What is only known at the end of a
   * payment (status, error, debtor, hash) is left out where that end came later.
   */
  readonly asOf: (filter: store.CreatedFilter) => AsyncGenerator<readonly TransactionView[]>
  /** Parties and references of payments for statements, by reference. */
  readonly namesOf: (
    partnerId: string,
    references: readonly string[],
  ) => Promise<ReadonlyMap<string, store.PaymentNames>>
  /**
   * Refuses: validation_failed (cursor, currency, amountMin, amountMax). An unknown customer has no transactions. With
   * `updatedSince` the page has a cursor also if it is the last one.
   */
  readonly list: (partnerId: string, query: ListQuery) => Promise<Page<TransactionView>>
}

const readsPerBatchMax = 64
const readsUnderWayMax = 4
/** A page of a report: it is formatted in a few milliseconds. */
const rowsPerPageMax = 500

/** A payment has a handful of returns: a bank sends it back as a whole or in a few parts. */
const relatedMax = 100

export function createReads(deps: TransactionsDeps): Reads {
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
  const get = async (partnerId: string, reference: string) => view(await find({ partnerId, reference }))
  return {
    find: async (tx, partnerId, reference) =>
      (await store.transactionsByReference(tx, [{ partnerId, reference }])).find((row) => row.reference === reference),
    getShown: async (partnerId, reference) => {
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
    withdrawalsLike: store.withdrawalsLike,
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
        related: others.map((row) => ({ relation: relationOf(row, original), transaction: view(row) })),
      }
    },
    namesOf: async (partnerId, references) =>
      new Map((await store.paymentNames(db, partnerId, references)).map((names) => [names.reference, names])),
    list: (partnerId, query) =>
      query.updatedSince === undefined
        ? listCreated(deps, partnerId, query)
        : listChanged(deps, partnerId, query, readTime(query.updatedSince)),
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
  return cursors.page(list, request, rows.map(view))
}

/**
 * Changes are listed in the order of their times, but an earlier one may commit later. The page ends before the time
 * from which a change may still be uncommitted, so that no change appears before a position that was given out.
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
  const start = startOf(afterId, since)
  const filter = await readFilter(deps, partnerId, query)
  const before = await certainUntil(deps)
  const rows =
    filter === undefined
      ? []
      : await store.transactionsChanged(db, partnerId, filter, { after: start, before }, limit + 1)
  const data = rows.slice(0, limit)
  return {
    data: data.map(view),
    nextCursor: cursors.write(list, writeChangePosition(data.at(-1) ?? start)),
    hasMore: rows.length > limit,
  }
}

/** Undefined: no transaction matches, because the customer or the currency is unknown. */
async function readFilter(
  { db, customers }: TransactionsDeps,
  partnerId: string,
  query: ListQuery,
): Promise<store.TransactionFilter | undefined> {
  const amounts = readAmountRange(query)
  const customerId = query.customerId === undefined ? null : await customers.idOf(db, partnerId, query.customerId)
  if (customerId === undefined || amounts === undefined) return undefined
  const { referencePrefix, createdFrom, createdTo } = query
  return {
    ...amounts,
    status: query.status ?? null,
    category: query.category ?? null,
    type: query.type ?? null,
    rail: query.rail ?? null,
    customerId,
    beneficiaryId: query.beneficiaryId ?? null,
    idempotencyKey: query.idempotencyKey ?? null,
    endToEndId: query.endToEndId ?? null,
    userReference: query.userReference ?? null,
    references: referencePrefix === undefined ? null : referencesWith(referencePrefix),
    createdFrom: createdFrom === undefined ? null : readTime(createdFrom),
    createdTo: createdTo === undefined ? null : readTime(createdTo),
  }
}

/** Each page is one short statement, so that a long report keeps no transaction open. */
async function* createdTransactions(db: Database, filter: store.CreatedFilter) {
  for (let after: store.CreatedPosition | undefined; ;) {
    const rows = await store.transactionsCreated(db, filter, after, rowsPerPageMax)
    yield rows.map((row) => viewAt(view(row), filter.to))
    after = rows.at(-1)
    if (rows.length < rowsPerPageMax) return
  }
}

/**
 * A transaction as it stood at a moment, by its timeline. The times in the timeline have one form, so that they sort as
 * texts.
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

/** Refuses: not_found, for each read separately. */
async function findMany(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly (store.TransactionRow | Refusal)[]> {
  const rows = await store.transactionsByReference(tx, keys)
  const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.reference), row]))
  return keys.map(({ partnerId, reference }) => byKey.get(partnerKey(partnerId, reference)) ?? notFound('transaction'))
}
