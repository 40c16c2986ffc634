/** SQL of payouts that a hold, a bank or an error keeps from ending, for the worker and for staff. */
import {
  acrossPartners,
  columnValues,
  dueWork,
  ofOnePartner,
  ofPartners,
  sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import type { UnfinishedPayment } from '../lifecycle/index.ts'
import type { PayoutStatus } from './rules.ts'
import type { Currency, Minor } from '../kernel/index.ts'
import { type PayoutRow } from './store.ts'

export type WaitingPayoutRow = {
  readonly partnerId: string
  readonly id: string
  readonly transactionId: string
  readonly status: PayoutStatus
  readonly amount: Minor
  readonly currency: Currency
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly sendAttempts: number
  readonly screeningSince: Date | null
}

const columns = sql`partner_id, id, transaction_id, status, amount, currency, created_at, updated_at, due_at, lease_id, send_attempts, screening_since`

/**
 * Lists payouts that wait for a decision about a name or a rule, the longest wait first. The conditions are those of
 * the index.
 */
export function heldPayouts(tx: Tx, rowsMax: number): Promise<readonly WaitingPayoutRow[]> {
  return tx.rows<WaitingPayoutRow>(
    acrossPartners(
      'lists payouts that wait for a decision about a name, by an index',
      sql`/* payouts.heldPayouts */ select ${columns} from payouts.payouts
        where screening_since is not null and due_at is not null and status = 'Pending'
        order by screening_since limit ${rowsMax}`,
    ),
  )
}

export type PartnerStatus = { readonly partnerId: string; readonly status: PayoutStatus }

/** Finds the oldest payout of each partner in a status. On a sharded database it is called with one partner. */
export function oldestOfStatuses(
  tx: Tx,
  wanted: readonly PartnerStatus[],
  rowsEach: number,
): Promise<readonly WaitingPayoutRow[]> {
  const column = columnValues(wanted)
  const partnerIds = column('partnerId')
  return tx.rows<WaitingPayoutRow>(
    unprepared(sql`/* payouts.oldestOfStatuses */
      select ${columns} from payouts.payouts
      where ${ofPartners(partnerIds)} and id = any(array(
        select found.id from unnest(${partnerIds}::uuid[], ${column('status')}::text[]) as given (owner_id, wanted_status)
        cross join lateral (select payout.id from payouts.payouts as payout
          where payout.partner_id = given.owner_id and ${ofOnePartner(partnerIds, sql`payout.partner_id`)}
            and payout.status = given.wanted_status
          order by payout.id limit ${rowsEach}) as found))`),
  )
}

/** Lists those of these payouts that may wait, in no particular order. */
export function unfinishedByIds(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly WaitingPayoutRow[]> {
  return tx.rows<WaitingPayoutRow>(sql`/* payouts.unfinishedByIds */
    select ${columns} from payouts.payouts
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and status in ('Pending', 'Processing', 'Sent')`)
}

export type PostponedPayout = {
  readonly partnerId: string
  readonly id: string
  readonly leaseId: string
  readonly dueAt: Date
  /** Time since which a person's decision is awaited; an earlier stored time stays. Null: screening will answer soon. */
  readonly heldAt: Date | null
}

/** Ends the leases of waiting payouts. Returns those that begin to wait for a person. */
export async function postponePayouts(
  tx: Tx,
  rows: readonly PostponedPayout[],
): Promise<readonly { readonly partnerId: string; readonly transactionId: string }[]> {
  const column = columnValues(rows)
  const changed = await tx.rows<{ partnerId: string; transactionId: string; begins: boolean | null }>(
    unprepared(sql`/* payouts.postponePayouts */
    update payouts.payouts as payout set due_at = given.due_at, lease_id = null,
      screening_since = coalesce(payout.screening_since, given.held_at)
    from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('leaseId')}::uuid[],
        ${column('dueAt')}::timestamptz[], ${column('heldAt')}::timestamptz[])
      as given (partner_id, id, lease_id, due_at, held_at)
    where ${ofPartners(
      rows.map(({ partnerId }) => partnerId),
      sql`payout.partner_id`,
    )}
      and payout.partner_id = given.partner_id and payout.id = given.id and payout.lease_id = given.lease_id
    returning payout.partner_id, payout.transaction_id, payout.screening_since = given.held_at as begins`),
  )
  return changed.filter(({ begins }) => begins === true)
}

/** Lists partners with due payouts of the connector that wait for a decision, the longest wait first. */
export function partnersWithHeld(
  tx: Tx,
  connector: string,
  now: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with payouts that wait for a decision, without a lock, by an index of those',
      (whose) => sql`/* payouts.partnersWithHeld */
        select partner_id from payouts.payouts
        where screening_since is not null and due_at <= ${now} and status = 'Pending' and connector = ${connector} and ${whose()}
        group by partner_id order by min(screening_since), partner_id limit ${partnersMax}`,
    ),
  )
}

/** Lists the payouts of one party that wait for a decision, the longest wait first, by their index. */
export function payoutsOfHit(
  tx: Tx,
  {
    partnerId,
    subjectKind,
    subjectId,
    account,
  }: Readonly<Record<'partnerId' | 'subjectKind' | 'subjectId', string>> & {
    readonly account: string | null
  },
  rowsMax: number,
): Promise<readonly (Pick<PayoutRow, 'id' | 'reference' | 'amount' | 'currency'> & { readonly since: Date })[]> {
  const ofParty = {
    customer: sql`customer_id = ${subjectId}`,
    beneficiary: sql`(beneficiary_id = ${subjectId} or upper(replace(creditor_account, ' ', '')) = ${account}::text)`,
    payout: sql`id = ${subjectId}`,
    partner: sql`true`,
  }[subjectKind]
  if (ofParty === undefined) return Promise.resolve([])
  return tx.rows(sql`/* payouts.payoutsOfHit */
    select id, reference, amount, currency, screening_since as since from payouts.payouts
    where partner_id = ${partnerId} and screening_since is not null and due_at is not null and status = 'Pending' and ${ofParty}
    order by screening_since, id limit ${rowsMax}`)
}

/**
 * Returns when the oldest waiting payout began to wait for a decision about a name. Null: none waits. The condition on `due_at` is
 * that of the index.
 */
export async function oldestInScreening(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ since: Date }>(
    acrossPartners(
      'reads since when the oldest payout waits for a decision about a name, for a metric',
      sql`/* payouts.oldestInScreening */ select screening_since as since from payouts.payouts
        where screening_since is not null and due_at is not null and status = 'Pending'
        order by screening_since limit 1`,
    ),
  )
  return row?.since ?? null
}

/**
 * Finds the oldest payout of each partner in each status. A payout that is due after `keptBeyond` counts from its due
 * time: its connector keeps it on purpose. On a sharded database it is called with one partner.
 */
export function readOldestByStatus(
  tx: Tx,
  partnerIds: readonly string[],
  statuses: readonly PayoutStatus[],
  keptBeyond: Date,
): Promise<readonly UnfinishedPayment[]> {
  return tx.rows<UnfinishedPayment>(
    unprepared(sql`/* payouts.readOldestByStatus */
      select partner_id, id, status, connector, case when due_at > ${keptBeyond} then due_at else created_at end as since
      from payouts.payouts
      where ${ofPartners(partnerIds)} and id = any(array(
        select (select payout.id from payouts.payouts as payout
          where payout.partner_id = given.owner_id and ${ofOnePartner(partnerIds, sql`payout.partner_id`)}
            and payout.status = wanted.status
          order by payout.id limit 1)
        from unnest(${[...partnerIds]}::uuid[]) as given (owner_id) cross join unnest(${[...statuses]}::text[]) as wanted (status)))`),
  )
}
