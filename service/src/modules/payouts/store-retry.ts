/** The statements of a retry by a person. */
import { sql, type Tx } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'

/** Returns 1, or 0 if no attempt follows or one holds the payout. A lease is never shortened. */
export function makeDue(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* payouts.makeDue */
    update payouts.payouts set due_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status in ('Pending', 'Processing') and lease_id is null
      and due_at > ${now}`)
}

export function stateOf(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<
  { readonly status: PayoutStatus; readonly leaseId: string | null; readonly dueAt: Date | null } | undefined
> {
  return tx.row(sql`/* payouts.stateOf */
    select status, lease_id, due_at from payouts.payouts where partner_id = ${partnerId} and id = ${id}`)
}
