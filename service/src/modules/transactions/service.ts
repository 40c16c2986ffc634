/** The verbs of transactions. Payments (payouts, deposits) call them inside their own database transaction. */
import type {
  ErrorKey,
  QueryOf,
  Rail,
  TimelineStep,
  TransactionCategory,
  TransactionDirection,
  TransactionType,
} from '@partner-payments/wire'
import { type Cursors, notFound, type Page, readTime, type Refusal } from '../../api/index.ts'
import {
  assert,
  type Clock,
  currencies,
  type Currency,
  type Minor,
  newId,
  partnerKey,
  present,
  timedText,
} from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import { createBatcher, type Database, type Tx, withoutTransaction } from '../../postgres/index.ts'
import type { Customers } from '../customers/index.ts'
import { statusChanged } from './events.ts'
import { type FinalStatus, mayMove } from './rules.ts'
import * as store from './store.ts'

/** Party details of the interface document. An undefined field is absent. */
export type Party = {
  readonly accountHolderName?: string
  readonly iban?: string
  readonly bic?: string
  readonly bankName?: string
  readonly address?: string
  readonly country?: string
  readonly walletAddress?: string
}

export type NewTransaction = {
  readonly partnerId: string
  /** The partner's request. The transaction gets it when it is free, and else keeps it as `userReference`. */
  readonly reference: string | null
  readonly amount: Minor
  readonly currency: Currency
  readonly category: TransactionCategory
  readonly direction: TransactionDirection
  readonly type: TransactionType
  readonly rail: Rail | null
  readonly customerId: string | null
  readonly steps: readonly TimelineStep[]
  readonly beneficiary?: { readonly id: string; readonly alias: string | null }
  readonly endToEndId?: string
  readonly sessionId?: string
  readonly websiteReference?: string | null
  readonly idempotencyKey?: string | null
  readonly description?: string
  readonly originatingReference?: string
  readonly creditor?: Party
  readonly debtor?: Party
  readonly partnerUser?: { readonly id: string; readonly name: string; readonly ipAddress: string }
  readonly exchange?: Exchange
  readonly transactionHash?: string
}

/** What the customer pays or receives in another currency than `currency`, and until when the quote of the exchange was valid. */
export type Exchange = { readonly userAmount: Minor; readonly userCurrency: Currency; readonly quoteExpiresAt: Date }

export type RequestedReference = Pick<NewTransaction, 'partnerId' | 'reference'>
/** By `partnerKey(partnerId, reference)`. */
export type TakenReferences = ReadonlySet<string>
export type Opened = { readonly id: string; readonly reference: string }
export type TransactionView = {
  readonly row: store.TransactionRow
  readonly timeline: readonly store.TimelineEntry[]
  readonly id: string
}

export type Transactions = {
  /** Opens a Pending transaction. */
  readonly open: (tx: Tx, transaction: NewTransaction) => Promise<Opened>
  /** The requested references that are taken, for `openMany`. Needs no lock. */
  readonly taken: (tx: Tx, requested: readonly RequestedReference[]) => Promise<TakenReferences>
  /**
   * Opens Pending transactions, and writes with the commit. Of two that request one reference the first gets it. A reference
   * that another transaction took since `taken` is a unique violation.
   */
  readonly openMany: (tx: Tx, transactions: readonly NewTransaction[], taken: TakenReferences) => readonly Opened[]
  /** Writes transactions that are Completed at once, as `openMany` and their conclusion with `steps` would, with one write. */
  readonly completeMany: (
    tx: Tx,
    transactions: readonly NewTransaction[],
    taken: TakenReferences,
    steps: readonly TimelineStep[],
  ) => readonly Opened[]
  /** Adds steps to Pending transactions, and moves those with a conclusion as `conclude`. Each transaction may occur once. */
  readonly moveMany: (tx: Tx, moves: readonly Move[]) => Promise<void>
  /** Moves Pending to a final status and appends `transaction.status.changed`. Any other move is an AssertionFailure. */
  readonly conclude: (tx: Tx, partnerId: string, id: string, conclusion: ConclusionRequest) => Promise<void>
  /** Adds a step after the end (a return). The status stays the same. */
  readonly noteAfterEnd: (tx: Tx, partnerId: string, id: string, step: TimelineStep) => Promise<void>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, reference: string) => Promise<TransactionView>
  /**
   * The transactions created in a period, oldest first, as they stood at its end. What is only known at the end of a
   * payment (status, error, debtor, hash) is left out where that end came later.
   */
  readonly asOf: (filter: store.CreatedFilter) => AsyncGenerator<readonly TransactionView[]>
  /** Refuses: validation_failed (cursor). An unknown customer has no transactions. */
  readonly list: (partnerId: string, query: QueryOf<'listTransactions'>) => Promise<Page<TransactionView>>
}

export type ConclusionRequest = {
  readonly status: FinalStatus
  readonly steps: readonly TimelineStep[]
  readonly errorKey?: ErrorKey
  readonly debtor?: Party
  readonly customFields?: Record<string, unknown> | null
}

/** Without a conclusion the transaction stays Pending. */
export type Move = store.TransactionKey & {
  readonly steps: readonly TimelineStep[]
  readonly transactionHash?: string
  readonly conclusion?: Conclusion
}
export type Conclusion = Omit<ConclusionRequest, 'steps'>

/** 60 random bits within a millisecond. */
const ownReferenceRandomChars = 12
const readsPerBatchMax = 64
/** A page of a report: it is formatted in a few milliseconds. */
const rowsPerPageMax = 500
const readsUnderWayMax = 4

type TransactionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
}

export function createTransactions(deps: TransactionsDeps): Transactions {
  const { clock } = deps
  const { openMany, completeMany } = createOpening(deps)
  const moveMany = createMoveMany(deps)
  return {
    open: async (tx, transaction) => {
      const [opened] = openMany(tx, [transaction], await taken(tx, [transaction]))
      return present(opened, 'one transaction is opened')
    },
    taken,
    openMany,
    completeMany,
    moveMany,
    conclude: (tx, partnerId, id, { steps, ...conclusion }) => moveMany(tx, [{ partnerId, id, steps, conclusion }]),
    noteAfterEnd: async (tx, partnerId, id, step) => {
      const row = await store.lockTransaction(tx, partnerId, id)
      const { status } = present(row, 'the transaction of a payment exists')
      assert(status !== 'Pending', 'a return follows an end')
      const now = clock.now()
      await store.appendToTimeline(tx, { partnerId, id }, entries([step], status, now), now)
    },
    ...createReads(deps),
  }
}

async function taken(tx: Tx, requested: readonly RequestedReference[]): Promise<TakenReferences> {
  const keys = requested.flatMap(({ partnerId, reference }) => (reference === null ? [] : [{ partnerId, reference }]))
  if (keys.length === 0) return new Set()
  const rows = await store.referencesTaken(tx, keys)
  return new Set(rows.map(({ partnerId, reference }) => partnerKey(partnerId, reference)))
}

function createOpening({ clock, eventOutbox }: TransactionsDeps): Pick<Transactions, 'openMany' | 'completeMany'> {
  const insert = (tx: Tx, rows: readonly store.TransactionRow[]) => {
    if (rows.length > 0) store.insertTransactions(tx, rows)
    return rows.map(({ id, reference }) => ({ id, reference }))
  }
  return {
    openMany: (tx, transactions, taken) => insert(tx, toRows(transactions, taken, clock.now())),
    completeMany: (tx, transactions, taken, steps) => {
      const now = clock.now()
      const rows = toRows(transactions, taken, now).map((row) => completed(row, steps, now))
      const opened = insert(tx, rows)
      eventOutbox.appendMany(
        tx,
        rows.map((row) => {
          const data = statusChanged(row, row.status, null)
          return { partnerId: row.partnerId, type: 'transaction.status.changed' as const, occurredAt: now, data }
        }),
      )
      return opened
    },
  }
}

function toRows(
  transactions: readonly NewTransaction[],
  alreadyTaken: TakenReferences,
  now: Date,
): readonly store.TransactionRow[] {
  const taken = new Set(alreadyTaken)
  return transactions.map((transaction): store.TransactionRow => {
    const { partnerId, reference } = transaction
    const row = toRow(transaction, now)
    if (reference === null) return { ...row, reference: ownReference() }
    const key = partnerKey(partnerId, reference)
    if (taken.has(key)) return { ...row, reference: ownReference(), userReference: reference }
    taken.add(key)
    return { ...row, reference }
  })
}

function completed(row: store.TransactionRow, steps: readonly TimelineStep[], now: Date): store.TransactionRow {
  const opening = JSON.parse(row.timeline) as readonly store.TimelineEntry[]
  const ending = steps.map((step) => ({ step, status: 'Completed' as const, createdAt: now.toISOString() }))
  return { ...row, status: 'Completed', timeline: JSON.stringify([...opening, ...ending]) }
}

function createMoveMany({ clock, eventOutbox }: TransactionsDeps): Transactions['moveMany'] {
  return async (tx, moves) => {
    if (moves.length === 0) return
    const now = clock.now()
    const moved = await store.moveTransactions(
      tx,
      moves.map((move) => toStoreMove(move, now)),
    )
    const byKey = new Map(moved.map((row) => [partnerKey(row.partnerId, row.id), row]))
    const rows = moves.map(({ partnerId, id }) =>
      present(byKey.get(partnerKey(partnerId, id)), 'the transaction of a payment is Pending'),
    )
    eventOutbox.appendMany(
      tx,
      moves.flatMap(({ partnerId, conclusion }, index) => {
        if (!conclusion) return []
        const row = present(rows[index], 'each move has a row')
        const data = statusChanged(row, conclusion.status, conclusion.customFields ?? null)
        return [{ partnerId, type: 'transaction.status.changed' as const, occurredAt: now, data }]
      }),
    )
  }
}

function toStoreMove({ partnerId, id, steps, transactionHash, conclusion }: Move, now: Date): store.TransactionMove {
  const { status = 'Pending', errorKey = null, debtor } = conclusion ?? {}
  assert(status === 'Pending' || mayMove('Pending', status), `a payment cannot make its transaction ${status}`)
  return {
    partnerId,
    id,
    status,
    errorKey,
    debtor: json(debtor),
    transactionHash: transactionHash ?? null,
    entries: entries(steps, status, now),
    updatedAt: now,
  }
}

function createReads({ db, cursors, customers }: TransactionsDeps): Pick<Transactions, 'get' | 'list' | 'asOf'> {
  // Concurrent reads share one statement.
  const find = createBatcher({
    db: withoutTransaction(db),
    work: findMany,
    callsMax: readsPerBatchMax,
    batchesMax: readsUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return {
    asOf: (filter) => createdTransactions(db, filter),
    get: async (partnerId, reference) => view(await find({ partnerId, reference })),
    list: async (partnerId, query) => {
      const list = `transactions:${partnerId}`
      const request = cursors.read(list, query)
      const customerId = query.customerId === undefined ? null : await customers.idOf(db, partnerId, query.customerId)
      if (customerId === undefined) return cursors.page(list, request, [])
      const filter = {
        status: query.status ?? null,
        category: query.category ?? null,
        customerId,
        beneficiaryId: query.beneficiaryId ?? null,
        idempotencyKey: query.idempotencyKey ?? null,
        createdFrom: query.createdFrom === undefined ? null : readTime(query.createdFrom),
        createdTo: query.createdTo === undefined ? null : readTime(query.createdTo),
      }
      const rows = await store.listTransactions(db, partnerId, filter, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows.map(view))
    },
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

/** The timeline says what had happened before the moment. Its texts of one form sort like their times. */
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

/** Refuses: not_found, for each read alone. */
async function findMany(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly (store.TransactionRow | Refusal)[]> {
  const rows = await store.transactionsByReference(tx, keys)
  const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.reference), row]))
  return keys.map(({ partnerId, reference }) => byKey.get(partnerKey(partnerId, reference)) ?? notFound('transaction'))
}

const ownReference = () => `txn_${timedText(ownReferenceRandomChars)}`
const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))
const entries = (steps: readonly TimelineStep[], status: store.TimelineEntry['status'], now: Date) =>
  JSON.stringify(steps.map((step): store.TimelineEntry => ({ step, status, createdAt: now.toISOString() })))
const view = (row: store.TransactionRow): TransactionView => ({
  row,
  id: row.id,
  timeline: JSON.parse(row.timeline) as readonly store.TimelineEntry[],
})

function toRow(transaction: NewTransaction, now: Date): Omit<store.TransactionRow, 'reference'> {
  return {
    partnerId: transaction.partnerId,
    id: newId(),
    amount: transaction.amount,
    currency: transaction.currency,
    category: transaction.category,
    direction: transaction.direction,
    method: currencies[transaction.currency].method,
    partyType: transaction.customerId === null ? 'Partner' : 'Customer',
    type: transaction.type,
    status: 'Pending',
    errorKey: null,
    rail: transaction.rail,
    customerId: transaction.customerId,
    beneficiaryId: transaction.beneficiary?.id ?? null,
    beneficiaryAlias: transaction.beneficiary?.alias ?? null,
    endToEndId: transaction.endToEndId ?? null,
    sessionId: transaction.sessionId ?? null,
    websiteReference: transaction.websiteReference ?? null,
    userReference: null,
    idempotencyKey: transaction.idempotencyKey ?? null,
    description: transaction.description ?? null,
    originatingReference: transaction.originatingReference ?? null,
    creditor: json(transaction.creditor),
    debtor: json(transaction.debtor),
    partnerUser: json(transaction.partnerUser),
    userAmount: transaction.exchange?.userAmount ?? null,
    userCurrency: transaction.exchange?.userCurrency ?? null,
    fxQuoteExpiresAt: transaction.exchange?.quoteExpiresAt ?? null,
    transactionHash: transaction.transactionHash ?? null,
    timeline: entries(transaction.steps, 'Pending', now),
    createdAt: now,
    updatedAt: now,
  }
}
