/** The operations of transactions. Payments call them inside their own database transaction. */
import {
  type ErrorKey,
  ownJson,
  type Rail,
  type SignedApproval,
  type TimelineStep,
  type TransactionCategory,
  type TransactionDirection,
  type TransactionStatus,
  type TransactionType,
} from '@partner-payments/wire'
import type { Caller } from '../kernel/api/index.ts'
import {
  amountText,
  assert,
  currencies,
  type Currency,
  type Minor,
  newId,
  partnerKey,
  present,
  timeOrderedText,
  toJsonAmount,
  type RowKey,
} from '../kernel/index.ts'
import type { EventPayload } from '../events/index.ts'
import type { Actor } from '../lifecycle/index.ts'
import { rowPlaceholder, type Tx } from '../postgres/index.ts'
import {
  createExports,
  createReads,
  type TransactionExports,
  type TransactionReads,
  type TransactionsDeps,
} from './reads.ts'
import { type FinalStatus, isAllowedTransition } from './rules.ts'
import * as erasure from './store-erasure.ts'
import * as store from './store.ts'
import type { NewRecord } from '../audit/index.ts'

/** Party of the interface document. An undefined field is absent. */
export type Party = {
  readonly accountHolderName?: string
  readonly iban?: string
  /** Sort code of an account without an IBAN. */
  readonly sortCode?: string
  readonly routingNumber?: string
  readonly accountNumber?: string
  readonly bic?: string
  readonly bankName?: string
  readonly address?: string
  readonly country?: string
  readonly walletAddress?: string
}

export type NewTransaction = {
  readonly partnerId: string
  /** Reference from the partner's request: always the `userReference`, and also the reference if it is free. */
  readonly reference: string | null
  readonly amount: Minor
  readonly currency: Currency
  readonly category: TransactionCategory
  readonly direction: TransactionDirection
  readonly type: TransactionType
  readonly rail: Rail | null
  readonly customerId: string | null
  readonly steps: readonly TimelineStep[]
  /** Actor of the steps. Default: `worker`. */
  readonly actor?: Actor
  readonly beneficiary?: { readonly id: string; readonly alias: string | null }
  readonly endToEndId?: string
  readonly sessionId?: string
  readonly websiteReference?: string | null
  readonly idempotencyKey?: string | null
  readonly description?: string
  readonly originatingReference?: string
  readonly creditor?: Party
  readonly debtor?: Party
  /** Caller of the request, for the audit log. */
  readonly requestedBy?: Requester
  /** IP address from which the customer acts. Default: that of the request. */
  readonly userIpAddress?: string
  /** Id of the request that causes the transaction. */
  readonly requestId?: string | undefined
  readonly exchange?: TransactionExchange
  readonly transactionHash?: string
}

export type Requester = {
  readonly id: string
  readonly name: string
  readonly ipAddress: string
  /** The caller is a person who has signed in: the payment is one of the person's acts in the audit log. */
  readonly isPerson?: boolean
}

export const toRequester = ({ serviceAccountId: id, name, signedInAt }: Caller, ipAddress: string): Requester => ({
  ...{ id, name, ipAddress },
  ...(signedInAt === undefined ? {} : { isPerson: true }),
})

/** Amount that the customer pays or receives in another currency than `currency`, with the quote and its expiry. */
type TransactionExchange = {
  readonly userAmount: Minor
  readonly userCurrency: Currency
  readonly quoteId: string
  readonly quoteExpiresAt: Date
}

/**
 * Cause of a step: the actor (default: `worker`), the bank's ISO 20022 code, and the bank's text. `by`: the service
 * account of the partner, for the audit log. `recallId`: the recall of the step or of the returned money.
 */
export type StepCause = {
  readonly actor?: Actor
  readonly by?: StepMaker
  readonly reason?: string | null
  readonly bankText?: string | null
  readonly recallId?: string
}

export type RequestedReference = Pick<NewTransaction, 'partnerId' | 'reference'>
/** References in use, by `partnerKey(partnerId, reference)`. */
export type TakenReferences = ReadonlySet<string>
type OpenedTransaction = { readonly id: string; readonly reference: string }

export type Transactions = TransactionReads &
  TransactionExports & {
    /** Reads and writes for the erasure of a customer. */
    readonly erasure: typeof erasure
    /** Opens a Pending transaction. */
    readonly open: (tx: Tx, transaction: NewTransaction) => Promise<OpenedTransaction>
    /** Finds which of the requested references are taken, for `openMany`. Takes no lock. */
    readonly taken: (tx: Tx, requested: readonly RequestedReference[]) => Promise<TakenReferences>
    /**
     * Opens Pending transactions, and writes with the commit. If two request the same reference, the first gets it. A
     * reference that another transaction took after `taken` is a unique violation.
     */
    readonly openMany: (
      tx: Tx,
      transactions: readonly NewTransaction[],
      taken: TakenReferences,
    ) => readonly OpenedTransaction[]
    /** Writes transactions that are Completed at once, like `openMany` and `conclude` with `steps` together, with one write. */
    readonly completeMany: (
      tx: Tx,
      transactions: readonly NewTransaction[],
      taken: TakenReferences,
      steps: readonly TimelineStep[],
    ) => readonly OpenedTransaction[]
    /** Adds steps to Pending transactions, and concludes those with a conclusion. Each transaction may occur once. */
    readonly moveMany: (tx: Tx, moves: readonly TransactionMove[]) => Promise<void>
    /**
     * Moves a Pending transaction to a final status and appends `transaction.status.changed`. Any other change is an
     * AssertionFailure.
     */
    readonly conclude: (tx: Tx, partnerId: string, id: string, conclusion: ConclusionRequest) => Promise<void>
    /** Adds a step after the end, for a return. The status stays. */
    readonly addStepAfterEnd: (tx: Tx, key: RowKey, step: TimelineStep, cause?: StepCause) => Promise<void>
  }

export type ConclusionRequest = StepCause & {
  readonly status: FinalStatus
  readonly steps: readonly TimelineStep[]
  readonly errorKey?: ErrorKey
  readonly debtor?: Party
  readonly customFields?: Record<string, unknown> | null
}

/** Adds steps to a transaction. Without a conclusion it stays Pending. */
export type TransactionMove = RowKey &
  StepCause & {
    readonly steps: readonly TimelineStep[]
    readonly transactionHash?: string
    /** IP address from which the customer acts, once it is known. */
    readonly userIpAddress?: string
    readonly conclusion?: Conclusion
  }
export type Conclusion = Omit<ConclusionRequest, 'steps' | keyof StepCause>

/** Length of the random part of a reference: 60 bits for each millisecond. */
const ownReferenceRandomChars = 12

export function createTransactions(deps: TransactionsDeps): Transactions {
  const { clock } = deps
  const { openMany, completeMany } = createOpening(deps)
  const moveMany = createMoveMany(deps)
  return {
    erasure,
    open: async (tx, transaction) => {
      const [opened] = openMany(tx, [transaction], await taken(tx, [transaction]))
      return present(opened, `no transaction opened for partner ${transaction.partnerId}`)
    },
    taken,
    openMany,
    completeMany,
    moveMany,
    conclude: (tx, partnerId, id, { steps, actor = 'worker', reason = null, ...conclusion }) =>
      moveMany(tx, [{ partnerId, id, steps, actor, reason, conclusion }]),
    addStepAfterEnd: async (tx, { partnerId, id }, step, cause = {}) => {
      const row = await store.lockTransaction(tx, partnerId, id)
      const { status, reference } = present(row, `no transaction ${id}`)
      assert(status !== 'Pending', `transaction ${id} is still Pending`)
      const now = clock.now()
      const recordId = newId()
      deps.audit.append(tx, [toStepsRecord({ partnerId, reference, status, steps: [step], ...cause, recordId })])
      await store.appendToTimeline(tx, { partnerId, id }, entries([step], status, now, cause, recordId), now)
    },
    ...createReads(deps),
    ...createExports(deps),
  }
}

async function taken(tx: Tx, requested: readonly RequestedReference[]): Promise<TakenReferences> {
  const keys = requested.flatMap(({ partnerId, reference }) => (reference === null ? [] : [{ partnerId, reference }]))
  if (keys.length === 0) return new Set()
  const rows = await store.referencesTaken(tx, keys)
  return new Set(rows.map(({ partnerId, reference }) => partnerKey(partnerId, reference)))
}

function createOpening({
  clock,
  eventOutbox,
  audit,
}: TransactionsDeps): Pick<Transactions, 'openMany' | 'completeMany'> {
  const insert = (tx: Tx, rows: readonly store.TransactionRow[], transactions: readonly NewTransaction[]) => {
    if (rows.length > 0) store.insertTransactions(tx, rows)
    audit.append(tx, toOpeningRecords(rows, transactions))
    return rows.map(({ id, reference }) => ({ id, reference }))
  }
  return {
    openMany: (tx, transactions, taken) => insert(tx, toRows(transactions, taken, clock.now()), transactions),
    completeMany: (tx, transactions, taken, steps) => {
      const now = clock.now()
      const rows = toRows(transactions, taken, now).map((row) => completeRow(row, steps, now))
      const opened = insert(
        tx,
        rows,
        transactions.map((each) => ({ ...each, steps: [...each.steps, ...steps] })),
      )
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
    return { ...row, reference, userReference: reference }
  })
}

function completeRow(row: store.TransactionRow, steps: readonly TimelineStep[], now: Date): store.TransactionRow {
  const opening = ownJson<readonly store.TimelineEntry[]>(row.timeline)
  // The conclusion has the cause of the opening.
  const { actor = 'worker', record } = present(opening.at(-1), `transaction ${row.id} has an empty timeline`)
  const ending = ownJson<readonly store.TimelineEntry[]>(entries(steps, 'Completed', now, { actor }, record))
  return { ...row, status: 'Completed', timeline: JSON.stringify([...opening, ...ending]) }
}

function createMoveMany({ clock, eventOutbox, audit }: TransactionsDeps): Transactions['moveMany'] {
  return async (tx, moves) => {
    if (moves.length === 0) return
    const now = clock.now()
    const recordIds = moves.map(() => newId())
    const moved = await store.moveTransactions(
      tx,
      moves.map((move, index) =>
        toStoreMove(move, now, present(recordIds[index], `no audit record for transaction ${move.id}`)),
      ),
    )
    const byKey = new Map(moved.map((row) => [partnerKey(row.partnerId, row.id), row]))
    const rows = moves.map(({ partnerId, id }) =>
      present(byKey.get(partnerKey(partnerId, id)), `transaction ${id} is not Pending`),
    )
    audit.append(
      tx,
      moves.map(({ conclusion, ...move }, index) => {
        const { reference } = present(rows[index], `no row for transaction ${move.id}`)
        return toStepsRecord({
          ...move,
          reference,
          status: conclusion?.status ?? 'Pending',
          recordId: recordIds[index],
        })
      }),
    )
    eventOutbox.appendMany(
      tx,
      moves.flatMap(({ partnerId, id, conclusion }, index) => {
        if (!conclusion) return []
        const row = present(rows[index], `no row for transaction ${id}`)
        const data = statusChanged(row, conclusion.status, conclusion.customFields ?? null)
        return [{ partnerId, type: 'transaction.status.changed' as const, occurredAt: now, data }]
      }),
    )
  }
}

function toStoreMove(
  { partnerId, id, steps, transactionHash, userIpAddress, conclusion, ...cause }: TransactionMove,
  now: Date,
  record: string,
): store.TransactionMove {
  const { status = 'Pending', errorKey = null, debtor } = conclusion ?? {}
  assert(
    status === 'Pending' || isAllowedTransition('Pending', status),
    `a payment cannot make its transaction ${status}`,
  )
  return {
    partnerId,
    id,
    status,
    errorKey,
    debtor: json(debtor),
    transactionHash: transactionHash ?? null,
    partnerUser: userIp(userIpAddress),
    entries: entries(steps, status, now, cause, rowPlaceholder),
    record,
    updatedAt: now,
  }
}

const ownReference = () => `txn_${timeOrderedText(ownReferenceRandomChars)}`
/** Formats the stored part of a user. The rest is read from the customer, whose data are stored once and erased once. */
const userIp = (ipAddress = '') => (ipAddress === '' ? null : JSON.stringify({ ipAddress }))
const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))
const entries = (
  steps: readonly TimelineStep[],
  status: store.TimelineEntry['status'],
  now: Date,
  { actor = 'worker', reason = null, bankText = null, recallId }: StepCause,
  record: string | undefined,
) =>
  JSON.stringify(
    steps.map((step, index): store.TimelineEntry => ({
      step,
      status,
      createdAt: now.toISOString(),
      actor,
      ...(reason === null ? {} : { reason }),
      ...(bankText === null ? {} : { bankText }),
      ...(recallId === undefined ? {} : { recallId }),
      // The steps of a move have one record.
      ...(record === undefined || index + 1 < steps.length ? {} : { record }),
    })),
  )

function toRow(transaction: NewTransaction, now: Date): Omit<store.TransactionRow, 'reference'> {
  const id = newId()
  const ipAddress = transaction.userIpAddress ?? transaction.requestedBy?.ipAddress
  return {
    partnerId: transaction.partnerId,
    id,
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
    partnerUser: transaction.customerId === null ? null : userIp(ipAddress),
    userAmount: transaction.exchange?.userAmount ?? null,
    userCurrency: transaction.exchange?.userCurrency ?? null,
    fxQuoteExpiresAt: transaction.exchange?.quoteExpiresAt ?? null,
    quoteId: transaction.exchange?.quoteId ?? null,
    transactionHash: transaction.transactionHash ?? null,
    // The record of the opening has the id of the transaction.
    timeline: entries(transaction.steps, 'Pending', now, { actor: transaction.actor ?? 'worker' }, rowPlaceholder),
    createdAt: now,
    updatedAt: now,
  }
}

function statusChanged(
  row: store.MovedTransaction,
  status: TransactionStatus,
  customFields: Record<string, unknown> | null,
): EventPayload<'transaction.status.changed'> {
  return {
    amount: toJsonAmount(row.amount, row.currency),
    currency: row.currency,
    customFields,
    idempotencyKey: row.idempotencyKey,
    reference: row.reference,
    websiteReference: row.websiteReference,
    customerGuid: row.customerId,
    originatingTransactionReference: row.originatingReference,
    partnerGuid: row.partnerId,
    status,
    transactionHash: row.transactionHash,
    transactionType: row.type,
  }
}

// Audit records of transactions: one for each opening and each step, in the transaction that writes it.

const action = 'transaction.steps'

/** The caller of the partner who made a step, with the evidence if the step was confirmed. */
type StepMaker = {
  readonly id: string
  readonly name: string
  readonly confirmation?: SignedApproval | undefined
}

type RecordedSteps = {
  readonly partnerId: string
  readonly reference: string
  readonly status: TransactionStatus
  readonly steps: readonly TimelineStep[]
  readonly actor?: Actor
  readonly by?: StepMaker
  readonly reason?: string | null
  readonly recordId: string | undefined
}

const toStepsRecord = ({ actor = 'worker', by, reason, recordId, ...made }: RecordedSteps): NewRecord => ({
  partnerId: made.partnerId,
  id: recordId,
  actor: { kind: actor, ...(by && { id: by.id, name: by.name }) },
  action,
  subject: { reference: made.reference },
  details: { steps: made.steps, status: made.status, ...(by?.confirmation && { approval: by.confirmation }) },
  ...(reason ? { reason } : {}),
})

type RecordedOpening = {
  readonly steps: readonly TimelineStep[]
  readonly actor?: Actor
  readonly requestedBy?: Requester
  readonly requestId?: string | undefined
}

/** Creates a record for each row, with the id of its transaction. */
const toOpeningRecords = (
  rows: readonly store.TransactionRow[],
  openings: readonly RecordedOpening[],
): readonly NewRecord[] =>
  rows.map(({ partnerId, id, reference, type, amount, currency, status }, index): NewRecord => {
    const {
      steps,
      actor = 'worker',
      requestedBy,
      requestId,
    } = present(openings[index], `no opening for transaction ${id}`)
    const maker = requestedBy && { id: requestedBy.id, name: requestedBy.name, ip: requestedBy.ipAddress }
    return {
      partnerId,
      id,
      actor: { kind: actor, ...maker },
      action,
      subject: { reference },
      details: { steps, status, type, amount: amountText(amount, currency), currency },
      requestId,
      byPerson: requestedBy?.isPerson,
    }
  })
