/** Pure: the limits that apply to a payout, their periods, and the amounts that remain. */
import { Refusal } from '../../kernel/api/index.ts'
import { ownJson, type VerificationState } from '@partner-payments/wire'
import { amountText, type Currency, type Minor, nilId, partnerKey } from '../../kernel/index.ts'
import type { NeededApproval } from './approval-rules.ts'
import { countsAs, type Side } from './sides.ts'

export const limitScopes = ['partner', 'customer', 'beneficiary'] as const
export type LimitScope = (typeof limitScopes)[number]
/** Counters that belong to limits, and the one of what leaves without an approval. */
export const counterScopes = [...limitScopes, 'unapproved'] as const
type HeldScope = (typeof counterScopes)[number]
type OfAll<Scope extends string> = `all.${Scope}`
/** Counters over all currencies. */
export const counterScopesOfAll = counterScopes.map((scope): OfAll<HeldScope> => `all.${scope}`)
/** `approver`: what a person has approved. Only approvals read and write these counters. */
export type CounterScope = HeldScope | 'approver' | OfAll<HeldScope | 'approver'>
export const limitPeriods = ['payment', 'day', 'month'] as const
export type LimitPeriod = (typeof limitPeriods)[number]
export const counterPeriods = limitPeriods.filter((period) => period !== 'payment')

/** The most that may be paid in a period, in minor units of the currency. */
export type Limit = {
  readonly partnerId: string
  readonly id: string
  readonly scope: LimitScope
  /** The customer or the beneficiary. The nil UUID: each one that has no limit of its own, or the partner. */
  readonly scopeId: string
  /** Limits customers in this state of their verification only. Null: in every state. */
  readonly verificationState: VerificationState | null
  readonly currency: Currency
  /** True: payouts in every currency count, by their amount in `currency`. */
  readonly allCurrencies: boolean
  readonly period: LimitPeriod
  readonly amount: Minor
}

/** The holders of the limits of a payout. Null: it has none, so that limits of that scope do not hold for it. */
export type LimitedPayee = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly beneficiaryId: string | null
}

/** Names a counter: the amount paid in a period, by payee or customer. All limits on them share it. */
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
 * A limit that holds for an amount of a payout. `counter`: undefined for the limit of a single payment. `otherwise`: a payout beyond it is not refused,
 * but needs this approval.
 */
export type HoldingLimit = {
  readonly limit: Pick<Limit, 'amount' | 'currency'>
  readonly otherwise?: NeededApproval
  readonly name: string
  readonly side: Side
  readonly counter: Counter | undefined
}
/** `mapKey`: made once, because every step of a batch uses it. */
export type Counter = CounterKey & { readonly mapKey: string }

/** `customer.day`. */
type Named = { readonly scope: CounterScope; readonly period: LimitPeriod }
export const nameOf = ({ scope, period }: Named): string => `${scope}.${period}`

/** `sold.customer.day` for a sold amount, which may be counted in addition to the paid one; `all.customer.day` over all currencies. */
export const nameFor = ({ name }: Pick<Side, 'name'>, limit: Named): string =>
  name === 'paid' ? nameOf(limit) : `${name}.${nameOf(limit)}`

/** The scope of the counter of an amount. */
export const scopeFor = <Scope extends HeldScope | 'approver'>(
  { name }: Pick<Side, 'name'>,
  scope: Scope,
): Scope | OfAll<Scope> => (name === 'all' ? `all.${scope}` : scope)

const scopeIdOf = ({ customerId, beneficiaryId }: LimitedPayee, scope: HeldScope): string | null => {
  if (scope === 'partner' || scope === 'unapproved') return nilId
  return scope === 'customer' ? customerId : beneficiaryId
}

/** The limits of a partner in a currency, by name and then by customer, state of verification, or beneficiary. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, Limit>>

export const limitTable = (limits: readonly Limit[]): LimitTable =>
  new Map(
    [...Map.groupBy(limits, nameOf)].map(([name, named]) => [
      name,
      new Map(named.map((limit) => [limit.verificationState ?? limit.scopeId, limit])),
    ]),
  )

/** Reports whether a payout is counted for any of the limits. */
export const areCounted = (limits: LimitTable): boolean =>
  [...limits.keys()].some((name) => counterPeriods.some((period) => name.endsWith(`.${period}`)))

/**
 * The limits of a payout, by scope and then by period: the customer's own limit comes before that of its state, and that before the limit of
 * each one.
 */
export const limitsOf = (
  limits: LimitTable,
  payee: LimitedPayee & { readonly verificationState: VerificationState | null },
  side: Side,
  starts: PeriodStarts,
): readonly HoldingLimit[] =>
  limitScopes.flatMap((scope) =>
    limitPeriods.flatMap((period) => {
      const scopeId = scopeIdOf(payee, scope)
      if (scopeId === null) return []
      const named = limits.get(nameOf({ scope, period }))
      const ofState = scope === 'customer' ? named?.get(payee.verificationState ?? '') : undefined
      const limit = named?.get(scopeId) ?? ofState ?? named?.get(nilId)
      if (limit === undefined) return []
      const counted = scopeFor(side, scope)
      const counter = period === 'payment' ? undefined : counterOf(limit, { scope: counted, scopeId, period }, starts)
      return [{ limit, name: nameFor(side, { scope, period }), side, counter }]
    }),
  )

/** The sum of a day that leaves without an approval: a limit beyond which a payout needs one. */
export function dayOfApproval(
  { amount, needed }: { readonly amount: Minor; readonly needed: NeededApproval },
  { partnerId }: Pick<LimitedPayee, 'partnerId'>,
  side: Side,
  starts: PeriodStarts,
): HoldingLimit {
  const { currency } = side
  const named = { scope: 'unapproved', scopeId: nilId, period: 'day' } as const
  const counter = counterOf({ partnerId, currency }, { ...named, scope: scopeFor(side, named.scope) }, starts)
  return { limit: { amount, currency }, otherwise: needed, name: nameFor(side, named), side, counter }
}

/** All counters of an amount, including those that no limit uses. */
const countersFor = (
  payee: LimitedPayee,
  { currency, ...side }: Pick<Side, 'currency' | 'name'>,
  starts: PeriodStarts,
): readonly (Counter & { readonly name: string })[] =>
  counterScopes.flatMap((scope) => {
    const scopeId = scopeIdOf(payee, scope)
    if (scopeId === null) return []
    const { partnerId } = payee
    return counterPeriods.map((period) => ({
      ...counterOf({ partnerId, currency }, { scope: scopeFor(side, scope), scopeId, period }, starts),
      name: nameFor(side, { scope, period }),
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

/** The first days of the periods that a time is in, in UTC, as YYYY-MM-DD. */
export type PeriodStarts = Readonly<Record<CounterKey['period'], string>>

export function periodStarts(time: Date): PeriodStarts {
  const day = time.toISOString().slice(0, 10)
  return { day, month: `${day.slice(0, 7)}-01` }
}

/** The start of the next period, in UTC. */
export function resetsAt({ period, startsOn }: Pick<CounterKey, 'period' | 'startsOn'>): Date {
  const next = new Date(`${startsOn}T00:00:00Z`)
  if (period === 'day') next.setUTCDate(next.getUTCDate() + 1)
  else next.setUTCMonth(next.getUTCMonth() + 1)
  return next
}

/** The amount that a payout may still take; never below zero. */
export const leftOf = ({ amount }: Pick<Limit, 'amount'>, used: Minor): Minor => (used < amount ? amount - used : 0n)

/**
 * The reason why an amount exceeds a limit: limit_exceeded. Undefined: it does not. `used`: the sums of the counters so
 * far.
 */
export function exceeds(
  { limit, name, side, counter }: HoldingLimit,
  used: ReadonlyMap<string, Minor>,
): Refusal | undefined {
  const left = leftOf(limit, counter === undefined ? 0n : (used.get(counter.mapKey) ?? 0n))
  if (side.amount <= left) return undefined
  const money = (minor: Minor) => `${amountText(minor, limit.currency)} ${limit.currency}`
  const detail =
    counter === undefined
      ? `The limit ${name} is ${money(limit.amount)} for one payout.`
      : `The limit ${name} is ${money(limit.amount)}. ${money(left)} is left until ${resetsAt(counter).toISOString()}.`
  const most =
    side.name === 'all' ? `count as at most ${money(left)}` : `be at most ${amountText(left, limit.currency)}`
  const message = `must ${most} by the limit ${name}.${countsAs(side)}`.replace(/\.$/, '')
  return new Refusal('limit_exceeded', `${detail}${countsAs(side)}`, {
    errors: [{ pointer: side.pointer, code: 'out_of_range', message }],
  })
}

/** A counter that includes an amount of a payout, by name. One over all currencies has the amount besides: no other column has it. */
export type CountedIn = string | { readonly name: string; readonly currency: Currency; readonly amount: string }

export const countedIn = (name: string, { name: side, currency, amount }: Side): CountedIn =>
  side === 'all' ? { name, currency, amount: String(amount) } : name

/** The amounts that are counted by these names: those of the columns of a payout, and those that are kept with the names. */
export function sidesCounted(
  kept: string,
  sides: readonly Side[],
): readonly { readonly side: Omit<Side, 'pointer'>; readonly names: ReadonlySet<string> }[] {
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

/** Writes the counters that include a payout, as its row keeps them. */
export function writeCounted(limits: readonly HoldingLimit[]): string | null {
  const counted = limits.filter(({ counter }) => counter !== undefined)
  return counted.length === 0 ? null : JSON.stringify(counted.map(({ name, side }) => countedIn(name, side)))
}

/** Reads the counters that include an amount of a payout: those of the period in which it was accepted. */
export function readCounted(
  payout: LimitedPayee & { readonly countedIn: string | null; readonly createdAt: Date },
  sides: readonly Side[],
): readonly (Counter & Pick<Side, 'amount'>)[] {
  if (payout.countedIn === null) return []
  const starts = periodStarts(payout.createdAt)
  return sidesCounted(payout.countedIn, sides).flatMap(({ side, names }) =>
    countersFor(payout, side, starts)
      .filter(({ name }) => names.has(name))
      .map(({ name: _name, ...counter }) => ({ ...counter, amount: side.amount })),
  )
}
