/** All SQL of the operator's rules: fees, approvals, cooling-offs, and limits with their counters. */
import { type Currency, type Minor, nilId } from '../../kernel/index.ts'
import {
  columnValues,
  insertBy,
  columnList,
  noSql,
  ofOnePartner,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
} from '../../postgres/index.ts'
import {
  type ApprovalRule,
  type CoolingOff,
  type CounterKey,
  counterPeriods,
  type CounterScope,
  counterScopes,
  type FeeRule,
  type Limit,
  type LimitScope,
  type PeriodStarts,
} from './rules.ts'
import type { VerificationState } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'

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

/** Finds the currency of the partner's rules across all currencies. Undefined: it has none. */
export async function currencyOverAll(tx: Tx, partnerId: string): Promise<Currency | undefined> {
  const row = await tx.row<{ readonly currency: Currency }>(sql`/* payout-controls.currencyOverAll */
    select currency from payouts.limits where partner_id = ${partnerId} and all_currencies
    union all
    select currency from payouts.approval_rules where partner_id = ${partnerId} and all_currencies
    limit 1`)
  return row?.currency
}

type ControlRule = Pick<CoolingOff, 'partnerId' | 'id' | 'currency'> &
  ((Omit<ApprovalRule, keyof CoolingOff> & { readonly hours: null }) | { readonly hours: number })

/**
 * Reads the approval rules and cooling-offs of these partners and currencies. May return others of the same partners.
 * One statement, because payouts wait for it.
 */
export async function readControlRules(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<{ readonly approvals: readonly ApprovalRule[]; readonly coolingOffs: readonly CoolingOff[] }> {
  const approvals: ApprovalRule[] = []
  const coolingOffs: CoolingOff[] = []
  const rows = await tx.rows<ControlRule>(sql`/* payout-controls.readControlRules */
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

/** Reads fee rules of these partners and currencies. May return others of the same partners. */
export function readFeeRules(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<readonly FeeRule[]> {
  return tx.rows<FeeRule>(sql`/* payout-controls.readFeeRules */
    select ${feeColumns} from payouts.fee_rules
    where ${ofPartners(partnerIds)} and currency = any(${currencies}::text[])`)
}

/** Lists the fee rules of a partner, by currency and rail, oldest first. */
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

/** Replaces the rule of the currency, or the rule across all currencies, and keeps its id. */
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

/** Daily maximum per person of a partner in a currency. */
export type ApproverMaximum = Pick<ApprovalRule, 'partnerId' | 'currency' | 'allCurrencies'> & {
  readonly perPersonAmount: Minor
}

/** Reads maxima of these partners and currencies. May return others of the same partners. */
export function maximaFor(
  tx: Tx,
  partnerIds: readonly string[],
  currencies: readonly Currency[],
): Promise<readonly ApproverMaximum[]> {
  return tx.rows<ApproverMaximum>(sql`/* payout-controls.maximaFor */
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

/** Replaces the hours of the currency, and keeps the rule's id. */
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

// SQL of limits and their counters.

const columns = sql`partner_id, id, scope, scope_id, nullif(verification_state, 'Any') as verification_state, currency, all_currencies, period, amount`

/**
 * Reads the limits of these partners, currencies, customers and beneficiaries. May also return other limits of these
 * partners, because it combines one key's partner with another key's currency.
 */
export function limitsFor(
  tx: Tx,
  wanted: {
    readonly partnerIds: readonly string[]
    readonly currencies: readonly Currency[]
    readonly scopeIds: readonly string[]
  },
): Promise<readonly Limit[]> {
  return tx.rows<Limit>(sql`/* payout-controls.limitsFor */
    select ${columns} from payouts.limits
    where ${ofPartners(wanted.partnerIds)} and (currency = any(${wanted.currencies}::text[]) or all_currencies)
      and scope_id = any(${wanted.scopeIds}::uuid[])`)
}

/**
 * Reads at most `limitsMax` limits of single customers and beneficiaries. Those across all currencies come first: a
 * partner with too many limits has no other sign that it has them.
 */
export function readOwnLimits(
  tx: Tx,
  partnerId: string,
  currency: Currency,
  limitsMax: number,
): Promise<readonly Limit[]> {
  return tx.rows<Limit>(sql`/* payout-controls.readOwnLimits */
    select ${columns} from payouts.limits
    where partner_id = ${partnerId} and (currency = ${currency} or all_currencies) and scope in ('customer', 'beneficiary') and scope_id <> ${nilId}
    order by all_currencies desc limit ${limitsMax}`)
}

/** Lists the limits of a partner, in the order of their creation. */
export function listLimits(tx: Tx, partnerId: string): Promise<readonly Limit[]> {
  return tx.rows<Limit>(sql`/* payout-controls.listLimits */
    select ${columns} from payouts.limits where partner_id = ${partnerId} order by id`)
}

export type LimitFilter = {
  readonly scope: LimitScope | null
  readonly currency: string | null
  /** The customer or beneficiary: lists only the limits that apply to it, and those of the partner. */
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  /** State of the customer's verification. Null: the filter has no customer. */
  readonly verificationState: VerificationState | null
}

/**
 * Lists limits, newest first. For a customer or a beneficiary, its own limit replaces the limit of the customer's state
 * and the general limit in the same currency and period; the limit of the state replaces the general one.
 */
export function readableLimits(
  tx: Tx,
  partnerId: string,
  { scope, currency, customerId, beneficiaryId, verificationState }: LimitFilter,
  { afterId, limit }: PageRequest,
): Promise<readonly Limit[]> {
  const holders = [customerId, beneficiaryId].filter((id) => id !== null)
  const scopes = [
    'partner',
    ...(customerId === null ? [] : ['customer']),
    ...(beneficiaryId === null ? [] : ['beneficiary']),
  ]
  const holding = sql`and held.scope = any(${scopes}::text[]) and held.scope_id = any(${[nilId, ...holders]}::uuid[])
      and held.verification_state = any(${['Any', ...(verificationState === null ? [] : [verificationState])]}::text[])
      and not (held.scope <> 'partner' and held.scope_id = ${nilId} and exists (
        select 1 from payouts.limits as own
        where own.partner_id = ${partnerId} and own.currency = held.currency and own.all_currencies = held.all_currencies and own.scope = held.scope
          and own.period = held.period and (own.scope_id = any(${holders}::uuid[])
            or (held.verification_state = 'Any' and own.verification_state = ${verificationState}))))`
  return tx.rows<Limit>(sql`/* payout-controls.readableLimits */
    select ${columns} from payouts.limits as held where held.partner_id = ${partnerId}
    ${scope === null ? noSql : sql`and held.scope = ${scope}`}
    ${currency === null ? noSql : sql`and held.currency = ${currency}`}
    ${holders.length === 0 ? noSql : holding}
    ${afterId === null ? noSql : sql`and held.id < ${afterId}`}
    order by held.id desc limit ${limit + 1}`)
}

/** Creates the limit. If it exists, sets its amount and keeps its id. */
export async function setLimit(tx: Tx, limit: Limit, now: Date): Promise<Limit> {
  const [row] = await tx.rows<Limit>(sql`/* payout-controls.setLimit */
    insert into payouts.limits (partner_id, id, scope, scope_id, verification_state, currency, all_currencies, period, amount, created_at, updated_at)
    values (${limit.partnerId}, ${limit.id}, ${limit.scope}, ${limit.scopeId}, ${limit.verificationState ?? 'Any'}, ${limit.currency},
      ${limit.allCurrencies}, ${limit.period}, ${limit.amount}, ${now}, ${now})
    on conflict (partner_id, currency, scope, scope_id, period, verification_state, all_currencies)
      do update set amount = excluded.amount, updated_at = excluded.updated_at
    returning ${columns}`)
  return row ?? limit
}

export function limitById(tx: Tx, partnerId: string, id: string): Promise<Limit | undefined> {
  return tx.row<Limit>(sql`/* payout-controls.limitById */
    select ${columns} from payouts.limits where partner_id = ${partnerId} and id = ${id}`)
}

/** Returns the number of removed rows: 1 or 0. */
export function removeLimit(tx: Tx, partnerId: string, id: string): Promise<number> {
  return tx.run(sql`/* payout-controls.removeLimit */
    delete from payouts.limits where partner_id = ${partnerId} and id = ${id}`)
}

const counterColumns = {
  partnerId: 'uuid',
  currency: 'text',
  scope: 'text',
  scopeId: 'uuid',
  period: 'text',
  startsOn: 'date',
  used: 'bigint',
} as const
export type CounterRow = RowOf<typeof counterColumns, Pick<CounterKey, 'currency' | 'scope' | 'period'>>
const counterKey = ['partnerId', 'currency', 'scope', 'scopeId', 'period', 'startsOn'] as const
const newCounters = insertBy<CounterRow>(counterColumns, [], counterKey)

/** Creates missing counters in the order of their keys, so that two batches cannot deadlock. */
export function ensureCounters(tx: Tx, keys: readonly CounterKey[]): void {
  tx.later(sql`/* payout-controls.ensureCounters */
    insert into payouts.limit_counters (${columnList(counterColumns)})
    ${newCounters(
      tx,
      keys.map((key) => ({ ...key, used: 0n })),
    )}
    on conflict (partner_id, currency, scope, scope_id, period, starts_on) do nothing`)
}

/**
 * Locks the counters in the order of their keys. May also return and lock counters that combine columns of several
 * keys: it compares each column with a list, because such a statement has one good plan, even on an empty table.
 */
export function lockCounters(tx: Tx, keys: readonly CounterKey[]): Promise<readonly CounterRow[]> {
  const column = columnValues(keys)
  return tx.rows<CounterRow>(sql`/* payout-controls.lockCounters */
    select partner_id, currency, scope, scope_id, period, starts_on, used from payouts.limit_counters
    where ${ofPartners(column('partnerId'))} and currency = any(${column('currency')}::text[])
      and scope = any(${column('scope')}::text[]) and scope_id = any(${column('scopeId')}::uuid[])
      and period = any(${column('period')}::text[]) and starts_on = any(${column('startsOn')}::date[])
    order by partner_id, currency, scope, scope_id, period, starts_on for no key update`)
}

/** Reads the counters for any combination of these values, without a lock. */
export function readCounters(
  tx: Tx,
  wanted: {
    readonly partnerIds: readonly string[]
    readonly currencies: readonly Currency[]
    readonly scopeIds: readonly string[]
    readonly starts: PeriodStarts
    /** Default: the counters of acceptance. */
    readonly scopes?: readonly CounterScope[]
  },
): Promise<readonly CounterRow[]> {
  const { day, month } = wanted.starts
  const { scopes = counterScopes } = wanted
  return tx.rows<CounterRow>(sql`/* payout-controls.readCounters */
    select partner_id, currency, scope, scope_id, period, starts_on, used from payouts.limit_counters
    where ${ofPartners(wanted.partnerIds)} and currency = any(${wanted.currencies}::text[])
      and scope = any(${scopes}::text[]) and scope_id = any(${wanted.scopeIds}::uuid[])
      and period = any(${counterPeriods}::text[]) and starts_on = any(${[day, month]}::date[])`)
}

export type CounterChange = CounterKey & { readonly by: Minor }

/** Inserts counters with their maxima in the order of their keys, so that two batches cannot deadlock. */
const counted = insertBy<CountedRow>({ ...counterColumns, most: 'bigint' }, [], counterKey)
type CountedRow = CounterRow & { readonly most: Minor }

/**
 * Adds to each counter once, and creates missing counters. A sum beyond `most` becomes -1, which violates
 * `limit_counters_used_check`.
 */
export function addToCounters(tx: Tx, changes: readonly (CounterChange & { readonly most: Minor })[]): void {
  tx.later(sql`/* payout-controls.addToCounters */
    insert into payouts.limit_counters as counter (${columnList(counterColumns)}, most)
    ${counted(
      tx,
      changes.map(({ by, ...change }) => ({ ...change, used: by })),
    )}
    on conflict (partner_id, currency, scope, scope_id, period, starts_on) do update set most = excluded.most,
      used = case when counter.used + excluded.used <= excluded.most then counter.used + excluded.used else -1 end`)
}

/** Changes each counter once, under the caller's locks. A counter that was deleted after its period is not created again. */
export function changeCounters(tx: Tx, changes: readonly CounterChange[]): void {
  const column = columnValues(changes)
  tx.later(sql`/* payout-controls.changeCounters */
    update payouts.limit_counters as counter set used = counter.used + change.by
    from unnest(${column('partnerId')}::uuid[], ${column('currency')}::text[], ${column('scope')}::text[],
      ${column('scopeId')}::uuid[], ${column('period')}::text[], ${column('startsOn')}::date[], ${column('by')}::bigint[])
      as change (partner_id, currency, scope, scope_id, period, starts_on, by)
    where counter.partner_id = change.partner_id and counter.currency = change.currency and counter.scope = change.scope
      and counter.scope_id = change.scope_id and counter.period = change.period and counter.starts_on = change.starts_on
      and ${ofOnePartner(column('partnerId'), sql`counter.partner_id`)}`)
}
