/** Pure: which limits hold for a payout, what their periods are, and what is left of them. */
import { Refusal } from '../../api/index.ts'
import { amountText, type Currency, type Minor, nilId, partnerKey } from '../../kernel/index.ts'

export const limitScopes = ['partner', 'customer', 'beneficiary'] as const
export type LimitScope = (typeof limitScopes)[number]
export const limitPeriods = ['payment', 'day', 'month'] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** The most that may be paid in a period, in minor units of the currency. */
export type Limit = {
  readonly partnerId: string
  readonly id: string
  readonly scope: LimitScope
  /** Of the customer or the beneficiary. The nil UUID: of each one that has no limit of its own, or of the partner. */
  readonly scopeId: string
  readonly currency: Currency
  readonly period: LimitPeriod
  readonly amount: Minor
}

/** What limits are found by. Null: the payout has none, so that limits of that scope do not hold for it. */
export type LimitedPayment = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  readonly currency: Currency
}

/** Counts what is paid in a period: by the payee or customer that is paid, whatever limit asks for it. */
export type CounterKey = {
  readonly partnerId: string
  readonly currency: Currency
  readonly scope: LimitScope
  readonly scopeId: string
  readonly period: Exclude<LimitPeriod, 'payment'>
  /** YYYY-MM-DD, in UTC. */
  readonly startsOn: string
}

export const counterMapKey = ({ partnerId, currency, scope, scopeId, period, startsOn }: CounterKey): string =>
  partnerKey(partnerId, currency, scope, scopeId, period, startsOn)

/** A limit that holds for a payout. `counter`: undefined for the limit of a single payment. */
export type HoldingLimit = { readonly limit: Limit; readonly name: string; readonly counter: CounterKey | undefined }

/** `customer.day`. */
export const nameOf = ({ scope, period }: Pick<Limit, 'scope' | 'period'>): string => `${scope}.${period}`

const scopeIdOf = ({ customerId, beneficiaryId }: LimitedPayment, scope: LimitScope): string | null => {
  if (scope === 'partner') return nilId
  return scope === 'customer' ? customerId : beneficiaryId
}

/** The limits of a payout, by scope and then by period: its own limit comes before the limit of each one. */
export function limitsOf(limits: readonly Limit[], payment: LimitedPayment, now: Date): readonly HoldingLimit[] {
  const { partnerId, currency } = payment
  const own = limits.filter((limit) => limit.partnerId === partnerId && limit.currency === currency)
  if (own.length === 0) return []
  return limitScopes.flatMap((scope) =>
    limitPeriods.flatMap((period) => {
      const scopeId = scopeIdOf(payment, scope)
      if (scopeId === null) return []
      const candidates = own.filter((limit) => limit.scope === scope && limit.period === period)
      const limit =
        candidates.find((each) => each.scopeId === scopeId) ?? candidates.find((each) => each.scopeId === nilId)
      if (limit === undefined) return []
      const key = { partnerId, currency, scope, scopeId }
      const counter = period === 'payment' ? undefined : { ...key, period, startsOn: startOf(period, now) }
      return [{ limit, name: nameOf(limit), counter }]
    }),
  )
}

/** The first day of the period, in UTC, as YYYY-MM-DD. */
export function startOf(period: CounterKey['period'], now: Date): string {
  const day = now.toISOString().slice(0, 10)
  return period === 'day' ? day : `${day.slice(0, 7)}-01`
}

/** The start of the next period, in UTC. */
export function resetsAt({ period, startsOn }: Pick<CounterKey, 'period' | 'startsOn'>): Date {
  const next = new Date(`${startsOn}T00:00:00Z`)
  if (period === 'day') next.setUTCDate(next.getUTCDate() + 1)
  else next.setUTCMonth(next.getUTCMonth() + 1)
  return next
}

/** What a payout may still take; never below zero. */
export const leftOf = ({ amount }: Limit, used: Minor): Minor => (used < amount ? amount - used : 0n)

/** Why a payout of this amount is beyond a limit: limit_exceeded. Undefined: it is within. `used`: of the period so far. */
export function exceeds({ limit, name, counter }: HoldingLimit, amount: Minor, used: Minor): Refusal | undefined {
  const left = leftOf(limit, used)
  if (amount <= left) return undefined
  const money = (minor: Minor) => `${amountText(minor, limit.currency)} ${limit.currency}`
  const detail =
    counter === undefined
      ? `The limit ${name} is ${money(limit.amount)} for one payout.`
      : `The limit ${name} is ${money(limit.amount)}. ${money(left)} is left until ${resetsAt(counter).toISOString()}.`
  const message = `must be at most ${amountText(left, limit.currency)} by the limit ${name}`
  return new Refusal('limit_exceeded', detail, { errors: [{ pointer: '/amount', code: 'out_of_range', message }] })
}

/** The counters that have a payout, as its row keeps them. */
export const writeCounted = (counters: readonly CounterKey[]): string | null =>
  counters.length === 0 ? null : JSON.stringify(counters.map(nameOf))

/** The counters that have the amount of a payout: those of the period in which it was accepted. */
export function readCounted(
  payout: LimitedPayment & { readonly countedIn: string | null; readonly createdAt: Date },
): readonly CounterKey[] {
  const { partnerId, currency, countedIn, createdAt } = payout
  if (countedIn === null) return []
  const names = new Set(JSON.parse(countedIn) as readonly string[])
  return limitScopes.flatMap((scope) => {
    const scopeId = scopeIdOf(payout, scope)
    if (scopeId === null) return []
    const periods = limitPeriods.filter((period) => period !== 'payment')
    return periods
      .filter((period) => names.has(nameOf({ scope, period })))
      .map((period) => ({ partnerId, currency, scope, scopeId, period, startsOn: startOf(period, createdAt) }))
  })
}
