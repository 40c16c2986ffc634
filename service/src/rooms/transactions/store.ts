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
import type { Currency, Minor } from '../../kernel/index.ts'
import { noSql, ofPartners, sql, type Tx } from '../../postgres/index.ts'

export type TransactionRow = {
  readonly partnerId: string
  readonly id: string
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly category: TransactionCategory
  readonly direction: TransactionDirection
  readonly method: TransactionMethod
  readonly partyType: PartyType
  readonly type: TransactionType
  readonly status: TransactionStatus
  readonly errorKey: ErrorKey | null
  readonly rail: Rail | null
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  readonly beneficiaryAlias: string | null
  readonly endToEndId: string | null
  readonly sessionId: string | null
  readonly websiteReference: string | null
  readonly userReference: string | null
  readonly idempotencyKey: string | null
  readonly description: string | null
  readonly originatingReference: string | null
  readonly creditor: string | null
  readonly debtor: string | null
  readonly partnerUser: string | null
  /** JSON of `TimelineEntry[]`, oldest first. */
  readonly timeline: string
  readonly createdAt: Date
  readonly updatedAt: Date
}
export type TimelineEntry = {
  readonly step: TimelineStep
  readonly status: TransactionStatus
  /** RFC 3339, UTC, with milliseconds. */
  readonly createdAt: string
}
export type TransactionFilter = {
  readonly status: string | null
  readonly category: string | null
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  readonly idempotencyKey: string | null
  readonly createdFrom: string | null
  readonly createdTo: string | null
}

const columns = sql`partner_id, id, reference, amount, currency, category, direction, method, party_type, type, status,
  error_key, rail, customer_id, beneficiary_id, beneficiary_alias, end_to_end_id, session_id, website_reference,
  user_reference, idempotency_key, description, originating_reference, creditor, debtor, partner_user, timeline, created_at,
  updated_at`

/** Which of these references, and perhaps others of the same partners, are taken. */
export function referencesTaken(
  tx: Tx,
  wishes: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly { readonly partnerId: string; readonly reference: string }[]> {
  return tx.rows(sql`
    select partner_id, reference from transactions.transactions
    where ${ofPartners(wishes.map((wish) => wish.partnerId))}
      and reference = any(${wishes.map((wish) => wish.reference)}::text[])`)
}

/** A concurrent holder of a reference is waited for, and all take them in one order. */
export function insertTransactions(tx: Tx, rows: readonly TransactionRow[]): void {
  const column = <K extends keyof TransactionRow>(name: K) => rows.map((row) => row[name])
  tx.later(sql`
    insert into transactions.transactions (${columns})
    select * from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('reference')}::text[],
      ${column('amount')}::bigint[], ${column('currency')}::text[], ${column('category')}::text[],
      ${column('direction')}::text[], ${column('method')}::text[], ${column('partyType')}::text[],
      ${column('type')}::text[], ${column('status')}::text[], ${column('errorKey')}::text[], ${column('rail')}::text[],
      ${column('customerId')}::uuid[], ${column('beneficiaryId')}::uuid[], ${column('beneficiaryAlias')}::text[],
      ${column('endToEndId')}::text[], ${column('sessionId')}::text[], ${column('websiteReference')}::text[],
      ${column('userReference')}::text[], ${column('idempotencyKey')}::text[], ${column('description')}::text[],
      ${column('originatingReference')}::text[], ${column('creditor')}::text[], ${column('debtor')}::text[],
      ${column('partnerUser')}::text[], ${column('timeline')}::jsonb[], ${column('createdAt')}::timestamptz[],
      ${column('updatedAt')}::timestamptz[]) as given (${columns})
    order by partner_id, reference`)
}

export function transactionByReference(
  tx: Tx,
  partnerId: string,
  reference: string,
): Promise<TransactionRow | undefined> {
  return tx.row<TransactionRow>(sql`
    select ${columns} from transactions.transactions where partner_id = ${partnerId} and reference = ${reference}`)
}

export function lockTransaction(tx: Tx, partnerId: string, id: string): Promise<TransactionRow | undefined> {
  return tx.row<TransactionRow>(sql`
    select ${columns} from transactions.transactions where partner_id = ${partnerId} and id = ${id} for update`)
}

export function conclude(
  tx: Tx,
  partnerId: string,
  id: string,
  change: {
    readonly status: TransactionStatus
    readonly errorKey: ErrorKey | null
    readonly debtor: string | null
    readonly entries: readonly TimelineEntry[]
  },
  now: Date,
): void {
  tx.later(sql`
    update transactions.transactions set status = ${change.status}, error_key = ${change.errorKey},
      debtor = coalesce(${change.debtor}, debtor), timeline = timeline || ${JSON.stringify(change.entries)}::jsonb,
      updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

export function appendTimeline(tx: Tx, partnerId: string, id: string, entries: readonly TimelineEntry[]): void {
  tx.later(sql`
    update transactions.transactions set timeline = timeline || ${JSON.stringify(entries)}::jsonb
    where partner_id = ${partnerId} and id = ${id}`)
}

export function listTransactions(
  tx: Tx,
  partnerId: string,
  filter: TransactionFilter,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  const { status, category, customerId, beneficiaryId, idempotencyKey, createdFrom, createdTo } = filter
  // Ids are in the order of the time, which PostgreSQL does not know: asked for a time, it is given that order to follow.
  const byTime = createdFrom !== null || createdTo !== null
  const behind = byTime
    ? sql`and (created_at, id) < (select created_at, id from transactions.transactions
        where partner_id = ${partnerId} and id = ${afterId})`
    : sql`and id < ${afterId}`
  return tx.rows<TransactionRow>(sql`
    select ${columns} from transactions.transactions where partner_id = ${partnerId}
    ${afterId === null ? noSql : behind}
    ${status === null ? noSql : sql`and status = ${status}`}
    ${category === null ? noSql : sql`and category = ${category}`}
    ${customerId === null ? noSql : sql`and customer_id = ${customerId}`}
    ${beneficiaryId === null ? noSql : sql`and beneficiary_id = ${beneficiaryId}`}
    ${idempotencyKey === null ? noSql : sql`and idempotency_key = ${idempotencyKey}`}
    ${createdFrom === null ? noSql : sql`and created_at >= ${createdFrom}`}
    ${createdTo === null ? noSql : sql`and created_at < ${createdTo}`}
    order by ${byTime ? sql`created_at desc, id desc` : sql`id desc`} limit ${rowsMax}`)
}
