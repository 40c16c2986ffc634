/** Finds the movements of a page that match a rule, with evidence. Runs one to three SQL statements for a page. */
import { checkout } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import {
  after,
  type Clock,
  currencies,
  type Currency,
  type Decider,
  firstIdOf,
  type Minor,
  idTime,
  type DecidersProblem,
  present,
  secondMs,
} from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { type Rates, parseRate } from '../rates/index.ts'
import { withSameAccounts } from '../parties/beneficiaries/index.ts'
import { partMovements, partReads as parts } from '../deposits/index.ts'
import { type Measure, type Movement, patterns } from '../transactions/index.ts'
import { accountCountry, type Direction, type RuleSettings } from './rules.ts'
import type { Cases } from '../cases/index.ts'
import type { RuleRow } from './store.ts'

/** The pattern of a hit. Amounts are in minor units of the rule's currency. */
export type HitEvidence = {
  readonly count: number
  readonly sum: Minor
  /** References of the transactions of the pattern, at most 20. */
  readonly references: readonly string[]
  /** Depends on the kind of the rule: the country, the days without a movement, or the age of the payee in minutes. */
  readonly fact?: string | number
  /** The rates of a rule across all currencies, and their day. */
  readonly rates?: Readonly<Record<string, string>>
  readonly ratesOn?: string
}
/** A match. `subjectId`: the customer, the partner itself, or the oldest beneficiary with an account that many customers pay. */
export type RuleHit = { readonly movement: Movement; readonly evidence: HitEvidence; readonly subjectId: string }

/** A movement with its amount in the rule's currency. */
type MeasuredMovement = Omit<Movement, 'direction'> & { readonly direction: Direction; readonly isConversion: boolean }
type EvaluationContext = { readonly tx: Tx; readonly partnerId: string; readonly measure: Measure }

/** Replaces sessions that are paid in parts by their parts, in the order of time. */
export async function replaceSessions(
  tx: Tx,
  partnerId: string,
  page: readonly Movement[],
): Promise<readonly Movement[]> {
  const sessions = page.filter(({ isSession }) => isSession)
  const found = await partMovements(
    tx,
    partnerId,
    sessions.map(({ reference }) => reference),
  )
  if (found.length === 0) return page
  const byTransaction = Map.groupBy(found, ({ transactionId }) => transactionId)
  return page.flatMap(
    (movement) => byTransaction.get(movement.id)?.map((part) => ({ ...movement, ...part, counts: true })) ?? [movement],
  )
}

/**
 * Returns at most one hit for each transaction, in the order of the page. Refuses: fx_rates_unavailable (a rule across all
 * currencies, without a recent rate for a currency of the page).
 */
export async function evaluateRule(
  { rates }: Pick<MonitoringDeps, 'rates'>,
  tx: Tx,
  partnerId: string,
  rule: RuleSettings,
  page: readonly Movement[],
): Promise<readonly RuleHit[]> {
  if (rule.partners !== null && !rule.partners.includes(partnerId)) return []
  const counting = page.filter(({ counts }) => counts)
  const { measure, kept } =
    rule.counts === 'AllCurrencies'
      ? await measureAllCurrencies(rates, tx, rule.currency)
      : { measure: { currency: rule.currency }, kept: {} }
  const fitting = counting.flatMap((movement) => measureMovement(movement, measure) ?? [])
  const asked = { tx, partnerId, measure }
  const found = new Map<string, readonly [evidence: HitEvidence, subjectId?: string]>()
  const own = fitting.filter(({ customerId }) => customerId === null)
  const customers = fitting.filter(({ customerId }) => customerId !== null)
  for (const party of rule.kind === 'many_customers' ? [fitting] : [own, customers])
    if (party.length > 0)
      for (const [id, ...hit] of await evaluateKind(asked, rule, party)) if (!found.has(id)) found.set(id, hit)
  const hits = page.flatMap((movement): readonly RuleHit[] => {
    const [evidence, subjectId = movement.customerId ?? partnerId] = found.get(movement.id) ?? []
    return evidence === undefined ? [] : [{ movement, evidence: { ...evidence, ...kept }, subjectId }]
  })
  // The parts of a session are one transaction.
  return [...Map.groupBy(hits, ({ movement }) => movement.transactionId).values()].flatMap(([first]) => first ?? [])
}

/** Reads the rates of all currencies: those that convert amounts, and those to store as evidence. */
async function measureAllCurrencies(
  rates: MonitoringDeps['rates'],
  tx: Tx,
  reference: Currency,
): Promise<{ readonly measure: Measure; readonly kept: Pick<HitEvidence, 'rates' | 'ratesOn'> }> {
  const convert = await rates.converter(tx)
  const known = (Object.keys(currencies) as Currency[]).flatMap((currency) => {
    const found = convert({ amount: 1n, currency }, reference)
    return found === undefined ? [] : [{ ...found, currency }]
  })
  const measured = known.map(({ currency, rate: text }) => {
    const rate = present(parseRate(text), `not a rate: ${text}`)
    const over = rate.digits * 10n ** BigInt(currencies[reference].digits)
    return { currency, over, under: 10n ** BigInt(rate.scale + currencies[currency].digits) }
  })
  const others = known.filter(({ currency }) => currency !== reference)
  const [ratesOn] = others.map(({ rateOn }) => rateOn)
  return {
    measure: { currency: reference, rates: measured },
    kept:
      ratesOn === undefined
        ? {}
        : { rates: Object.fromEntries(others.map((one) => [one.currency, one.rate])), ratesOn },
  }
}

/**
 * Measures a movement in the rule's currency: the sold or the bought side of an exchange. Over all currencies, a payout
 * counts with its debited amount, and conversions do not count. Undefined: it does not count. `patterns` does the same in
 * SQL.
 */
function measureMovement(
  { direction, ...movement }: Movement,
  { currency, rates }: Measure,
): MeasuredMovement | undefined {
  const isConversion = direction === 'Internal'
  if (rates !== undefined) {
    if (isConversion) return undefined
    const rate = rates.find((one) => one.currency === movement.currency)
    if (rate === undefined)
      throw new Refusal(
        'fx_rates_unavailable',
        `No recent rate from ${movement.currency} to ${currency} is available. Try again when rates are published.`,
      )
    return {
      ...movement,
      direction,
      isConversion,
      amount: (movement.amount * rate.over + rate.under - 1n) / rate.under,
    }
  }
  if (movement.currency === currency)
    return { ...movement, isConversion, direction: isConversion ? 'Outward' : direction }
  if (movement.userCurrency !== currency || movement.userAmount === null) return undefined
  return { ...movement, isConversion, amount: movement.userAmount, direction: isConversion ? 'Inward' : direction }
}

type KindHits = readonly (readonly [id: string, evidence: HitEvidence, subjectId?: string])[]

async function evaluateKind(
  asked: EvaluationContext,
  rule: RuleSettings,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  switch (rule.kind) {
    case 'velocity':
    case 'structuring':
      return findWindows(asked, rule, page)
    case 'new_payee':
      return findNewPayees(asked, rule, page)
    case 'dormant':
      return findDormant(asked, rule, page)
    case 'round_trip':
      return [...(await findRoundTrips(asked, rule, page)), ...(await findCircles(asked, rule, page))]
    case 'country':
      return findCountries(rule, page)
    case 'many_payers':
      return findManyPayers(asked, rule, page)
    case 'many_customers':
      return findManyCustomers(asked, rule, page)
    case 'failures':
      return findFailures(asked, rule, page)
  }
}

type RuleOfKind<Kind extends RuleSettings['kind']> = Extract<RuleSettings, { readonly kind: Kind }>

const inDirection = (page: readonly MeasuredMovement[], direction: Direction) =>
  page.filter((each) => each.direction === direction)
const allMovements = ({ measure }: EvaluationContext, direction: Direction) => ({
  direction,
  measure,
  amountMin: null,
  amountMax: null,
  parts,
})

/** Computes the range of ids of every window of this length around a movement: ids are ordered by time. */
const idRange = ({ id, customerId }: MeasuredMovement, ms: number) => ({
  id,
  customerId,
  from: firstIdOf(after(idTime(id), -ms - clockDifferenceMs)),
  to: firstIdOf(after(idTime(id), ms + clockDifferenceMs)),
  sessionsFrom: firstIdOf(after(idTime(id), -ms - sessionMsMax)),
})
/** Parts of a session may arrive until it ends, and then wait for the bank or a screening: twice the longest session is enough. */
const sessionMsMax = 2 * checkout.checkoutExpiry.secondsMax * secondMs
/** The process reads the clock for the id, and again a moment later for the row. */
const clockDifferenceMs = 60_000

const toEvidence = ({ count, sum, references }: Omit<patterns.MovementWindow, 'id'>): HitEvidence => ({
  count: Number(count),
  sum,
  references,
})

/** Returns the bounds of amounts just under a threshold: from `percent` of it to below it. */
const justUnder = ({ threshold, percent }: RuleOfKind<'structuring'>) => ({
  amountMin: (threshold * BigInt(percent) + 99n) / 100n,
  amountMax: threshold,
})

async function findWindows(
  asked: EvaluationContext,
  rule: RuleOfKind<'velocity' | 'structuring'>,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const { tx, partnerId, measure } = asked
  const { direction, ms, count: countMin } = rule
  const bounds = rule.kind === 'structuring' ? justUnder(rule) : { amountMin: null, amountMax: null }
  const sumMin = rule.kind === 'structuring' ? 0n : rule.sum
  const inBounds = ({ amount }: MeasuredMovement) =>
    (bounds.amountMin === null || amount >= bounds.amountMin) &&
    (bounds.amountMax === null || amount < bounds.amountMax)
  const around = inDirection(page, direction)
    .filter(inBounds)
    .map((movement) => idRange(movement, ms))
  if (around.length === 0) return []
  const what = { direction, measure, ...bounds, parts }
  const rows = await patterns.movementWindows(tx, partnerId, around, { what, ms, countMin, sumMin })
  return rows.map((row) => [row.id, toEvidence(row)])
}

async function findNewPayees(
  asked: EvaluationContext,
  rule: RuleOfKind<'new_payee'>,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const { tx, partnerId, measure } = asked
  const { ms, sum } = rule
  const payouts = inDirection(page, 'Outward').filter(({ beneficiaryId }) => beneficiaryId !== null)
  if (payouts.length === 0) return []
  const beneficiaries = [...Map.groupBy(payouts, ({ beneficiaryId }) => beneficiaryId ?? '')].map(([id, own]) => ({
    id,
    at: new Date(Math.min(...own.map(({ createdAt }) => createdAt.getTime()))),
    to:
      own
        .map((movement) => idRange(movement, ms).to)
        .toSorted()
        .at(-1) ?? '',
  }))
  const rows = await patterns.firstPayouts(tx, partnerId, beneficiaries, { measure, ms })
  const byBeneficiary = new Map(rows.map((row) => [row.beneficiaryId, row]))
  return payouts.flatMap(({ id, beneficiaryId, createdAt }) => {
    const first = byBeneficiary.get(beneficiaryId ?? '')
    const ageMs = createdAt.getTime() - (first?.firstAt.getTime() ?? 0)
    if (first === undefined || ageMs > ms || first.sum < sum) return []
    return [[id, { ...toEvidence(first), fact: Math.round(ageMs / 60_000) }]]
  })
}

async function findDormant(
  { tx, partnerId }: EvaluationContext,
  rule: RuleOfKind<'dormant'>,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const large = inDirection(page, rule.direction).filter(
    ({ amount, isConversion }) => amount >= rule.sum && !isConversion,
  )
  if (large.length === 0) return []
  const rows = await patterns.findPreviousPayments(tx, partnerId, large)
  const byId = new Map(large.map((movement) => [movement.id, movement]))
  return rows.flatMap(({ id, reference, createdAt }) => {
    const movement = byId.get(id)
    const quietMs = (movement?.createdAt.getTime() ?? 0) - createdAt.getTime()
    if (movement === undefined || quietMs < rule.ms) return []
    const references = [movement.reference, reference]
    return [[id, { count: 1, sum: movement.amount, references, fact: Math.floor(quietMs / 86_400_000) }]]
  })
}

async function findRoundTrips(
  asked: EvaluationContext,
  rule: RuleOfKind<'round_trip'>,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const { tx, partnerId, measure } = asked
  const { percent } = rule
  const known = page.filter(({ account, amount, isUndone }) => account !== null && amount >= rule.sum && !isUndone)
  if (known.length === 0) return []
  const around = known.map((movement) => ({ ...movement, ...idRange(movement, rule.ms) }))
  const rows = await patterns.findOppositeMovements(tx, partnerId, around, { measure, percent, ms: rule.ms, parts })
  const byId = new Map(known.map((movement) => [movement.id, movement]))
  return rows.flatMap(({ id, reference, amount }) => {
    const movement = byId.get(id)
    if (movement === undefined) return []
    return [[id, { count: 2, sum: movement.amount + amount, references: [movement.reference, reference] }]]
  })
}

/** Finds money that came back through other customers. */
async function findCircles(
  { tx, partnerId, measure }: EvaluationContext,
  rule: RuleOfKind<'round_trip'>,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const got = inDirection(page, 'Inward').filter(
    ({ customerId, amount, isUndone }) => customerId !== null && amount >= rule.sum && !isUndone,
  )
  if (got.length === 0) return []
  const around = got.map((movement) => ({ ...movement, ...idRange(movement, rule.ms) }))
  const rows = await patterns.findCircularPayments(tx, partnerId, around, {
    measure,
    percent: rule.percent,
    ms: rule.ms,
  })
  return rows.map(({ id, sum, references }) => [id, { count: references.length, sum, references }])
}

/** The rules that count accounts, customers or failures in a window instead of movements. */
type CountRule = RuleOfKind<'many_payers' | 'many_customers' | 'failures'>

async function findManyPayers(
  asked: EvaluationContext,
  { ms, count: countMin }: CountRule,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const around = inDirection(page, 'Inward')
    .filter(({ isBack }) => !isBack)
    .map((movement) => idRange(movement, ms))
  if (around.length === 0) return []
  const reach = { what: allMovements(asked, 'Inward'), by: 'account', ms, countMin } as const
  const rows = await patterns.windowsByPayers(asked.tx, asked.partnerId, around, reach)
  return rows.map((row) => [row.id, toEvidence(row)])
}

/** Finds accounts that many customers pay. Each customer has its own beneficiary, so that an account has several. */
async function findManyCustomers(
  asked: EvaluationContext,
  { ms, count: countMin }: CountRule,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const { tx, partnerId } = asked
  const payouts = inDirection(page, 'Outward')
  const paid = [...new Set(payouts.flatMap(({ beneficiaryId }) => beneficiaryId ?? []))]
  if (paid.length === 0) return []
  const same = new Map((await withSameAccounts(tx, partnerId, paid)).map(({ id, sameIds }) => [id, sameIds]))
  const around = payouts.flatMap((movement) => {
    const [first, ...others] = same.get(movement.beneficiaryId ?? '') ?? []
    if (first === undefined) return []
    return [{ ...idRange(movement, ms), customerId: first, payees: `{${[first, ...others].join(',')}}` }]
  })
  if (around.length === 0) return []
  const reach = { what: allMovements(asked, 'Outward'), by: 'customer', ms, countMin } as const
  const rows = await patterns.windowsByPayers(tx, partnerId, around, reach)
  const subjects = new Map(around.map(({ id, customerId }) => [id, customerId]))
  return rows.map((row) => [row.id, toEvidence(row), subjects.get(row.id) ?? partnerId])
}

async function findFailures(
  asked: EvaluationContext,
  { ms, count: countMin }: CountRule,
  page: readonly MeasuredMovement[],
): Promise<KindHits> {
  const around = page.filter(({ isFailed }) => isFailed).map((movement) => idRange(movement, ms))
  if (around.length === 0) return []
  const what = { ...allMovements(asked, 'Outward'), areFailed: true }
  const rows = await patterns.movementWindows(asked.tx, asked.partnerId, around, { what, ms, countMin, sumMin: 0n })
  return rows.map((row) => [row.id, toEvidence(row)])
}

function findCountries(
  { direction, countries: listed, sum }: RuleOfKind<'country'>,
  page: readonly MeasuredMovement[],
): KindHits {
  return inDirection(page, direction).flatMap(({ id, account, bic, amount, reference }) => {
    const country = accountCountry(account, bic)
    if (country === null || !listed.includes(country) || amount < sum) return []
    return [[id, { count: 1, sum: amount, references: [reference], fact: country }]]
  })
}

export type MonitoringDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cases: Pick<Cases, 'hold' | 'record' | 'resolutionsOf'>
  /** The rates for rules across all currencies. */
  readonly rates: Pick<Rates, 'converter'>
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** Checks the people who propose and confirm turning a rule on or off, as of now. */
  readonly judgeTwo: (tx: Tx, author: Decider, approver: Decider) => Promise<DecidersProblem | undefined>
  /** How far the clocks of the processes and of the database may differ. */
  readonly clockDifferenceMsMax: number
}

/** A version of a rule that is on. */
export type ActiveRule = Pick<RuleRow, 'id' | 'version' | 'name'> & {
  readonly settings: RuleSettings
  readonly onSince: Date
}
