/** The SQL of payouts that are not begun. */
import type { Currency } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'

/** Whose: of the balance that is debited, or of a customer. The other one is null. */
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
