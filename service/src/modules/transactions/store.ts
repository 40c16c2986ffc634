/** All SQL of transactions. */
import type {
  ErrorKey,
  PartyType,
  Rail,
  TimelineStep,
  TransactionCategory,
  TransactionDirection,
  TransactionMethod,
  TransactionStatus,
  TransactionType,
} from '@partner-payments/wire'
import { type Currency, nilId } from '../../kernel/index.ts'
import type { Actor } from '../../lifecycle/index.ts'
import {
  givenBy,
  insertBy,
  namesOf,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  reference: 'text',
  amount: 'bigint',
  currency: 'text',
  category: 'text',
  direction: 'text',
  method: 'text',
  partyType: 'text',
  type: 'text',
  status: 'text',
  errorKey: 'text?',
  rail: 'text?',
  customerId: 'uuid?',
  beneficiaryId: 'uuid?',
  beneficiaryAlias: 'text?',
  endToEndId: 'text?',
  sessionId: 'text?',
  websiteReference: 'text?',
  userReference: 'text?',
  idempotencyKey: 'text?',
  description: 'text?',
  originatingReference: 'text?',
  creditor: 'json?',
  debtor: 'json?',
  /** The `ipAddress` of the customer. Earlier versions stored the caller of the request, with its address. */
  partnerUser: 'json?',
  /** The money on the customer's side of an exchange. Null: no exchange; it equals `amount`. */
  userAmount: 'bigint?',
  userCurrency: 'text?',
  fxQuoteExpiresAt: 'timestamptz?',
  /** The quote that the transaction accepted. */
  quoteId: 'uuid?',
  transactionHash: 'text?',
  /** JSON of `TimelineEntry[]`, oldest first. Inserted with `rowMark` for the id. */
  timeline: 'jsonb',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const
export type TransactionRow = RowOf<
  typeof types,
  {
    currency: Currency
    category: TransactionCategory
    direction: TransactionDirection
    method: TransactionMethod
    partyType: PartyType
    type: TransactionType
    status: TransactionStatus
    errorKey: ErrorKey
    rail: Rail
    userCurrency: Currency
  }
>
export type TimelineEntry = {
  readonly step: TimelineStep
  readonly status: TransactionStatus
  /** RFC 3339, UTC, with milliseconds. */
  readonly createdAt: string
  /** Absent in entries of earlier versions. */
  readonly actor?: Actor
  /** Code of ISO 20022 by which a bank gave its reason, as it sent it. */
  readonly reason?: string
  /** The bank's own words. Erased with the customer. */
  readonly bankText?: string
  /** The recall of the step, or the one by which the money came back. */
  readonly recallId?: string
  /** The audit record of the step and of the steps before it that were made with it. */
  readonly record?: string
}
export const columns = namesOf(types)
const newTransactions = insertBy<TransactionRow>(
  types,
  [
    ['partnerId', 'partnerUser'],
    ['currency', 'category', 'direction', 'method', 'partyType', 'type', 'status', 'rail', 'timeline'],
    ['createdAt', 'updatedAt'],
    ['errorKey', 'sessionId', 'websiteReference', 'userReference', 'description', 'originatingReference', 'debtor'],
    ['userAmount', 'userCurrency', 'fxQuoteExpiresAt', 'quoteId', 'transactionHash'],
  ],
  ['partnerId', 'reference'],
  { timeline: 'id' },
)

export type CreatedPosition = { readonly createdAt: Date; readonly id: string }
export type CreatedFilter = {
  readonly partnerId: string
  readonly from: Date
  readonly to: Date
  readonly customerId: string | null
  readonly currency: string | null
}

/** The transactions created in a period, oldest first, after a position. */
export function transactionsCreated(
  tx: Tx,
  { partnerId, from, to, customerId, currency }: CreatedFilter,
  after: CreatedPosition | undefined,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  const { createdAt, id } = after ?? { createdAt: from, id: nilId }
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.transactionsCreated */
      select ${columns} from transactions.transactions
      where partner_id = ${partnerId} and created_at >= ${from} and created_at < ${to}
        and (created_at, id) > (${createdAt}::timestamptz, ${id}::uuid)
        ${customerId === null ? noSql : sql`and customer_id = ${customerId}`}
        ${currency === null ? noSql : sql`and currency = ${currency}`}
      order by created_at, id limit ${rowsMax}`),
  )
}

/** The taken references among these, and possibly others of the same partners. */
export function referencesTaken(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly { readonly partnerId: string; readonly reference: string }[]> {
  return tx.rows(sql`/* transactions.referencesTaken */
    select partner_id, reference from transactions.transactions
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and reference = any(${keys.map((key) => key.reference)}::text[])`)
}

/**
 * An insert waits for a concurrent transaction that inserted the same reference. All inserts take references in one order,
 * so that two batches cannot deadlock.
 */
export function insertTransactions(tx: Tx, rows: readonly TransactionRow[]): void {
  tx.later(
    sql`/* transactions.insertTransactions */ insert into transactions.transactions (${columns}) ${newTransactions(tx, rows)}`,
  )
}

/** The transactions of these references, and possibly others of the same partners. */
export function transactionsByReference(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly TransactionRow[]> {
  return tx.rows<TransactionRow>(sql`/* transactions.transactionsByReference */
    select ${columns} from transactions.transactions
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and reference = any(${keys.map((key) => key.reference)}::text[])`)
}

export type TransactionKey = { readonly partnerId: string; readonly id: string }

export function lockTransaction(tx: Tx, partnerId: string, id: string): Promise<TransactionRow | undefined> {
  return tx.row<TransactionRow>(sql`/* transactions.lockTransaction */
    select ${columns} from transactions.transactions where partner_id = ${partnerId} and id = ${id} for update`)
}

const moveTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  status: 'text',
  errorKey: 'text?',
  /** Null keeps the debtor. */
  debtor: 'json?',
  /** Null keeps the hash. */
  transactionHash: 'text?',
  /** Null keeps the address of the customer. */
  partnerUser: 'json?',
  /** JSON of `TimelineEntry[]`, with `rowMark` for `record`. */
  entries: 'jsonb',
  /** The audit record of the steps. */
  record: 'uuid',
  updatedAt: 'timestamptz',
} as const
export type TransactionMove = RowOf<typeof moveTypes, { status: TransactionStatus; errorKey: ErrorKey }>

/** Columns that the event of a move needs. */
export type Moved = Pick<
  TransactionRow,
  | 'partnerId'
  | 'id'
  | 'reference'
  | 'amount'
  | 'currency'
  | 'type'
  | 'customerId'
  | 'idempotencyKey'
  | 'websiteReference'
  | 'originatingReference'
  | 'transactionHash'
>

/** Most moves of a batch are alike. */
const givenMoves = givenBy<TransactionMove>(
  moveTypes,
  [['partnerId'], ['status', 'errorKey', 'entries', 'updatedAt'], ['debtor'], ['transactionHash', 'partnerUser']],
  { entries: 'record' },
)

/**
 * Moves Pending transactions, each at most once, and returns them. A lock before the update would write each row twice. The
 * callers hold the locks of their payments, so that two batches never update the same row. Unprepared: a generic plan
 * compares with a list, which it sorts for each row.
 */
export function moveTransactions(tx: Tx, moves: readonly TransactionMove[]): Promise<readonly Moved[]> {
  const partnerIds = moves.map((move) => move.partnerId)
  return tx.rows<Moved>(
    unprepared(sql`/* transactions.moveTransactions */
    update transactions.transactions as stored set status = input.status, error_key = input.error_key,
      debtor = coalesce(input.debtor, stored.debtor),
      transaction_hash = coalesce(input.transaction_hash, stored.transaction_hash),
      partner_user = coalesce(input.partner_user, stored.partner_user), timeline = stored.timeline || input.entries,
      updated_at = greatest(stored.updated_at, input.updated_at)
    from (${givenMoves(moves)}) as input
    where ${ofPartners(partnerIds, sql`stored.partner_id`)} and stored.partner_id = input.partner_id
      and stored.id = input.id and stored.status = 'Pending'
    returning stored.partner_id, stored.id, stored.reference, stored.amount, stored.currency, stored.type,
      stored.customer_id, stored.idempotency_key, stored.website_reference, stored.originating_reference,
      stored.transaction_hash`),
  )
}

export async function appendToTimeline(
  tx: Tx,
  { partnerId, id }: TransactionKey,
  entries: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* transactions.appendToTimeline */
    update transactions.transactions set timeline = timeline || ${entries}::jsonb,
      updated_at = greatest(updated_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and id = ${id}`)
}
