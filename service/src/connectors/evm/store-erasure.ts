/** The SQL that erases the personal data of transfers after its retention. */
import type { Sealer } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { travelRuleContext } from './sealed.ts'

/**
 * Erases the parties of ended payments. `ids`: those of the instructions. The travel-rule parties are replaced by a
 * sealed empty value.
 */
export async function eraseTransfers(tx: Tx, sealer: Sealer, partnerId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const sealed = ids.map((id) => sealer.seal('{}', travelRuleContext(partnerId, id)))
  await tx.run(sql`/* rails.eraseTransfers */
    update rails.chain_transfers set creditor_name = '', error_details = null, travel_rule_sealed = erased.sealed
    from unnest(${ids}::uuid[], ${sealed}::bytea[]) as erased (id, sealed)
    where chain_transfers.partner_id = ${partnerId} and chain_transfers.id = erased.id`)
}
