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
import {
  assert,
  type Clock,
  type Currency,
  type Cursors,
  type Minor,
  newId,
  notFound,
  type Page,
  present,
  randomText,
} from '../../kernel/index.ts'
import type { Outbox } from '../../outbox/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
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

export type Opened = { readonly id: string; readonly reference: string }
export type TransactionView = {
  readonly row: store.TransactionRow
  readonly timeline: readonly store.TimelineRow[]
  readonly id: string
}

export type Transactions = {
  /** Opens a Pending transaction. */
  readonly open: (tx: Tx, transaction: NewTransaction) => Promise<Opened>
  /** Opens many, each Pending; of two that wish for one reference the first has it. */
  readonly openMany: (tx: Tx, wanted: readonly NewTransaction[]) => Promise<readonly Opened[]>
  /** Notes steps of a transaction that stays Pending. */
  readonly note: (tx: Tx, partnerId: string, id: string, ...steps: readonly TimelineStep[]) => Promise<void>
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

const ownReferenceChars = 20
const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))

export function createTransactions(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly outbox: Outbox
  readonly customers: Customers
}): Transactions {
  const { db, clock, cursors, outbox, customers } = deps

  const lock = async (tx: Tx, partnerId: string, id: string) =>
    present(await store.lockTransaction(tx, partnerId, id), 'the transaction of a payment exists')

  const openMany = async (tx: Tx, wanted: readonly NewTransaction[]): Promise<readonly Opened[]> => {
    if (wanted.length === 0) return []
    const now = clock.now()
    const rows = wanted.map((each) => ({ ...toRow(each, now), reference: each.reference ?? ownReference() }))
    const inserted = await store.insertTransactions(tx, rows)
    const again = rows
      .filter((row) => !inserted.has(row.id))
      .map((row) => ({ ...row, reference: ownReference(), userReference: row.reference }))
    if (again.length > 0) {
      const second = await store.insertTransactions(tx, again)
      assert(second.size === again.length, 'a reference of 100 random bits is free')
    }
    const references = new Map([...rows, ...again].map((row) => [row.id, row.reference]))
    const beginnings = rows.map(({ partnerId, id: transactionId }, index) => ({
      partnerId,
      transactionId,
      steps: wanted[index]?.steps ?? [],
      createdAt: now,
    }))
    await store.insertTimelines(tx, beginnings)
    return rows.map(({ id }) => ({ id, reference: present(references.get(id), 'each was inserted') }))
  }

  const view = async (
    partnerId: string,
    rows: readonly store.TransactionRow[],
  ): Promise<readonly TransactionView[]> => {
    const entries = await store.timelines(
      db,
      partnerId,
      rows.map(({ id }) => id),
    )
    const byId = Map.groupBy(entries, (entry) => entry.transactionId)
    return rows.map((row) => ({ row, id: row.id, timeline: byId.get(row.id) ?? [] }))
  }

  return {
    open: async (tx, transaction) => present((await openMany(tx, [transaction]))[0], 'one wish, one transaction'),
    openMany,
    note: async (tx, partnerId, id, ...steps) => {
      const row = await lock(tx, partnerId, id)
      assert(row.status === 'Pending', `${row.reference} is ${row.status}: no further step`)
      await store.appendTimeline(tx, partnerId, id, pending(steps), clock.now())
    },
    conclude: async (tx, partnerId, id, { status, steps, errorKey = null, debtor, customFields = null }) => {
      const row = await lock(tx, partnerId, id)
      assert(mayMove(row.status, status), `${row.reference} is ${row.status}: it cannot become ${status}`)
      const now = clock.now()
      await store.updateStatus(tx, partnerId, id, { status, errorKey, debtor: json(debtor) }, now)
      await store.appendTimeline(
        tx,
        partnerId,
        id,
        steps.map((step) => ({ step, status })),
        now,
      )
      await outbox.append(tx, partnerId, 'transaction.status.changed', now, statusChanged(row, status, customFields))
    },
    noteAfterEnd: async (tx, partnerId, id, step) => {
      const { status } = await lock(tx, partnerId, id)
      assert(status !== 'Pending', 'a return follows an end')
      await store.appendTimeline(tx, partnerId, id, [{ step, status }], clock.now())
    },
    get: async (partnerId, reference) => {
      const row = await store.transactionByReference(db, partnerId, reference)
      if (!row) throw notFound('transaction')
      return present((await view(partnerId, [row]))[0], 'one row, one view')
    },
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
      return cursors.page(list, request, await view(partnerId, rows))
    },
  }
}

const ownReference = () => `txn_${randomText(ownReferenceChars)}`
const pending = (steps: readonly TimelineStep[]) => steps.map((step) => ({ step, status: 'Pending' as const }))

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
    createdAt: now,
    updatedAt: now,
  }
}
