/** Reads across payouts: their ages, candidates for reconciliation, and those that are not begun. */
import type { Currency, Minor } from '../../kernel/index.ts'
import type { Unfinished } from '../../lifecycle/index.ts'
import { acrossPartners, ofOnePartner, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'
import { payoutColumns, type PayoutRow } from './store.ts'

/** The payouts with these ids, in no order. */
export function payoutsByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly PayoutRow[]> {
  return tx.rows<PayoutRow>(sql`/* payouts.payoutsByIds */
    select ${payoutColumns} from payouts.payouts where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
}

/** The time since which payouts wait for a decision about a name. Null: none waits. The condition on `due_at` is that of the index. */
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
 * The oldest payout of each partner in each status. One that is due after `keptBeyond` counts from its due time: its
 * connector keeps it on purpose. On a sharded database it is called with one partner.
 */
export function oldestIn(
  tx: Tx,
  partnerIds: readonly string[],
  statuses: readonly PayoutStatus[],
  keptBeyond: Date,
): Promise<readonly Unfinished[]> {
  return tx.rows<Unfinished>(
    unprepared(sql`/* payouts.oldestIn */
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

export type InstructionStatus = {
  readonly partnerId: string
  readonly endToEndId: string
  readonly status: PayoutStatus
}

export function statusesOfInstructions(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly endToEndId: string }[],
): Promise<readonly InstructionStatus[]> {
  return tx.rows<InstructionStatus>(sql`/* payouts.statusesOfInstructions */
    select partner_id, end_to_end_id, status from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and end_to_end_id = any(${keys.map((key) => key.endToEndId)}::text[])`)
}

export type PayoutOfAmount = {
  readonly partnerId: string
  readonly id: string
  readonly status: PayoutStatus
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly endToEndId: string
  readonly partnerEndToEndId: string | null
  readonly reference: string
  readonly createdAt: Date
}

/** Payouts of a partner with this amount, after an id, newest first. */
export function payoutsOfAmount(
  tx: Tx,
  partnerId: string,
  wanted: { readonly currency: Currency; readonly amount: Minor; readonly after: string; readonly rowsMax: number },
): Promise<readonly PayoutOfAmount[]> {
  return tx.rows<PayoutOfAmount>(sql`/* payouts.payoutsOfAmount */
    select partner_id, id, status, currency, amount, creditor_name, creditor_account, end_to_end_id,
      partner_end_to_end_id, reference, created_at
    from payouts.payouts
    where partner_id = ${partnerId} and currency = ${wanted.currency} and amount = ${wanted.amount} and id > ${wanted.after}::uuid
    order by id desc limit ${wanted.rowsMax}`)
}

export function endToEndIdOf(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly endToEndId: string } | undefined> {
  return tx.row(sql`/* payouts.endToEndIdOf */
    select end_to_end_id from payouts.payouts where partner_id = ${partnerId} and id = ${id}`)
}

/** The owner of the payouts: the balance that is debited, or a customer. The other one is null. */
type WaitingOf =
  | { readonly currency: Currency; readonly customerId: null }
  | { readonly currency: null; readonly customerId: string }

/** The ids of payouts that are not begun, oldest first. */
export async function waitingPayouts(
  tx: Tx,
  partnerId: string,
  of: WaitingOf,
  rowsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* payouts.waitingPayouts */
    select id from payouts.payouts
    where partner_id = ${partnerId} and status in ('Pending', 'PendingApproval')
      and ${of.customerId !== null ? sql`customer_id = ${of.customerId}` : sql`coalesce(sold_currency, currency) = ${of.currency}`}
    order by id limit ${rowsMax}`)
  return rows.map(({ id }) => id)
}
