/** The rules of the operator for what leaves a balance: whether there are any, and those that may hold a payout back. */
import type { Currency } from '../../kernel/index.ts'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { ApprovalRule } from './approval-rules.ts'
import type { CoolingOff } from './cooling-off-rules.ts'

export async function hasControls(tx: Tx, partnerId: string, currency: Currency): Promise<boolean> {
  const row = await tx.row(sql`/* payouts.hasControls */
    select id from payouts.limits where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.fee_rules where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.approval_rules where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.cooling_offs where partner_id = ${partnerId} and currency = ${currency}
    limit 1`)
  return row !== undefined
}

type HoldingRule = Pick<CoolingOff, 'partnerId' | 'id' | 'currency'> &
  ((Omit<ApprovalRule, keyof CoolingOff> & { readonly hours: null }) | { readonly hours: number })

/** Rules of these partners and currencies, and perhaps others of the same partners. One statement, because payouts wait for it. */
export async function holdingRulesFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<{ readonly approvals: readonly ApprovalRule[]; readonly coolingOffs: readonly CoolingOff[] }> {
  const approvals: ApprovalRule[] = []
  const coolingOffs: CoolingOff[] = []
  const rows = await tx.rows<HoldingRule>(sql`/* payouts.holdingRulesFor */
    select partner_id, id, currency, above_amount, beneficiary_hours, expires_hours, null::integer as hours
    from payouts.approval_rules where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])
    union all
    select partner_id, id, currency, null, null, null, hours
    from payouts.cooling_offs where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])`)
  for (const { hours, ...rule } of rows)
    if (hours === null) approvals.push(rule as ApprovalRule)
    else coolingOffs.push({ ...rule, hours })
  return { approvals, coolingOffs }
}
