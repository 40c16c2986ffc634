/** Pure: limits and their periods, approvals, fees and cooling-offs. */
import { Refusal } from '../../kernel/api/index.ts'
import { ownJson, payouts, type Rail, type VerificationState } from '@partner-payments/wire'
import {
  after,
  amountText,
  type Currency,
  hourMs,
  type Minor,
  nilId,
  partnerKey,
  type Money,
} from '../../kernel/index.ts'
import { conversionText, type ControlledAmount } from './sides.ts'
import type { PayeeCheck } from '../../parties/beneficiaries/index.ts'

const { limitScopes, limitPeriods } = payouts
export type LimitScope = (typeof limitScopes)[number]
/** Scopes of the counters of limits, and of the counter of the daily sum without approval. */
export const counterScopes = [...limitScopes, 'unapproved'] as const
type BaseScope = (typeof counterScopes)[number]
type AllCurrencies<Scope extends string> = `all.${Scope}`
/** Scopes of the counters across all currencies. */
export const counterScopesOfAll = counterScopes.map((scope): AllCurrencies<BaseScope> => `all.${scope}`)
/** `approver`: counts the sum that a person has approved. Only approvals read and write these counters. */
export type CounterScope = BaseScope | 'approver' | AllCurrencies<BaseScope | 'approver'>
export type LimitPeriod = (typeof limitPeriods)[number]
export const counterPeriods = limitPeriods.filter((period) => period !== 'payment')

/** Maximum sum of a period, in minor units of the currency. */
export type Limit = {
  readonly partnerId: string
  readonly id: string
  readonly scope: LimitScope
  /**
   * Id of the customer or the beneficiary. Nil UUID: the limit is for the partner, or for each customer or beneficiary
   * without its own limit.
   */
  readonly scopeId: string
  /** The limit applies only to customers in this state of verification. Null: in every state. */
  readonly verificationState: VerificationState | null
  readonly currency: Currency
  /** True: payouts in every currency count, with their amount in `currency`. */
  readonly allCurrencies: boolean
  readonly period: LimitPeriod
  readonly amount: Minor
}

/**
 * The partner, customer and beneficiary whose limits apply to a payout. Null: the payout has none, and limits of that
 * scope do not apply.
 */
export type LimitedPayee = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly beneficiaryId: string | null
}

/**
 * Key of a counter: the amount paid in a period by the partner or a customer, or to a beneficiary. All limits with this
 * key share the counter.
 */
export type CounterKey = {
  readonly partnerId: string
  readonly currency: Currency
  readonly scope: CounterScope
  readonly scopeId: string
  readonly period: Exclude<LimitPeriod, 'payment'>
  /** YYYY-MM-DD, in UTC. */
  readonly startsOn: string
}

export const counterMapKey = ({ partnerId, currency, scope, scopeId, period, startsOn }: CounterKey): string =>
  partnerKey(partnerId, currency, scope, scopeId, period, startsOn)

/**
 * A limit that applies to an amount of a payout. `counter`: undefined for the limit of a single payment. `otherwise`: a
 * payout beyond the limit is not refused, but needs this approval.
 */
export type ApplicableLimit = {
  readonly limit: Pick<Limit, 'amount' | 'currency'>
  readonly otherwise?: RequiredApproval
  readonly name: string
  readonly side: ControlledAmount
  readonly counter: Counter | undefined
}
/** `mapKey` is computed once, because every step of a batch uses it. */
export type Counter = CounterKey & { readonly mapKey: string }

/** Parts of a name such as `customer.day`. */
type LimitNameParts = { readonly scope: CounterScope; readonly period: LimitPeriod }
const limitName = ({ scope, period }: LimitNameParts): string => `${scope}.${period}`

/**
 * Returns the name of a limit for an amount: `sold.customer.day` for a sold amount, which may be counted in addition to
 * the paid one; `all.customer.day` across all currencies.
 */
export const sideLimitName = ({ name }: Pick<ControlledAmount, 'name'>, limit: LimitNameParts): string =>
  name === 'paid' ? limitName(limit) : `${name}.${limitName(limit)}`

/** Returns the scope of the counter for an amount. */
export const scopeFor = <Scope extends BaseScope | 'approver'>(
  { name }: Pick<ControlledAmount, 'name'>,
  scope: Scope,
): Scope | AllCurrencies<Scope> => (name === 'all' ? `all.${scope}` : scope)

const scopeIdOf = ({ customerId, beneficiaryId }: LimitedPayee, scope: BaseScope): string | null => {
  if (scope === 'partner' || scope === 'unapproved') return nilId
  return scope === 'customer' ? customerId : beneficiaryId
}

/** Limits of a partner in a currency, by name, and then by customer, state of verification, or beneficiary. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, Limit>>

export const limitTable = (limits: readonly Limit[]): LimitTable =>
  new Map(
    [...Map.groupBy(limits, limitName)].map(([name, named]) => [
      name,
      new Map(named.map((limit) => [limit.verificationState ?? limit.scopeId, limit])),
    ]),
  )

/** Reports whether one of the limits applies to a day or a month. */
export const hasCountedLimits = (limits: LimitTable): boolean =>
  [...limits.keys()].some((name) => counterPeriods.some((period) => name.endsWith(`.${period}`)))

/**
 * Lists the limits that apply to a payout, by scope and then by period. A customer's own limit takes precedence over
 * that of its state, which takes precedence over the general limit.
 */
export const applicableLimits = (
  limits: LimitTable,
  payee: LimitedPayee & { readonly verificationState: VerificationState | null },
  side: ControlledAmount,
  starts: PeriodStarts,
): readonly ApplicableLimit[] =>
  limitScopes.flatMap((scope) =>
    limitPeriods.flatMap((period) => {
      const scopeId = scopeIdOf(payee, scope)
      if (scopeId === null) return []
      const named = limits.get(limitName({ scope, period }))
      const ofState = scope === 'customer' ? named?.get(payee.verificationState ?? '') : undefined
      const limit = named?.get(scopeId) ?? ofState ?? named?.get(nilId)
      if (limit === undefined) return []
      const counted = scopeFor(side, scope)
      const counter = period === 'payment' ? undefined : counterOf(limit, { scope: counted, scopeId, period }, starts)
      return [{ limit, name: sideLimitName(side, { scope, period }), side, counter }]
    }),
  )

/** Returns the limit for the daily sum without approval: a payout beyond it needs an approval. */
export function dayApprovalLimit(
  { amount, needed }: { readonly amount: Minor; readonly needed: RequiredApproval },
  { partnerId }: Pick<LimitedPayee, 'partnerId'>,
  side: ControlledAmount,
  starts: PeriodStarts,
): ApplicableLimit {
  const { currency } = side
  const named = { scope: 'unapproved', scopeId: nilId, period: 'day' } as const
  const counter = counterOf({ partnerId, currency }, { ...named, scope: scopeFor(side, named.scope) }, starts)
  return { limit: { amount, currency }, otherwise: needed, name: sideLimitName(side, named), side, counter }
}

/** Lists all counters of an amount, including those without a limit. */
const countersFor = (
  payee: LimitedPayee,
  { currency, ...side }: Pick<ControlledAmount, 'currency' | 'name'>,
  starts: PeriodStarts,
): readonly (Counter & { readonly name: string })[] =>
  counterScopes.flatMap((scope) => {
    const scopeId = scopeIdOf(payee, scope)
    if (scopeId === null) return []
    const { partnerId } = payee
    return counterPeriods.map((period) => ({
      ...counterOf({ partnerId, currency }, { scope: scopeFor(side, scope), scopeId, period }, starts),
      name: sideLimitName(side, { scope, period }),
    }))
  })

export function counterOf(
  { partnerId, currency }: Pick<Limit, 'partnerId' | 'currency'>,
  named: Pick<CounterKey, 'scope' | 'scopeId' | 'period'>,
  starts: PeriodStarts,
): Counter {
  const key = { partnerId, currency, ...named, startsOn: starts[named.period] }
  return { ...key, mapKey: counterMapKey(key) }
}

/** First days of the periods that contain a time, in UTC, as YYYY-MM-DD. */
export type PeriodStarts = Readonly<Record<CounterKey['period'], string>>

export function periodStarts(time: Date): PeriodStarts {
  const day = time.toISOString().slice(0, 10)
  return { day, month: `${day.slice(0, 7)}-01` }
}

/** Returns the time at which the next period begins, in UTC. */
export function resetsAt({ period, startsOn }: Pick<CounterKey, 'period' | 'startsOn'>): Date {
  const next = new Date(`${startsOn}T00:00:00Z`)
  if (period === 'day') next.setUTCDate(next.getUTCDate() + 1)
  else next.setUTCMonth(next.getUTCMonth() + 1)
  return next
}

/** Returns the remaining amount of a limit; never below zero. */
export const remainingAmount = ({ amount }: Pick<Limit, 'amount'>, used: Minor): Minor =>
  used < amount ? amount - used : 0n

/**
 * Checks an amount against a limit. Returns the refusal limit_exceeded. Undefined: the amount is within the limit.
 * `used`: the current sums of the counters.
 */
export function limitRefusal(
  { limit, name, side, counter }: ApplicableLimit,
  used: ReadonlyMap<string, Minor>,
): Refusal | undefined {
  const left = remainingAmount(limit, counter === undefined ? 0n : (used.get(counter.mapKey) ?? 0n))
  if (side.amount <= left) return undefined
  const money = (minor: Minor) => `${amountText(minor, limit.currency)} ${limit.currency}`
  const detail =
    counter === undefined
      ? `The limit ${name} is ${money(limit.amount)} for one payout.`
      : `The limit ${name} is ${money(limit.amount)}. ${money(left)} is left until ${resetsAt(counter).toISOString()}.`
  const most =
    side.name === 'all' ? `count as at most ${money(left)}` : `be at most ${amountText(left, limit.currency)}`
  const message = `must ${most} by the limit ${name}.${conversionText(side)}`.replace(/\.$/, '')
  return new Refusal('limit_exceeded', `${detail}${conversionText(side)}`, {
    errors: [{ pointer: side.pointer, code: 'out_of_range', message }],
  })
}

/**
 * Name of a counter in which an amount of a payout was counted. Across all currencies also the amount, because no other
 * column stores it.
 */
export type CountedIn = string | { readonly name: string; readonly currency: Currency; readonly amount: string }

export const countedIn = (name: string, { name: side, currency, amount }: ControlledAmount): CountedIn =>
  side === 'all' ? { name, currency, amount: String(amount) } : name

/**
 * Lists the amounts that were counted under these names: those of the payout's columns, and those stored with the
 * names.
 */
export function sidesCounted(
  kept: string,
  sides: readonly ControlledAmount[],
): readonly { readonly side: Omit<ControlledAmount, 'pointer'>; readonly names: ReadonlySet<string> }[] {
  const counted = ownJson<readonly CountedIn[]>(kept)
  const names = new Set(counted.filter((each) => typeof each === 'string'))
  const ofAll = counted.filter((each) => typeof each !== 'string')
  return [
    ...sides.map((side) => ({ side, names })),
    ...ofAll.map(({ name, currency, amount }) => ({
      side: { name: 'all' as const, currency, amount: BigInt(amount) },
      names: new Set([name]),
    })),
  ]
}

/** Formats the names of the counters in which a payout was counted, for its row. */
export function formatCounterNames(limits: readonly ApplicableLimit[]): string | null {
  const counted = limits.filter(({ counter }) => counter !== undefined)
  return counted.length === 0 ? null : JSON.stringify(counted.map(({ name, side }) => countedIn(name, side)))
}

/** Lists the counters in which a payout was counted, with the amounts: those of the period of its acceptance. */
export function parseCounters(
  payout: LimitedPayee & { readonly countedIn: string | null; readonly createdAt: Date },
  sides: readonly ControlledAmount[],
): readonly (Counter & Pick<ControlledAmount, 'amount'>)[] {
  if (payout.countedIn === null) return []
  const starts = periodStarts(payout.createdAt)
  return sidesCounted(payout.countedIn, sides).flatMap(({ side, names }) =>
    countersFor(payout, side, starts)
      .filter(({ name }) => names.has(name))
      .map(({ name: _name, ...counter }) => ({ ...counter, amount: side.amount })),
  )
}

/**
 * The criteria by which a payout needs an approval: it is above an amount; its beneficiary is too new; it would exceed
 * the daily sum (UTC) without approval; the sum of its bulk is above an amount; or the beneficiary is not the account
 * holder. Null: the criterion does not apply.
 */
export type ApprovalRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  /** True: payouts in every currency are compared by their amount in `currency`. */
  readonly allCurrencies: boolean
  readonly aboveAmount: Minor | null
  readonly aboveDayAmount: Minor | null
  readonly aboveBulkAmount: Minor | null
  readonly beneficiaryHours: number | null
  readonly payeeMismatch: boolean
  /** Sum that one person may approve on a day (UTC). Null: no maximum. */
  readonly perPersonAmount: Minor | null
  readonly expiresHours: number
  /** True: only a person with a passkey may approve. */
  readonly needsPasskey: boolean
}

/** Reason why a payout needs an approval, as a word and as a sentence, and the time at which it expires. */
export type RequiredApproval = {
  readonly cause: 'amount' | 'day' | 'bulk' | 'beneficiary' | 'payee'
  readonly because: string
  /** Amount of the rule that the payout exceeds. Absent: the cause is not an amount. */
  readonly above?: Money
  readonly expiresAt: Date
  readonly needsPasskey: boolean
}

type AmountToCheck = Omit<ControlledAmount, 'pointer'> & {
  readonly partnerId: string
  /** Time at which the beneficiary was created. Null: the payout has none. */
  readonly beneficiarySince: Date | null
  /** Last result of the verification of the beneficiary's name and account. Null: not verified. */
  readonly payeeCheck: PayeeCheck | null
  /** Sum of the payout's bulk, in this currency or across all. Null: the payout is not part of a bulk. */
  readonly bulkSum: Minor | null
}

/** Reason for an approval by verification result. Null: the name matches the account. */
export const payeeMismatches: Readonly<Record<PayeeCheck, string | null>> = {
  match: null,
  close_match: 'The name of the beneficiary is not exactly that of the account.',
  no_match: 'The name of the beneficiary does not match the account.',
}

/** Finds the rule for a currency, or the rule across all currencies. */
const findApprovalRule = (
  rules: readonly ApprovalRule[],
  { partnerId, currency, name }: Pick<AmountToCheck, 'partnerId' | 'currency' | 'name'>,
) =>
  rules.find(
    (each) => each.partnerId === partnerId && each.currency === currency && each.allCurrencies === (name === 'all'),
  )

export function requiredApproval(
  rules: readonly ApprovalRule[],
  payout: AmountToCheck,
  now: Date,
): RequiredApproval | null {
  const { currency, amount, beneficiarySince, payeeCheck, bulkSum } = payout
  const rule = findApprovalRule(rules, payout)
  if (rule === undefined) return null
  const { aboveAmount, aboveBulkAmount, beneficiaryHours, payeeMismatch, expiresHours, needsPasskey } = rule
  const expiresAt = after(now, expiresHours * hourMs)
  // First, because the approver must know it.
  const mismatch = payeeMismatch && payeeCheck !== null ? payeeMismatches[payeeCheck] : null
  if (mismatch !== null) return { cause: 'payee', because: mismatch, expiresAt, needsPasskey }
  if (aboveAmount !== null && amount > aboveAmount) {
    const because = `The amount is above ${amountText(aboveAmount, currency)} ${currency}.${conversionText(payout)}`
    return { cause: 'amount', because, above: { amount: aboveAmount, currency }, expiresAt, needsPasskey }
  }
  if (aboveBulkAmount !== null && bulkSum !== null && bulkSum > aboveBulkAmount) {
    const because = `The payouts of the bulk are above ${amountText(aboveBulkAmount, currency)} ${currency}.`
    return { cause: 'bulk', because, above: { amount: aboveBulkAmount, currency }, expiresAt, needsPasskey }
  }
  if (beneficiaryHours === null || beneficiarySince === null) return null
  if (after(beneficiarySince, beneficiaryHours * hourMs) <= now) return null
  const because = `The beneficiary was created less than ${beneficiaryHours} hours ago.`
  return { cause: 'beneficiary', because, expiresAt, needsPasskey }
}

/**
 * Returns the maximum daily sum without approval, and the approval for payouts beyond it. Undefined: there is no
 * maximum.
 */
export function dayApprovalRule(
  rules: readonly ApprovalRule[],
  payout: Omit<ControlledAmount, 'pointer'> & { readonly partnerId: string },
  now: Date,
): { readonly amount: Minor; readonly needed: RequiredApproval } | undefined {
  const { currency } = payout
  const rule = findApprovalRule(rules, payout)
  if (rule === undefined || rule.aboveDayAmount === null) return undefined
  const { aboveDayAmount: amount, expiresHours, needsPasskey } = rule
  const because = `The payouts of this day (UTC) without an approval are above ${amountText(amount, currency)} ${currency}.${conversionText(payout)}`
  const above = { amount, currency }
  const expiresAt = after(now, expiresHours * hourMs)
  return { amount, needed: { cause: 'day', because, above, expiresAt, needsPasskey } }
}

export const feeRails = ['any', 'Sepa', 'Swift', 'Wallet'] as const

/** Amounts in minor units of `currency`; 10,000 basis points are 100 %. */
export type FeeRule = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  /** `any`: for rails without a rule of their own. */
  readonly rail: (typeof feeRails)[number]
  readonly fixedAmount: Minor
  readonly basisPoints: number
  readonly minAmount: Minor
  /** Null: no maximum. */
  readonly maxAmount: Minor | null
  /** The rule applies from then until the next rule of the same rail begins. */
  readonly validFrom: Date
}

type ChargedPayout = {
  readonly partnerId: string
  readonly currency: Currency
  readonly rail: Rail
  readonly amount: Minor
}

/** Finds the newest rule of the rail that applies at a time; otherwise the newest such rule for any rail. */
function findFeeRule(
  rules: readonly FeeRule[],
  { partnerId, currency, rail }: ChargedPayout,
  now: Date,
): FeeRule | undefined {
  const valid = rules.filter(
    (rule) => rule.partnerId === partnerId && rule.currency === currency && rule.validFrom <= now,
  )
  const newest = (of: FeeRule['rail']) =>
    valid.filter((rule) => rule.rail === of).toSorted((a, b) => b.validFrom.getTime() - a.validFrom.getTime())[0]
  return newest(rail) ?? newest('any')
}

export type CurrentFee = {
  readonly rule: FeeRule
  /** False: the rule begins in the future. */
  readonly isInForce: boolean
  /** Time at which the next rule of the same currency and rail begins. Null: there is none. */
  readonly validUntil: Date | null
}

/** Lists current and future rules in the given order, in which those of a currency and rail are oldest first. */
export function listCurrentFees(rules: readonly FeeRule[], now: Date): readonly CurrentFee[] {
  return rules.flatMap((rule, at) => {
    const next = rules[at + 1]
    const isReplaced = next !== undefined && next.currency === rule.currency && next.rail === rule.rail
    const validUntil = isReplaced ? next.validFrom : null
    if (validUntil !== null && validUntil <= now) return []
    return [{ rule, isInForce: rule.validFrom <= now, validUntil }]
  })
}

const wholeFee = 10_000n

/**
 * Computes the fee: fixed part plus share, the share rounded up to the minor unit, within the bounds of the rule. Zero:
 * no rule applies.
 */
export function payoutFee(rules: readonly FeeRule[], charged: ChargedPayout, now: Date): Minor {
  const rule = findFeeRule(rules, charged, now)
  if (rule === undefined) return 0n
  const { fixedAmount, basisPoints, minAmount, maxAmount } = rule
  const fee = fixedAmount + (charged.amount * BigInt(basisPoints) + wholeFee - 1n) / wholeFee
  const atLeast = fee < minAmount ? minAmount : fee
  return maxAmount !== null && atLeast > maxAmount ? maxAmount : atLeast
}

/** Hours for which a beneficiary must be unchanged before it is paid in the currency. */
export type CoolingOff = {
  readonly partnerId: string
  readonly id: string
  readonly currency: Currency
  readonly hours: number
}

type PayoutToBeneficiary = {
  readonly partnerId: string
  readonly currency: Currency
  /** Time since which the beneficiary has had its account and its name. Null: the payout has none. */
  readonly unchangedSince: Date | null
}

/** Returns the end of the cooling-off. Null: no rule applies to the payout. Undefined: the cooling-off has ended. */
export function coolingOffEnd(
  rules: readonly CoolingOff[],
  payout: PayoutToBeneficiary,
  now: Date,
): Date | undefined | null {
  const { partnerId, currency, unchangedSince } = payout
  const rule = rules.find((each) => each.partnerId === partnerId && each.currency === currency)
  if (rule === undefined || unchangedSince === null) return null
  const from = after(unchangedSince, rule.hours * hourMs)
  return from <= now ? undefined : from
}

export function refuseCoolingOff(from: Date): Refusal {
  const time = from.toISOString()
  return new Refusal(
    'beneficiary_cooling_off',
    `The beneficiary is new or has a new name. It can be paid from ${time}.`,
    {
      errors: [{ pointer: '/beneficiaryId', code: 'invalid_value', message: `can be paid from ${time}` }],
    },
  )
}
