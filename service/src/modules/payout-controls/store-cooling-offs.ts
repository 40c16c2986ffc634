/** The SQL of what the operator sets about cooling-offs. Payouts read them with the rules of approvals (`store-controls.ts`). */
import { sql, type Tx } from '../../postgres/index.ts'
import type { CoolingOff } from './cooling-off-rules.ts'

export function listCoolingOffs(tx: Tx, partnerId: string): Promise<readonly CoolingOff[]> {
  return tx.rows<CoolingOff>(sql`/* payouts.listCoolingOffs */
    select partner_id, id, currency, hours from payouts.cooling_offs where partner_id = ${partnerId} order by currency`)
}

/** Replaces the hours of the currency, and keeps the id. */
export async function setCoolingOff(tx: Tx, rule: CoolingOff, now: Date): Promise<CoolingOff> {
  const [row] = await tx.rows<CoolingOff>(sql`/* payouts.setCoolingOff */
    insert into payouts.cooling_offs (partner_id, id, currency, hours, created_at, updated_at)
    values (${rule.partnerId}, ${rule.id}, ${rule.currency}, ${rule.hours}, ${now}, ${now})
    on conflict (partner_id, currency) do update set hours = excluded.hours, updated_at = excluded.updated_at
    returning partner_id, id, currency, hours`)
  return row ?? rule
}

/** Answers the number of removed rows: 1 or 0. */
export function removeCoolingOff(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* payouts.removeCoolingOff */
    delete from payouts.cooling_offs where partner_id = ${partnerId} and id = ${id}`)
}
