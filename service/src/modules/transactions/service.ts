/** The verbs of transactions. The payments that move them (payouts, deposits) call them inside their own transaction. */
import type {
  ErrorKey,
  QueryOf,
  Rail,
  TimelineStep,
  TransactionCategory,
  TransactionDirection,
  TransactionType,
} from '@partner-payments/wire'
import { type Cursors, notFound, type Page, type Refusal } from '../../api/index.ts'
import { assert, type Clock, type Currency, type Minor, newId, present, timedText } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import { createBatcher, type Database, type Tx, withoutTransaction } from '../../postgres/index.ts'
import type { Customers } from '../customers/index.ts'
import { statusChanged } from './events.ts'
import { type FinalStatus, mayMove } from './rules.ts'
import * as store from './store.ts'

/** Party details of the document; what is undefined is absent. */
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
  /** Wished for by the partner; taken where it is free, else kept as `userReference`. */
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
}

export type Wish = Pick<NewTransaction, 'partnerId' | 'reference'>
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
  /** Which of the references that are wished for are taken: for `openMany`, and read before its transaction. */
  readonly taken: (tx: Tx, wanted: readonly Wish[]) => Promise<TakenReferences>
  /**
   * Opens many, each Pending; of two that wish for one reference the first has it. Written with the commit; a reference
   * that somebody has taken since is a unique violation.
   */
  readonly openMany: (tx: Tx, wanted: readonly NewTransaction[], taken: TakenReferences) => readonly Opened[]
  /** Notes steps of a transaction that stays Pending. */
  readonly note: (tx: Tx, partnerId: string, id: string, ...steps: readonly TimelineStep[]) => Promise<void>
  /** `note` and `conclude`, for many transactions, each named once. */
  readonly moveMany: (tx: Tx, moves: readonly Move[]) => Promise<void>
  /** Moves Pending to its final status and writes `transaction.status.changed`. Any other move is an AssertionFailure. */
  readonly conclude: (tx: Tx, partnerId: string, id: string, conclusion: ConclusionRequest) => Promise<void>
  /** Notes a step after the end (a return); the status stays what it is. */
  readonly noteAfterEnd: (tx: Tx, partnerId: string, id: string, step: TimelineStep) => Promise<void>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, reference: string) => Promise<TransactionView>
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
export type Move = store.TransactionKey & { readonly steps: readonly TimelineStep[]; readonly conclusion?: Conclusion }
export type Conclusion = Omit<ConclusionRequest, 'steps'>

/** 60 random bits within a millisecond. */
const ownReferenceRandomChars = 12
const readsPerBatchMax = 64
const readsUnderWayMax = 4
const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))

export function createTransactions(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  /** The database is sharded by partner: a batch is of one. */
  readonly sharded?: boolean
}): Transactions {
  const { db, clock, cursors, eventOutbox, customers } = deps
  // Reads that wait share a statement, which needs no transaction.
  const find = createBatcher({
    db: withoutTransaction(db),
    work: findMany,
    callsMax: readsPerBatchMax,
    batchesMax: readsUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
    sharded: deps.sharded,
  })

  const moveMany = async (tx: Tx, moves: readonly Move[]) => {
    if (moves.length === 0) return
    const now = clock.now()
    const changes = moves.map(({ partnerId, id, steps, conclusion }): store.TransactionMove => {
      const { status = 'Pending', errorKey = null, debtor } = conclusion ?? {}
      assert(status === 'Pending' || mayMove('Pending', status), `a payment cannot make its transaction ${status}`)
      const updatedAt = conclusion ? now : null
      return { partnerId, id, status, errorKey, debtor: json(debtor), entries: entries(steps, status, now), updatedAt }
    })
    const moved = new Map((await store.moveTransactions(tx, changes)).map((row) => [keyText(row), row]))
    const rows = moves.map((move) => present(moved.get(keyText(move)), 'the transaction of a payment is Pending'))
    eventOutbox.appendMany(
      tx,
      moves.flatMap(({ partnerId, conclusion }, index) => {
        if (!conclusion) return []
        const row = present(rows[index], 'one row each')
        const data = statusChanged(row, conclusion.status, conclusion.customFields ?? null)
        return [{ partnerId, type: 'transaction.status.changed' as const, occurredAt: now, data }]
      }),
    )
  }

  const taken = async (tx: Tx, wanted: readonly Wish[]): Promise<TakenReferences> => {
    const wishes = wanted.flatMap(({ partnerId, reference }) => (reference === null ? [] : [{ partnerId, reference }]))
    if (wishes.length === 0) return new Set()
    return new Set((await store.referencesTaken(tx, wishes)).map(wishKey))
  }

  const openMany = (tx: Tx, wanted: readonly NewTransaction[], known: TakenReferences): readonly Opened[] => {
    if (wanted.length === 0) return []
    const now = clock.now()
    const given = new Set(known)
    const rows = wanted.map((each) => {
      const { reference } = each
      if (reference === null) return { ...toRow(each, now), reference: ownReference() }
      const key = wishKey({ partnerId: each.partnerId, reference })
      if (given.has(key)) return { ...toRow(each, now), reference: ownReference(), userReference: reference }
      given.add(key)
      return { ...toRow(each, now), reference }
    })
    store.insertTransactions(tx, rows)
    return rows.map(({ id, reference }) => ({ id, reference }))
  }

  return {
    open: async (tx, transaction) =>
      present(openMany(tx, [transaction], await taken(tx, [transaction]))[0], 'one wish, one transaction'),
    taken,
    openMany,
    note: (tx, partnerId, id, ...steps) => moveMany(tx, [{ partnerId, id, steps }]),
    moveMany,
    conclude: (tx, partnerId, id, { steps, ...conclusion }) => moveMany(tx, [{ partnerId, id, steps, conclusion }]),
    noteAfterEnd: async (tx, partnerId, id, step) => {
      const row = await store.lockTransaction(tx, partnerId, id)
      const { status } = present(row, 'the transaction of a payment exists')
      assert(status !== 'Pending', 'a return follows an end')
      await store.appendToTimeline(tx, partnerId, id, entries([step], status, clock.now()))
    },
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
        createdFrom: query.createdFrom ?? null,
        createdTo: query.createdTo ?? null,
      }
      const rows = await store.listTransactions(db, partnerId, filter, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows.map(view))
    },
  }
}

/** Refuses: not_found, each for itself. */
async function findMany(
  tx: Tx,
  wanted: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly (store.TransactionRow | Refusal)[]> {
  const rows = await store.transactionsByReference(tx, wanted)
  const byKey = new Map(rows.map((row) => [wishKey(row), row]))
  return wanted.map((key) => byKey.get(wishKey(key)) ?? notFound('transaction'))
}

const ownReference = () => `txn_${timedText(ownReferenceRandomChars)}`
const wishKey = ({ partnerId, reference }: { readonly partnerId: string; readonly reference: string }) =>
  `${partnerId} ${reference}`
const keyText = ({ partnerId, id }: store.TransactionKey) => `${partnerId} ${id}`
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
    method: 'Fiat',
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
    timeline: entries(transaction.steps, 'Pending', now),
    createdAt: now,
    updatedAt: now,
  }
}
