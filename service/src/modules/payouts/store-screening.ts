/** The SQL of payouts that wait for a decision of screening or monitoring. */
import type { PayoutRow } from './store.ts'
import { columnOf, dueWork, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'

export type Postponed = {
  readonly partnerId: string
  readonly id: string
  readonly leaseId: string
  readonly dueAt: Date
  /** The time since which a person's decision is awaited; an earlier time stays. Null: its names are compared soon. */
  readonly heldAt: Date | null
}

/** Ends the leases of payouts that wait. Returns those that begin to wait for a person. */
export async function postpone(
  tx: Tx,
  rows: readonly Postponed[],
): Promise<readonly { readonly partnerId: string; readonly transactionId: string }[]> {
  const column = columnOf(rows)
  const changed = await tx.rows<{ partnerId: string; transactionId: string; begins: boolean | null }>(
    unprepared(sql`/* payouts.postpone */
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

/** Partners with due payouts of the connector that wait for a decision, the longest wait first. */
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

/** The payouts of one party that wait for a decision, the longest wait first, by the index of those that wait. */
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
