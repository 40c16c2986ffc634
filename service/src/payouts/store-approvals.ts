/** SQL of approvals: decisions about single payouts and about the payouts of a bulk, and lists of what awaits one. */
import {
  columnValues,
  dueWork,
  insertBy,
  columnList,
  noSql,
  ofOnePartner,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import { type Currency, type Minor, present, type RowKey } from '../kernel/index.ts'
import { payoutColumns, type PayoutRow } from './store.ts'

export type ApprovalDecision = 'approved' | 'rejected' | 'expired' | 'cancelled'

const approvalColumns = {
  partnerId: 'uuid',
  payoutId: 'uuid',
  cause: 'text',
  requestedBy: 'uuid',
  requestedName: 'text',
  expiresAt: 'timestamptz',
  needsPasskey: 'boolean',
  /** Null: the payout is in no bulk. */
  bulkId: 'uuid?',
} as const
type NewApproval = RowOf<typeof approvalColumns, { cause: 'amount' | 'day' | 'bulk' | 'beneficiary' | 'payee' }>
const newApprovals = insertBy<NewApproval>(approvalColumns, [])

export function insertApprovals(tx: Tx, approvals: readonly NewApproval[]): void {
  tx.later(sql`/* payouts.insertApprovals */
    insert into payouts.approvals (${columnList(approvalColumns)}) ${newApprovals(tx, approvals)}`)
}

export type Approval = Pick<NewApproval, 'requestedBy' | 'requestedName' | 'cause' | 'expiresAt' | 'needsPasskey'> & {
  readonly decision: ApprovalDecision | null
  readonly decidedBy: string | null
}

export function approvalById(tx: Tx, partnerId: string, payoutId: string): Promise<Approval | undefined> {
  return tx.row<Approval>(sql`/* payouts.approvalById */
    select requested_by, requested_name, cause, expires_at, needs_passkey, decision, decided_by from payouts.approvals
    where partner_id = ${partnerId} and payout_id = ${payoutId}`)
}

/** Lists the open approvals of a bulk's payouts that have not expired. */
export function openApprovalsOfBulk(
  tx: Tx,
  partnerId: string,
  bulkId: string,
  now: Date,
): Promise<readonly (Pick<NewApproval, 'payoutId'> & Omit<Approval, 'cause' | 'decision' | 'decidedBy'>)[]> {
  return tx.rows(sql`/* payouts.openApprovalsOfBulk */
    select payout_id, requested_by, requested_name, expires_at, needs_passkey from payouts.approvals
    where partner_id = ${partnerId} and bulk_id = ${bulkId} and decision is null and expires_at > ${now}`)
}

/** Lists bulks with waiting payouts by id, the newest bulk first. */
export function bulksAwaitingApproval(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly { readonly bulkId: string }[]> {
  return tx.rows(sql`/* payouts.bulksAwaitingApproval */
    select distinct bulk_id from payouts.approvals
    where partner_id = ${partnerId} and decision is null and bulk_id is not null order by bulk_id desc limit ${rowsMax}`)
}

/** Stores a salt for each of many payouts, like `storePayeeSalt`. Returns the salts by payout. */
export async function storePayeeSalts(
  tx: Tx,
  partnerId: string,
  salts: readonly { readonly payoutId: string; readonly salt: string }[],
): Promise<ReadonlyMap<string, string>> {
  const column = columnValues(salts)
  const rows = await tx.rows<{ readonly payoutId: string; readonly payeeSalt: string }>(
    unprepared(sql`/* payouts.storePayeeSalts */
    update payouts.approvals approval set payee_salt = coalesce(approval.payee_salt, given.salt)
    from unnest(${column('payoutId')}::uuid[], ${column('salt')}::text[]) as given (payout_id, salt)
    where approval.partner_id = ${partnerId} and approval.payout_id = given.payout_id
    returning approval.payout_id, approval.payee_salt`),
  )
  return new Map(rows.map(({ payoutId, payeeSalt }) => [payoutId, payeeSalt]))
}

/** Stores the salt of the payee's digest in the snapshots of a payout, unless it has one. Returns the stored salt. */
export async function storePayeeSalt(tx: Tx, partnerId: string, payoutId: string, salt: string): Promise<string> {
  const row = await tx.row<{ readonly payeeSalt: string }>(sql`/* payouts.storePayeeSalt */
    update payouts.approvals set payee_salt = coalesce(payee_salt, ${salt})
    where partner_id = ${partnerId} and payout_id = ${payoutId} returning payee_salt`)
  return present(row, `no approval for payout ${payoutId}`).payeeSalt
}

export type DecidedApproval = {
  readonly partnerId: string
  readonly payoutId: string
  readonly decision: ApprovalDecision
  readonly decidedBy: string | null
  readonly decidedName: string | null
  readonly reason: string | null
}

/** Decides each approval once, under the locks of the payouts. A different number of open approvals fails the transaction. */
export function decideApprovals(tx: Tx, decided: readonly DecidedApproval[], now: Date): void {
  const column = columnValues(decided)
  tx.later(
    unprepared(sql`/* payouts.decideApprovals */
    update payouts.approvals as approval set decision = given.decision, decided_by = given.decided_by,
      decided_name = given.decided_name, reason = given.reason, decided_at = ${now}
    from unnest(${column('partnerId')}::uuid[], ${column('payoutId')}::uuid[], ${column('decision')}::text[],
      ${column('decidedBy')}::uuid[], ${column('decidedName')}::text[], ${column('reason')}::text[])
      as given (partner_id, payout_id, decision, decided_by, decided_name, reason)
    where approval.partner_id = given.partner_id and approval.payout_id = given.payout_id and approval.decision is null
      and ${ofOnePartner(column('partnerId'), sql`approval.partner_id`)}`),
    decided.length,
  )
}

type CountedApproval = {
  readonly partnerId: string
  readonly payoutId: string
  readonly countedIn: string
}

/** Records in which counters of their approvers approvals are counted, under the locks of the payouts. */
export function recordCounters(tx: Tx, counted: readonly CountedApproval[]): void {
  const column = columnValues(counted)
  tx.later(
    unprepared(sql`/* payouts.recordCounters */
    update payouts.approvals as approval set counted_in = given.counted_in
    from unnest(${column('partnerId')}::uuid[], ${column('payoutId')}::uuid[], ${column('countedIn')}::text[])
      as given (partner_id, payout_id, counted_in)
    where approval.partner_id = given.partner_id and approval.payout_id = given.payout_id
      and ${ofOnePartner(column('partnerId'), sql`approval.partner_id`)}`),
    counted.length,
  )
}

/** Reads the approvals of these payouts that are counted for their approvers. */
export async function countedApprovals(
  tx: Tx,
  payouts: readonly RowKey[],
): Promise<
  readonly (CountedApproval & {
    readonly decidedBy: string
    readonly decidedName: string
    readonly decidedAt: Date
  })[]
> {
  if (payouts.length === 0) return []
  return tx.rows(sql`/* payouts.countedApprovals */
    select partner_id, payout_id, counted_in, decided_by, decided_name, decided_at from payouts.approvals
    where ${ofPartners(payouts.map(({ partnerId }) => partnerId))} and payout_id = any(${payouts.map(({ id }) => id)}::uuid[])
      and counted_in is not null`)
}

export type ApprovalRecord = Pick<Approval, 'decision' | 'decidedBy'> & {
  readonly payoutId: string
  readonly decidedName: string | null
  readonly reason: string | null
  readonly decidedAt: Date | null
  readonly payeeSalt: string | null
}

export function decisionsOf(
  tx: Tx,
  partnerId: string,
  payoutIds: readonly string[],
): Promise<readonly ApprovalRecord[]> {
  return tx.rows<ApprovalRecord>(sql`/* payouts.decisionsOf */
    select payout_id, decision, decided_by, decided_name, reason, decided_at, payee_salt from payouts.approvals
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[])`)
}

/** Lists expired open approvals of all partners, the oldest first. Takes no lock. */
export function expiredApprovals(tx: Tx, now: Date, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows<RowKey>(
    dueWork('finds approvals whose time has ended, without a lock', (whose) =>
      unprepared(sql`/* payouts.expiredApprovals */
        select partner_id, payout_id as id from payouts.approvals
        where decision is null and expires_at <= ${now} and ${whose()} order by expires_at limit ${rowsMax}`),
    ),
  )
}

// SQL of what waits for an approval: single payouts, and bulks as one.

/**
 * Filter by requester: anyone, one account, or others than some accounts. A bulk of several requesters belongs to each
 * of them.
 */
export type RequesterFilter = 'any' | { readonly by: string } | { readonly notBy: readonly string[] }

type Page = { readonly made: RequesterFilter; readonly afterId: string | null; readonly rowsMax: number }

/**
 * Lists the newest keys after the cursor: of single payouts by the index approvals_open_alone, and of bulks by
 * approvals_open_of_bulk. A page reads the keys of bulks, but only the payouts that it shows.
 */
export function keysAwaitingApproval(
  tx: Tx,
  partnerId: string,
  { made, afterId, rowsMax }: Page,
): Promise<readonly { readonly id: string; readonly isBulk: boolean }[]> {
  const [alone, bulk] =
    made === 'any'
      ? [noSql, noSql]
      : 'by' in made
        ? [sql`and requested_by = ${made.by}`, sql`having bool_or(requested_by = ${made.by})`]
        : [
            sql`and requested_by <> all(${[...made.notBy]}::uuid[])`,
            sql`having bool_and(requested_by <> all(${[...made.notBy]}::uuid[]))`,
          ]
  return tx.rows(sql`/* payouts.keysAwaitingApproval */
    (select payout_id as id, false as is_bulk from payouts.approvals
      where partner_id = ${partnerId} and decision is null and bulk_id is null
        ${afterId === null ? noSql : sql`and payout_id < ${afterId}`} ${alone}
      order by payout_id desc limit ${rowsMax})
    union all
    (select bulk_id, true from payouts.approvals
      where partner_id = ${partnerId} and decision is null and bulk_id is not null
        ${afterId === null ? noSql : sql`and bulk_id < ${afterId}`}
      group by bulk_id ${bulk} order by bulk_id desc limit ${rowsMax})
    order by id desc limit ${rowsMax}`)
}

type WaitingAlone = PayoutRow & {
  readonly requestedBy: string
  readonly requestedName: string
  readonly expiresAt: Date
}

export async function singlePayoutsAwaitingApproval(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly WaitingAlone[]> {
  if (ids.length === 0) return []
  return tx.rows<WaitingAlone>(sql`/* payouts.singlePayoutsAwaitingApproval */
    select payout.*, approval.requested_by, approval.requested_name, approval.expires_at
    from (select ${payoutColumns} from payouts.payouts where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])) as payout
      join payouts.approvals approval on approval.partner_id = ${partnerId} and approval.payout_id = payout.id
    where approval.decision is null`)
}

export type BulkSum = {
  readonly bulkId: string
  readonly currency: Currency
  readonly payouts: bigint
  readonly amount: Minor
  readonly expiresAt: Date
  readonly createdAt: Date
  readonly requestedNames: readonly string[]
  readonly requestedBy: readonly string[]
}

/** Sums the waiting payouts of bulks by currency. */
export async function waitingBulkSums(
  tx: Tx,
  partnerId: string,
  bulkIds: readonly string[],
): Promise<readonly BulkSum[]> {
  if (bulkIds.length === 0) return []
  return tx.rows<BulkSum>(sql`/* payouts.waitingBulkSums */
    select approval.bulk_id, payout.currency, count(*) as payouts, sum(payout.amount)::bigint as amount,
      min(approval.expires_at) as expires_at, min(payout.created_at) as created_at,
      array_agg(distinct approval.requested_name order by approval.requested_name) as requested_names,
      array_agg(distinct approval.requested_by order by approval.requested_by) as requested_by
    from payouts.approvals approval
      join payouts.payouts payout on payout.partner_id = ${partnerId} and payout.id = approval.payout_id
    where approval.partner_id = ${partnerId} and approval.decision is null and approval.bulk_id = any(${[...bulkIds]}::uuid[])
    group by approval.bulk_id, payout.currency order by approval.bulk_id, payout.currency`)
}
