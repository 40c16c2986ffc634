/** Pure: which limits hold for a payout, what their periods are, and what is left of them. */
import { Refusal } from '../../api/index.ts'
import { amountText, type Currency, type Minor, nilId, partnerKey } from '../../kernel/index.ts'

export const limitScopes = ['partner', 'customer', 'beneficiary'] as const
export type LimitScope = (typeof limitScopes)[number]
export const limitPeriods = ['payment', 'day', 'month'] as const
export type LimitPeriod = (typeof limitPeriods)[number]
export const counterPeriods = limitPeriods.filter((period) => period !== 'payment')

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
export type HoldingLimit = { readonly limit: Limit; readonly name: string; readonly counter: Counter | undefined }
/** `mapKey`: made once, because every step of a batch asks for it. */
export type Counter = CounterKey & { readonly mapKey: string }

/** `customer.day`. */
export const nameOf = ({ scope, period }: Pick<Limit, 'scope' | 'period'>): string => `${scope}.${period}`

const scopeIdOf = ({ customerId, beneficiaryId }: LimitedPayment, scope: LimitScope): string | null => {
  if (scope === 'partner') return nilId
  return scope === 'customer' ? customerId : beneficiaryId
}

/** The limits of a partner in a currency, by name and then by customer or beneficiary. */
export type LimitTable = ReadonlyMap<string, ReadonlyMap<string, Limit>>

export const limitTable = (limits: readonly Limit[]): LimitTable =>
  new Map(
    [...Map.groupBy(limits, nameOf)].map(([name, named]) => [
      name,
      new Map(named.map((limit) => [limit.scopeId, limit])),
    ]),
  )

/** Whether a payout is counted for any of the limits. */
export const areCounted = (limits: LimitTable): boolean =>
  [...limits.keys()].some((name) => counterPeriods.some((period) => name.endsWith(`.${period}`)))

/** The limits of a payout, by scope and then by period: its own limit comes before the limit of each one. */
export const limitsOf = (limits: LimitTable, payment: LimitedPayment, starts: PeriodStarts): readonly HoldingLimit[] =>
  limitScopes.flatMap((scope) =>
    limitPeriods.flatMap((period) => {
      const scopeId = scopeIdOf(payment, scope)
      if (scopeId === null) return []
      const name = nameOf({ scope, period })
      const named = limits.get(name)
      const limit = named?.get(scopeId) ?? named?.get(nilId)
      if (limit === undefined) return []
      const counter = period === 'payment' ? undefined : counterOf(payment, { scope, scopeId, period }, starts)
      return [{ limit, name, counter }]
    }),
  )

/** All that a payment may be counted in, whatever limits there are. */
const countersFor = (payment: LimitedPayment, starts: PeriodStarts): readonly Counter[] =>
  limitScopes.flatMap((scope) => {
    const scopeId = scopeIdOf(payment, scope)
    if (scopeId === null) return []
    return counterPeriods.map((period) => counterOf(payment, { scope, scopeId, period }, starts))
  })

export function counterOf(
  { partnerId, currency }: Pick<LimitedPayment, 'partnerId' | 'currency'>,
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
): readonly Counter[] {
  const { countedIn, createdAt } = payout
  if (countedIn === null) return []
  const names = new Set(JSON.parse(countedIn) as readonly string[])
  return countersFor(payout, periodStarts(createdAt)).filter((counter) => names.has(nameOf(counter)))
}
