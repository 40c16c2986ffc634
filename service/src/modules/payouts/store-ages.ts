/** How long payouts have stood in a status. */
import type { Unfinished } from '../../lifecycle/index.ts'
import { acrossPartners, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'

/** Since when payouts wait for a decision about a name. Null: none waits. The condition on `due_at` is that of the index. */
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
 * The oldest payout of each of some partners in each of some statuses. One that is due after `keptBeyond` counts from then: its
 * connector keeps it on purpose. On a sharded database it is called with one partner.
 */
export function oldestIn(
  tx: Tx,
  partnerIds: readonly string[],
  statuses: readonly PayoutStatus[],
  keptBeyond: Date,
): Promise<readonly Unfinished[]> {
  const oldest = partnerIds
    .flatMap((partnerId) =>
      statuses.map(
        (status) => sql`(select id from payouts.payouts
          where partner_id = ${partnerId} and status = ${status} order by id limit 1)`,
      ),
    )
    .reduce((all, one) => sql`${all}, ${one}`)
  return tx.rows<Unfinished>(
    unprepared(sql`/* payouts.oldestIn */
    select partner_id, id, status, connector, case when due_at > ${keptBeyond} then due_at else created_at end as since
    from payouts.payouts
    where ${ofPartners(partnerIds)} and id = any(array[${oldest}])`),
  )
}

/** When the oldest due payout of the connector became due, of all partners. */
export async function oldestDue(tx: Tx, connector: string, now: Date): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    unprepared(
      acrossPartners(
        'reads the age of the oldest due payout, for a metric',
        sql`/* payouts.oldestDue */ select min(due_at) as due_at from payouts.payouts
          where connector = ${connector} and due_at <= ${now}`,
      ),
    ),
  )
  return row?.dueAt ?? null
}
