/** All SQL of bulks and of their payouts. */
import type { bulkPayouts } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Currency, Minor, RowKey, Money } from '../../kernel/index.ts'
import {
  columnValues,
  dueWork,
  insertBy,
  type RetainedTable,
  noSql,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'

export type BulkMode = (typeof bulkPayouts.bulkModes)[number]
export type BulkStatus = (typeof bulkPayouts.bulkStatuses)[number]
export type ItemStatus = (typeof bulkPayouts.bulkItemStatuses)[number]

/** Maximum number of payouts of a bulk. */
export const bulkItemsMax = 1000

export type BulkRow = {
  readonly partnerId: string
  readonly id: string
  readonly idempotencyKey: string
  readonly requestFingerprint: string
  /** Name for people. Null: none. */
  readonly name: string | null
  readonly mode: BulkMode
  readonly status: BulkStatus
  readonly payouts: number
  readonly accountId: string
  readonly accountName: string
  readonly ipAddress: string
  readonly leaseId: string | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

export type ItemRow = {
  readonly partnerId: string
  readonly bulkId: string
  readonly position: number
  readonly idempotencyKey: string
  readonly amount: Minor
  readonly currency: Currency
  readonly beneficiaryId: string
  readonly reference: string | null
  /** End-to-end id from the file. Null: the payout has an end-to-end id of the service. */
  readonly endToEndId: string | null
  readonly refusesDuplicates: boolean
  readonly status: ItemStatus
  readonly payoutId: string | null
  readonly transactionReference: string | null
  readonly problemCode: string | null
  readonly problemDetail: string | null
}
type NewItem = Pick<
  ItemRow,
  | 'partnerId'
  | 'bulkId'
  | 'position'
  | 'idempotencyKey'
  | 'amount'
  | 'currency'
  | 'beneficiaryId'
  | 'reference'
  | 'endToEndId'
  | 'refusesDuplicates'
> & {
  /** The digest by which bulks that paid the same line are found. */
  readonly lineDigest: bigint
}

const columns = sql`partner_id, id, idempotency_key, request_fingerprint, name, mode, status, payouts, account_id, account_name,
  ip_address, lease_id, created_at, ended_at`
const itemColumns = sql`partner_id, bulk_id, position, idempotency_key, amount, currency, beneficiary_id, reference, end_to_end_id, refuses_duplicates, status,
  payout_id, transaction_reference, problem_code, problem_detail`

/** Inserts a bulk. Returns 0 if the key is taken. */
export function insertBulk(tx: Tx, row: Omit<BulkRow, 'status' | 'leaseId' | 'endedAt'>): Promise<number> {
  return tx.run(sql`/* bulk-payouts.insertBulk */
    insert into payouts.bulks (partner_id, id, idempotency_key, request_fingerprint, name, mode, status, payouts, account_id,
      account_name, ip_address, due_at, created_at)
    values (${row.partnerId}, ${row.id}, ${row.idempotencyKey}, ${row.requestFingerprint}, ${row.name}, ${row.mode}, 'Processing',
      ${row.payouts}, ${row.accountId}, ${row.accountName}, ${row.ipAddress}, ${row.createdAt}, ${row.createdAt})
    on conflict (partner_id, idempotency_key) do nothing`)
}

const newItems = insertBy<NewItem & { readonly status: string }>(
  {
    partnerId: 'uuid',
    bulkId: 'uuid',
    position: 'integer',
    idempotencyKey: 'text',
    amount: 'bigint',
    currency: 'text',
    beneficiaryId: 'uuid',
    reference: 'text',
    endToEndId: 'text',
    lineDigest: 'bigint',
    refusesDuplicates: 'boolean',
    status: 'text',
  },
  [
    ['partnerId', 'bulkId', 'status'],
    ['currency', 'refusesDuplicates'],
  ],
)

export function insertItems(tx: Tx, rows: readonly NewItem[]): void {
  const open = rows.map((row) => ({ ...row, status: 'Processing' }))
  tx.later(
    sql`/* bulk-payouts.insertItems */
    insert into payouts.bulk_items (partner_id, bulk_id, position, idempotency_key, amount, currency, beneficiary_id,
      reference, end_to_end_id, line_digest, refuses_duplicates, status)
    ${newItems(tx, open)}`,
    rows.length,
  )
}

export function bulkByKey(tx: Tx, partnerId: string, idempotencyKey: string): Promise<BulkRow | undefined> {
  return tx.row<BulkRow>(sql`/* bulk-payouts.bulkByKey */
    select ${columns} from payouts.bulks where partner_id = ${partnerId} and idempotency_key = ${idempotencyKey}`)
}

export function namesByIds(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  return tx.rows(sql`/* bulk-payouts.namesByIds */
    select id, name from payouts.bulks where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and name is not null`)
}

export function bulkById(tx: Tx, partnerId: string, id: string): Promise<BulkRow | undefined> {
  return tx.row<BulkRow>(sql`/* bulk-payouts.bulkById */
    select ${columns} from payouts.bulks where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists bulks, newest first. `only`: of these ids; null: all. */
export function listBulks(
  tx: Tx,
  partnerId: string,
  { limit, afterId }: PageRequest,
  only: readonly string[] | null,
): Promise<readonly BulkRow[]> {
  return tx.rows<BulkRow>(sql`/* bulk-payouts.listBulks */
    select ${columns} from payouts.bulks where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`} ${only === null ? noSql : sql`and id = any(${[...only]}::uuid[])`}
    order by id desc limit ${limit + 1}`)
}

/** Counts the payouts of unfinished bulks. */
export async function countOpenPayouts(tx: Tx, partnerId: string): Promise<number> {
  const row = await tx.row<{ readonly payouts: bigint }>(sql`/* bulk-payouts.countOpenPayouts */
    select coalesce(sum(payouts), 0)::bigint as payouts from payouts.bulks
    where partner_id = ${partnerId} and due_at is not null`)
  return Number(row?.payouts ?? 0n)
}

export type BulkCounts = { readonly bulkId: string; readonly accepted: bigint; readonly refused: bigint }

export function countItems(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly BulkCounts[]> {
  return tx.rows<BulkCounts>(sql`/* bulk-payouts.countItems */
    select bulk_id, count(*) filter (where status = 'Accepted') as accepted, count(*) filter (where status = 'Refused') as refused
    from payouts.bulk_items where partner_id = ${partnerId} and bulk_id = any(${[...ids]}::uuid[]) group by bulk_id`)
}

export function listItems(
  tx: Tx,
  partnerId: string,
  bulkId: string,
  status: ItemStatus | null,
  rowsMax: number,
): Promise<readonly ItemRow[]> {
  return tx.rows<ItemRow>(sql`/* bulk-payouts.listItems */
    select ${itemColumns} from payouts.bulk_items where partner_id = ${partnerId} and bulk_id = ${bulkId}
      ${status === null ? noSql : sql`and status = ${status}`}
    order by position limit ${rowsMax}`)
}

/**
 * Lists the bulks of a period with at least the given number of these lines, those with most lines first. Refused lines
 * do not count.
 */
export function bulksWithLines(
  tx: Tx,
  partnerId: string,
  wanted: {
    readonly digests: readonly bigint[]
    /** The id of a bulk from the beginning of the period: ids contain the time. */
    readonly since: string
    readonly linesMin: number
    /** The key of the bulk that is checked, which is left out. */
    readonly key: string
  },
  bulksMax: number,
): Promise<readonly (Pick<BulkRow, 'id' | 'createdAt' | 'accountName'> & { readonly same: bigint })[]> {
  return tx.rows(sql`/* bulk-payouts.bulksWithLines */
    select bulk.id, bulk.created_at, bulk.account_name, found.same
    from (
      select bulk_id, count(distinct line_digest) as same from payouts.bulk_items
      where partner_id = ${partnerId} and line_digest = any(${[...wanted.digests]}::bigint[]) and bulk_id >= ${wanted.since}
        and status in ('Processing', 'Accepted')
      group by bulk_id having count(distinct line_digest) >= ${wanted.linesMin}) as found
      join payouts.bulks as bulk on bulk.partner_id = ${partnerId} and bulk.id = found.bulk_id
    where bulk.idempotency_key <> ${wanted.key}
    order by found.same desc, bulk.id desc limit ${bulksMax}`)
}

/** Sums a bulk in each currency, including refused payouts. */
export function sumItems(tx: Tx, partnerId: string, bulkId: string): Promise<readonly Money[]> {
  return tx.rows(sql`/* bulk-payouts.sumItems */
    select currency, sum(amount)::bigint as amount from payouts.bulk_items
    where partner_id = ${partnerId} and bulk_id = ${bulkId} group by currency`)
}

export const bulksDue = (after: Date): Sql =>
  dueWork(
    'reads when the next bulk is due',
    (whose) => sql`/* bulk-payouts.bulksDue */
      select due_at from payouts.bulks where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Finds the oldest due bulk of each partner, in the order of the partners after `afterPartner`. */
export function dueBulks(tx: Tx, now: Date, afterPartner: string, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    dueWork('finds bulks with payouts to make, without a lock', (whose) =>
      unprepared(sql`/* bulk-payouts.dueBulks */
      select distinct on (partner_id) partner_id, id from payouts.bulks
      where due_at <= ${now} and partner_id > ${afterPartner} and ${whose()}
      order by partner_id, due_at limit ${rowsMax}`),
    ),
  )
}

/** Claims a bulk. Undefined: another worker has it, or it has ended. */
export function claimBulk(
  tx: Tx,
  partnerId: string,
  id: string,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
): Promise<BulkRow | undefined> {
  return tx.row<BulkRow>(sql`/* bulk-payouts.claimBulk */
    update payouts.bulks set lease_id = ${lease.id}, due_at = ${lease.until}
    where partner_id = ${partnerId} and id = (
      select id from payouts.bulks where partner_id = ${partnerId} and id = ${id} and due_at <= ${now} for update skip locked)
    returning ${columns}`)
}

/** Locks the bulk for the worker that still has its lease. */
export function lockClaimedBulk(tx: Tx, { partnerId, id, leaseId }: BulkRow): Promise<BulkRow | undefined> {
  return tx.row<BulkRow>(sql`/* bulk-payouts.lockClaimedBulk */
    select ${columns} from payouts.bulks where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} for update`)
}

/** Puts the bulk back, behind the others with the same due time. */
export function putBackBulk(tx: Tx, { partnerId, id, leaseId }: BulkRow, dueAt: Date): Promise<number> {
  return tx.run(sql`/* bulk-payouts.putBackBulk */
    update payouts.bulks set lease_id = null, due_at = ${dueAt}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

export function endBulk(tx: Tx, { partnerId, id, leaseId }: BulkRow, status: BulkStatus, now: Date): Promise<number> {
  return tx.run(sql`/* bulk-payouts.endBulk */
    update payouts.bulks set status = ${status}, lease_id = null, due_at = null, ended_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId}`)
}

/** Makes the bulks of dead workers due again. Only for a database without another live worker. */
export async function releaseBulks(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* bulk-payouts.releaseBulks */
    update payouts.bulks set lease_id = null, due_at = ${now} where partner_id = ${partnerId} and lease_id is not null`)
}

export type ItemResult = Pick<
  ItemRow,
  'position' | 'status' | 'payoutId' | 'transactionReference' | 'problemCode' | 'problemDetail'
>

export function recordResults(tx: Tx, { partnerId, id }: BulkRow, results: readonly ItemResult[]): void {
  const column = columnValues(results)
  tx.later(
    unprepared(sql`/* bulk-payouts.recordResults */
    update payouts.bulk_items item set status = given.status, payout_id = given.payout_id,
      transaction_reference = given.transaction_reference, problem_code = given.problem_code,
      problem_detail = given.problem_detail
    from unnest(${column('position')}::integer[], ${column('status')}::text[], ${column('payoutId')}::uuid[],
        ${column('transactionReference')}::text[], ${column('problemCode')}::text[], ${column('problemDetail')}::text[])
      as given (position, status, payout_id, transaction_reference, problem_code, problem_detail)
    where item.partner_id = ${partnerId} and item.bulk_id = ${id} and item.position = given.position
      and item.status = 'Processing'`),
    results.length,
  )
}

// Personal columns of the items of bulks: texts to the payee, and reasons of refusals.

export const keptBulks: RetainedTable = {
  table: 'payouts.bulks',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [
    { table: 'payouts.bulks', by: 'id', erased: { name: null } },
    {
      table: 'payouts.bulk_items',
      by: 'bulk_id',
      erased: { reference: null, end_to_end_id: null, problem_detail: null, line_digest: null },
    },
  ],
}
