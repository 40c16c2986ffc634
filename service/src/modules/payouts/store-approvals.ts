/** The SQL of approvals. */
import {
  columnOf,
  dueWork,
  insertBy,
  namesOf,
  ofOnePartner,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import { present } from '../../kernel/index.ts'
import { payoutColumns, type PayoutId, type PayoutRow } from './store.ts'

export type Decision = 'approved' | 'rejected' | 'expired' | 'cancelled'

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
    insert into payouts.approvals (${namesOf(approvalColumns)}) ${newApprovals(tx, approvals)}`)
}

export type Approval = Pick<NewApproval, 'requestedBy' | 'requestedName' | 'cause' | 'expiresAt' | 'needsPasskey'> & {
  readonly decision: Decision | null
  readonly decidedBy: string | null
}

export function approvalById(tx: Tx, partnerId: string, payoutId: string): Promise<Approval | undefined> {
  return tx.row<Approval>(sql`/* payouts.approvalById */
    select requested_by, requested_name, cause, expires_at, needs_passkey, decision, decided_by from payouts.approvals
    where partner_id = ${partnerId} and payout_id = ${payoutId}`)
}

/** The open approvals of the payouts of a bulk, in time. */
export function openOfBulk(
  tx: Tx,
  partnerId: string,
  bulkId: string,
  now: Date,
): Promise<readonly (Pick<NewApproval, 'payoutId'> & Omit<Approval, 'cause' | 'decision' | 'decidedBy'>)[]> {
  return tx.rows(sql`/* payouts.openOfBulk */
    select payout_id, requested_by, requested_name, expires_at, needs_passkey from payouts.approvals
    where partner_id = ${partnerId} and bulk_id = ${bulkId} and decision is null and expires_at > ${now}`)
}

export function payoutsByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`/* payouts.payoutsByIds */
    select ${payoutColumns} from payouts.payouts where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
}

/** Bulks with payouts that wait, by id: the newest bulk first. */
export function bulksThatWait(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly { readonly bulkId: string }[]> {
  return tx.rows(sql`/* payouts.bulksThatWait */
    select distinct bulk_id from payouts.approvals
    where partner_id = ${partnerId} and decision is null and bulk_id is not null order by bulk_id desc limit ${rowsMax}`)
}

/** Keeps a salt for each of many payouts, as `keepPayeeSalt` does. Returns the salts by payout. */
export async function keepPayeeSalts(
  tx: Tx,
  partnerId: string,
  salts: readonly { readonly payoutId: string; readonly salt: string }[],
): Promise<ReadonlyMap<string, string>> {
  const column = columnOf(salts)
  const rows = await tx.rows<{ readonly payoutId: string; readonly payeeSalt: string }>(
    unprepared(sql`/* payouts.keepPayeeSalts */
    update payouts.approvals approval set payee_salt = coalesce(approval.payee_salt, given.salt)
    from unnest(${column('payoutId')}::uuid[], ${column('salt')}::text[]) as given (payout_id, salt)
    where approval.partner_id = ${partnerId} and approval.payout_id = given.payout_id
    returning approval.payout_id, approval.payee_salt`),
  )
  return new Map(rows.map(({ payoutId, payeeSalt }) => [payoutId, payeeSalt]))
}

/** The salt of the payee's digest in the snapshots of a payout, which is this one if it has none yet. */
export async function keepPayeeSalt(tx: Tx, partnerId: string, payoutId: string, salt: string): Promise<string> {
  const row = await tx.row<{ readonly payeeSalt: string }>(sql`/* payouts.keepPayeeSalt */
    update payouts.approvals set payee_salt = coalesce(payee_salt, ${salt})
    where partner_id = ${partnerId} and payout_id = ${payoutId} returning payee_salt`)
  return present(row, 'a payout that waits has an approval').payeeSalt
}

export type DecidedApproval = {
  readonly partnerId: string
  readonly payoutId: string
  readonly decision: Decision
  readonly decidedBy: string | null
  readonly decidedName: string | null
  readonly reason: string | null
}

/**
 * Decides each approval once, under the locks of their payouts. A different number of open ones fails the transaction.
 */
export function decideApprovals(tx: Tx, decided: readonly DecidedApproval[], now: Date): void {
  const column = columnOf(decided)
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

/** Keeps in which counters of their approvers approvals are counted, under the locks of their payouts. */
export function keepCounted(tx: Tx, counted: readonly CountedApproval[]): void {
  const column = columnOf(counted)
  tx.later(
    unprepared(sql`/* payouts.keepCounted */
    update payouts.approvals as approval set counted_in = given.counted_in
    from unnest(${column('partnerId')}::uuid[], ${column('payoutId')}::uuid[], ${column('countedIn')}::text[])
      as given (partner_id, payout_id, counted_in)
    where approval.partner_id = given.partner_id and approval.payout_id = given.payout_id
      and ${ofOnePartner(column('partnerId'), sql`approval.partner_id`)}`),
    counted.length,
  )
}

/** The approvals of these payouts that are counted for their approvers. */
export async function countedApprovals(
  tx: Tx,
  payouts: readonly PayoutId[],
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

export type MadeDecision = Pick<Approval, 'decision' | 'decidedBy'> & {
  readonly payoutId: string
  readonly decidedName: string | null
  readonly reason: string | null
  readonly decidedAt: Date | null
  readonly payeeSalt: string | null
}

export function decisionsOf(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<readonly MadeDecision[]> {
  return tx.rows<MadeDecision>(sql`/* payouts.decisionsOf */
    select payout_id, decision, decided_by, decided_name, reason, decided_at, payee_salt from payouts.approvals
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[])`)
}

/** Open approvals whose time has ended, the oldest first, of all partners. Takes no lock. */
export function lapsedApprovals(tx: Tx, now: Date, rowsMax: number): Promise<readonly PayoutId[]> {
  return tx.rows<PayoutId>(
    dueWork('finds approvals whose time has ended, without a lock', (whose) =>
      unprepared(sql`/* payouts.lapsedApprovals */
        select partner_id, payout_id as id from payouts.approvals
        where decision is null and expires_at <= ${now} and ${whose()} order by expires_at limit ${rowsMax}`),
    ),
  )
}
