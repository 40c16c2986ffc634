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
import { noSql, sql, type Tx } from '../../postgres/index.ts'

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
  readonly createdAt: Date
  readonly updatedAt: Date
}
export type TimelineRow = {
  readonly transactionId: string
  readonly step: TimelineStep
  readonly status: TransactionStatus
  readonly createdAt: Date
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
  user_reference, idempotency_key, description, originating_reference, creditor, debtor, partner_user, created_at, updated_at`

/**
 * Answers the ids that went in; where the reference is taken nothing does. A concurrent holder is waited for, and all
 * take them in one order; of two rows with one reference the first has it.
 */
export async function insertTransactions(tx: Tx, rows: readonly TransactionRow[]): Promise<ReadonlySet<string>> {
  const column = <K extends keyof TransactionRow>(name: K) => rows.map((row) => row[name])
  const inserted = await tx.rows<{ id: string }>(sql`
    insert into transactions.transactions (${columns})
    select * from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('reference')}::text[],
      ${column('amount')}::bigint[], ${column('currency')}::text[], ${column('category')}::text[],
      ${column('direction')}::text[], ${column('method')}::text[], ${column('partyType')}::text[],
      ${column('type')}::text[], ${column('status')}::text[], ${column('errorKey')}::text[], ${column('rail')}::text[],
      ${column('customerId')}::uuid[], ${column('beneficiaryId')}::uuid[], ${column('beneficiaryAlias')}::text[],
      ${column('endToEndId')}::text[], ${column('sessionId')}::text[], ${column('websiteReference')}::text[],
      ${column('userReference')}::text[], ${column('idempotencyKey')}::text[], ${column('description')}::text[],
      ${column('originatingReference')}::text[], ${column('creditor')}::text[], ${column('debtor')}::text[],
      ${column('partnerUser')}::text[], ${column('createdAt')}::timestamptz[], ${column('updatedAt')}::timestamptz[]) as given (${columns})
    order by partner_id, reference, id
    on conflict (partner_id, reference) do nothing
    returning id`)
  return new Set(inserted.map((row) => row.id))
}

/** The beginnings of new transactions. */
export async function insertTimelines(
  tx: Tx,
  entries: readonly {
    readonly partnerId: string
    readonly transactionId: string
    readonly steps: readonly TimelineStep[]
    readonly createdAt: Date
  }[],
): Promise<void> {
  const rows = entries.flatMap(({ steps, ...entry }) => steps.map((step, position) => ({ ...entry, step, position })))
  await tx.run(sql`
    insert into transactions.timeline (partner_id, transaction_id, position, step, status, created_at)
    select partner_id, transaction_id, position, step, 'Pending', created_at
    from unnest(${rows.map((row) => row.partnerId)}::uuid[], ${rows.map((row) => row.transactionId)}::uuid[],
      ${rows.map((row) => row.position)}::integer[], ${rows.map((row) => row.step)}::text[],
      ${rows.map((row) => row.createdAt)}::timestamptz[]) as t (partner_id, transaction_id, position, step, created_at)`)
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

export async function updateStatus(
  tx: Tx,
  partnerId: string,
  id: string,
  change: { readonly status: TransactionStatus; readonly errorKey: ErrorKey | null; readonly debtor: string | null },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update transactions.transactions
    set status = ${change.status}, error_key = ${change.errorKey}, debtor = coalesce(${change.debtor}, debtor), updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** The transaction's row is locked by the caller or new, so that positions do not collide. */
export async function appendTimeline(
  tx: Tx,
  partnerId: string,
  transactionId: string,
  steps: readonly { readonly step: TimelineStep; readonly status: TransactionStatus }[],
  now: Date,
): Promise<void> {
  await tx.run(sql`
    insert into transactions.timeline (partner_id, transaction_id, position, step, status, created_at)
    select ${partnerId}::uuid, ${transactionId}::uuid, given.ordinal - 1 + (
      select count(*) from transactions.timeline where partner_id = ${partnerId} and transaction_id = ${transactionId}),
      given.step, given.status, ${now}::timestamptz
    from unnest(${steps.map(({ step }) => step)}::text[], ${steps.map(({ status }) => status)}::text[])
      with ordinality as given (step, status, ordinal)`)
}

export function timelines(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly TimelineRow[]> {
  return tx.rows<TimelineRow>(sql`
    select transaction_id, step, status, created_at from transactions.timeline
    where partner_id = ${partnerId} and transaction_id = any(${ids}::uuid[]) order by transaction_id, position`)
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
