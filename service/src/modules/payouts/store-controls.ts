/** Whether the operator has set any rule for what leaves a balance. */
import type { Currency } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'

export async function hasControls(tx: Tx, partnerId: string, currency: Currency): Promise<boolean> {
  const row = await tx.row(sql`/* payouts.hasControls */
    select id from payouts.limits where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.fee_rules where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.approval_rules where partner_id = ${partnerId} and currency = ${currency}
    limit 1`)
  return row !== undefined
}
