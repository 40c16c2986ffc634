/** The SQL of the operator's rules for a balance, apart from limits: fees, approvals, cooling-offs, and whether there is any rule. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { ApprovalRule } from './approval-rules.ts'
import type { CoolingOff } from './cooling-off-rules.ts'
import type { FeeRule } from './fee-rules.ts'

export async function hasControls(tx: Tx, partnerId: string, currency: Currency): Promise<boolean> {
  const row = await tx.row(sql`/* payout-controls.hasControls */
    select id from payouts.limits where partner_id = ${partnerId} and (currency = ${currency} or all_currencies)
    union all
    select id from payouts.fee_rules where partner_id = ${partnerId} and currency = ${currency}
    union all
    select id from payouts.approval_rules where partner_id = ${partnerId} and (currency = ${currency} or all_currencies)
    union all
    select id from payouts.cooling_offs where partner_id = ${partnerId} and currency = ${currency}
    limit 1`)
  return row !== undefined
}

/** The currency of the partner's rules over all currencies. Undefined: it has none. */
export async function currencyOverAll(tx: Tx, partnerId: string): Promise<Currency | undefined> {
  const row = await tx.row<{ readonly currency: Currency }>(sql`/* payout-controls.currencyOverAll */
    select currency from payouts.limits where partner_id = ${partnerId} and all_currencies
    union all
    select currency from payouts.approval_rules where partner_id = ${partnerId} and all_currencies
    limit 1`)
  return row?.currency
}

type HoldingRule = Pick<CoolingOff, 'partnerId' | 'id' | 'currency'> &
  ((Omit<ApprovalRule, keyof CoolingOff> & { readonly hours: null }) | { readonly hours: number })

/** Rules of these partners and currencies, and possibly others of the same partners. One statement, because payouts wait for it. */
export async function holdingRulesFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<{ readonly approvals: readonly ApprovalRule[]; readonly coolingOffs: readonly CoolingOff[] }> {
  const approvals: ApprovalRule[] = []
  const coolingOffs: CoolingOff[] = []
  const rows = await tx.rows<HoldingRule>(sql`/* payout-controls.holdingRulesFor */
    select partner_id, id, currency, all_currencies, above_amount, above_day_amount, above_bulk_amount, beneficiary_hours, per_person_amount, expires_hours, needs_passkey,
      payee_mismatch, null::integer as hours
    from payouts.approval_rules where ${ofPartners(partnerIds)} and (currency = any(${currencies}::text[]) or all_currencies)
    union all
    select partner_id, id, currency, null, null, null, null, null, null, null, null, null, hours
    from payouts.cooling_offs where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])`)
  for (const { hours, ...rule } of rows)
    if (hours === null) approvals.push(rule as ApprovalRule)
    else coolingOffs.push({ ...rule, hours })
  return { approvals, coolingOffs }
}

const feeColumns = sql`partner_id, id, currency, rail, fixed_amount, basis_points, min_amount, max_amount, valid_from`

/** Rules of these partners and currencies, and possibly others of the same partners. */
export function feesFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<readonly FeeRule[]> {
  return tx.rows<FeeRule>(sql`/* payout-controls.feesFor */
    select ${feeColumns} from payouts.fee_rules
    where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])`)
}

/** The fee rules of a partner, by currency and rail, oldest first. */
export function listFees(tx: Tx, partnerId: string): Promise<readonly FeeRule[]> {
  return tx.rows<FeeRule>(sql`/* payout-controls.listFees */
    select ${feeColumns} from payouts.fee_rules where partner_id = ${partnerId} order by currency, rail, valid_from`)
}

/** Replaces the rule with the same currency, rail and time, and keeps its id. */
export async function setFee(tx: Tx, rule: FeeRule, now: Date): Promise<FeeRule> {
  const [row] = await tx.rows<FeeRule>(sql`/* payout-controls.setFee */
    insert into payouts.fee_rules (partner_id, id, currency, rail, fixed_amount, basis_points, min_amount, max_amount,
      valid_from, created_at)
    values (${rule.partnerId}, ${rule.id}, ${rule.currency}, ${rule.rail}, ${rule.fixedAmount}, ${rule.basisPoints},
      ${rule.minAmount}, ${rule.maxAmount}, ${rule.validFrom}, ${now})
    on conflict (partner_id, currency, rail, valid_from) do update set fixed_amount = excluded.fixed_amount,
      basis_points = excluded.basis_points, min_amount = excluded.min_amount, max_amount = excluded.max_amount
    returning ${feeColumns}`)
  return row ?? rule
}

/** Returns the number of removed rows: 1 or 0. */
export function removeFee(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* payout-controls.removeFee */
    delete from payouts.fee_rules where partner_id = ${partnerId} and id = ${id}`)
}

const approvalRuleColumns = sql`partner_id, id, currency, all_currencies, above_amount, above_day_amount, above_bulk_amount, beneficiary_hours, per_person_amount,
  expires_hours, needs_passkey, payee_mismatch`

export function listApprovalRules(tx: Tx, partnerId: string): Promise<readonly ApprovalRule[]> {
  return tx.rows<ApprovalRule>(sql`/* payout-controls.listApprovalRules */
    select ${approvalRuleColumns} from payouts.approval_rules where partner_id = ${partnerId} order by currency, all_currencies`)
}

/** Replaces the rule of the currency, or that over all currencies, and keeps its id. */
export async function setApprovalRule(tx: Tx, rule: ApprovalRule, now: Date): Promise<ApprovalRule> {
  const [row] = await tx.rows<ApprovalRule>(sql`/* payout-controls.setApprovalRule */
    insert into payouts.approval_rules (partner_id, id, currency, all_currencies, above_amount, above_day_amount, above_bulk_amount, beneficiary_hours,
      per_person_amount, expires_hours, needs_passkey, payee_mismatch, created_at, updated_at)
    values (${rule.partnerId}, ${rule.id}, ${rule.currency}, ${rule.allCurrencies}, ${rule.aboveAmount}, ${rule.aboveDayAmount},
      ${rule.aboveBulkAmount}, ${rule.beneficiaryHours}, ${rule.perPersonAmount}, ${rule.expiresHours}, ${rule.needsPasskey}, ${rule.payeeMismatch},
      ${now}, ${now})
    on conflict (partner_id, currency, all_currencies) do update set above_amount = excluded.above_amount, above_day_amount = excluded.above_day_amount,
      above_bulk_amount = excluded.above_bulk_amount,
      beneficiary_hours = excluded.beneficiary_hours, per_person_amount = excluded.per_person_amount, expires_hours = excluded.expires_hours, needs_passkey = excluded.needs_passkey,
      payee_mismatch = excluded.payee_mismatch,
      updated_at = excluded.updated_at
    returning ${approvalRuleColumns}`)
  return row ?? rule
}

/** A daily maximum per person of a partner in a currency. */
export type Maximum = Pick<ApprovalRule, 'partnerId' | 'currency' | 'allCurrencies'> & {
  readonly perPersonAmount: Minor
}

/** Maxima of these partners and currencies, and possibly others of the same partners. */
export function maximaFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<readonly Maximum[]> {
  return tx.rows<Maximum>(sql`/* payout-controls.maximaFor */
    select partner_id, currency, all_currencies, per_person_amount from payouts.approval_rules
    where ${ofPartners(partnerIds)} and (currency = any(${currencies}::text[]) or all_currencies) and per_person_amount is not null`)
}

/** Returns the number of removed rows: 1 or 0. */
export function removeApprovalRule(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* payout-controls.removeApprovalRule */
    delete from payouts.approval_rules where partner_id = ${partnerId} and id = ${id}`)
}

export function listCoolingOffs(tx: Tx, partnerId: string): Promise<readonly CoolingOff[]> {
  return tx.rows<CoolingOff>(sql`/* payout-controls.listCoolingOffs */
    select partner_id, id, currency, hours from payouts.cooling_offs where partner_id = ${partnerId} order by currency`)
}

/** Replaces the hours of the currency, and keeps the id. */
export async function setCoolingOff(tx: Tx, rule: CoolingOff, now: Date): Promise<CoolingOff> {
  const [row] = await tx.rows<CoolingOff>(sql`/* payout-controls.setCoolingOff */
    insert into payouts.cooling_offs (partner_id, id, currency, hours, created_at, updated_at)
    values (${rule.partnerId}, ${rule.id}, ${rule.currency}, ${rule.hours}, ${now}, ${now})
    on conflict (partner_id, currency) do update set hours = excluded.hours, updated_at = excluded.updated_at
    returning partner_id, id, currency, hours`)
  return row ?? rule
}

/** Returns the number of removed rows: 1 or 0. */
export function removeCoolingOff(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* payout-controls.removeCoolingOff */
    delete from payouts.cooling_offs where partner_id = ${partnerId} and id = ${id}`)
}
