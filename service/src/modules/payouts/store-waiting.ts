/** Reads payouts that wait for a person: held ones, those that stand still, and those whose outcome at the bank is unknown. */
import { acrossPartners, columnOf, ofOnePartner, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'

export type WaitingRow = {
  readonly partnerId: string
  readonly id: string
  readonly status: PayoutStatus
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly sendAttempts: number
  readonly screeningSince: Date | null
}

const columns = sql`partner_id, id, status, created_at, updated_at, due_at, lease_id, send_attempts, screening_since`

/** Payouts that wait for a decision about a name or a rule, the longest wait first. The conditions are those of the index. */
export function heldPayouts(tx: Tx, rowsMax: number): Promise<readonly WaitingRow[]> {
  return tx.rows<WaitingRow>(
    acrossPartners(
      'lists payouts that wait for a decision about a name, by an index',
      sql`/* payouts.heldPayouts */ select ${columns} from payouts.payouts
        where screening_since is not null and due_at is not null and status = 'Pending'
        order by screening_since limit ${rowsMax}`,
    ),
  )
}

export type StatusOfPartner = { readonly partnerId: string; readonly status: PayoutStatus }

/** The oldest payouts of some partners in a status each. On a sharded database it is called with one partner. */
export function oldestOfStatuses(
  tx: Tx,
  wanted: readonly StatusOfPartner[],
  rowsEach: number,
): Promise<readonly WaitingRow[]> {
  const column = columnOf(wanted)
  const partnerIds = column('partnerId')
  return tx.rows<WaitingRow>(
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

/** Reads those of these payouts that may wait, in no order. */
export function unfinishedByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly WaitingRow[]> {
  return tx.rows<WaitingRow>(sql`/* payouts.unfinishedByIds */
    select ${columns} from payouts.payouts
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and status in ('Pending', 'Processing', 'Sent')`)
}
