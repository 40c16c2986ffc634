/** All SQL of fees. */
import type { Currency } from '../../kernel/index.ts'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { FeeRule } from './fee-rules.ts'

const columns = sql`partner_id, id, currency, rail, fixed_amount, basis_points, min_amount, max_amount, valid_from`

/** Rules of these partners and currencies, and perhaps others of the same partners. */
export function feesFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<readonly FeeRule[]> {
  return tx.rows<FeeRule>(sql`/* payouts.feesFor */
    select ${columns} from payouts.fee_rules
    where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])`)
}

/** By currency and rail, oldest first. */
export function listFees(tx: Tx, partnerId: string): Promise<readonly FeeRule[]> {
  return tx.rows<FeeRule>(sql`/* payouts.listFees */
    select ${columns} from payouts.fee_rules where partner_id = ${partnerId} order by currency, rail, valid_from`)
}

/** Replaces the rule with the same currency, rail and time, and keeps its id. */
export async function setFee(tx: Tx, rule: FeeRule, now: Date): Promise<FeeRule> {
  const [row] = await tx.rows<FeeRule>(sql`/* payouts.setFee */
    insert into payouts.fee_rules (partner_id, id, currency, rail, fixed_amount, basis_points, min_amount, max_amount,
      valid_from, created_at)
    values (${rule.partnerId}, ${rule.id}, ${rule.currency}, ${rule.rail}, ${rule.fixedAmount}, ${rule.basisPoints},
      ${rule.minAmount}, ${rule.maxAmount}, ${rule.validFrom}, ${now})
    on conflict (partner_id, currency, rail, valid_from) do update set fixed_amount = excluded.fixed_amount,
      basis_points = excluded.basis_points, min_amount = excluded.min_amount, max_amount = excluded.max_amount
    returning ${columns}`)
  return row ?? rule
}

/** The removed rule, if there was one. */
export function removeFee(tx: Tx, partnerId: string, id: string): Promise<FeeRule | undefined> {
  return tx.row<FeeRule>(sql`/* payouts.removeFee */
    delete from payouts.fee_rules where partner_id = ${partnerId} and id = ${id} returning ${columns}`)
}
