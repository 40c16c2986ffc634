/** Finds the transactions of a page that fit a rule, and why. One or two statements for a page, whatever its size. */
import type { Minor } from '../../kernel/index.ts'
import { after, firstIdOf, momentOfId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Movement, patterns } from '../transactions/index.ts'
import { countryOf, type Direction, type RuleSettings } from './rules.ts'

/** The pattern that a transaction is part of. Amounts are in minor units. */
export type Evidence = {
  readonly count: number
  readonly sum: Minor
  /** References of the transactions that make the pattern, at most 20. */
  readonly references: readonly string[]
  /** A fact of the kind: the country, the days without a movement, the age of the payee in minutes. */
  readonly fact?: string | number
}
export type Hit = { readonly movement: Movement; readonly evidence: Evidence }

/** Returns the hits in the order of the page. */
export async function evaluate(
  tx: Tx,
  partnerId: string,
  rule: RuleSettings,
  page: readonly Movement[],
): Promise<readonly Hit[]> {
  const { partners, currency } = rule
  if (partners !== null && !partners.includes(partnerId)) return []
  const fitting = page.filter((movement) => movement.counts && movement.currency === currency)
  const own = fitting.filter(({ customerId }) => customerId === null)
  const customers = fitting.filter(({ customerId }) => customerId !== null)
  const found = new Map<string, Evidence>()
  for (const part of [own, customers])
    if (part.length > 0)
      for (const [id, evidence] of await ofKind(tx, partnerId, rule, part)) if (!found.has(id)) found.set(id, evidence)
  return page.flatMap((movement) => {
    const evidence = found.get(movement.id)
    return evidence === undefined ? [] : [{ movement, evidence }]
  })
}

type Found = readonly (readonly [id: string, evidence: Evidence])[]

async function ofKind(tx: Tx, partnerId: string, rule: RuleSettings, page: readonly Movement[]): Promise<Found> {
  switch (rule.kind) {
    case 'velocity':
    case 'structuring':
      return windows(tx, partnerId, rule, page)
    case 'new_payee':
      return newPayees(tx, partnerId, rule, page)
    case 'dormant':
      return dormant(tx, partnerId, rule, page)
    case 'round_trip':
      return roundTrips(tx, partnerId, rule, page)
    case 'country':
      return countries(rule, page)
    case 'many_payers': {
      const around = inward(page).map((movement) => aroundOf(movement, rule.ms))
      if (around.length === 0) return []
      const { currency, ms, count: payersMin } = rule
      const rows = await patterns.payersOf(tx, partnerId, around, { currency, ms, payersMin })
      return rows.map((row) => [row.id, evidenceOf(row)])
    }
  }
}

type Rule<Kind extends RuleSettings['kind']> = Extract<RuleSettings, { readonly kind: Kind }>

const towards = (page: readonly Movement[], direction: Direction) => page.filter((each) => each.direction === direction)
const inward = (page: readonly Movement[]) => towards(page, 'Inward')

/** Ids follow the time, so that a range of ids holds every window of this length with the transaction, and the index of its party. */
const aroundOf = ({ id, customerId }: Movement, ms: number) => ({
  ...{ id, customerId },
  from: firstIdOf(after(momentOfId(id), -ms - clockDifferenceMs)),
  to: firstIdOf(after(momentOfId(id), ms + clockDifferenceMs)),
})
/** Between the clock that makes an id and the one of the row: the same, a moment later. */
const clockDifferenceMs = 60_000

const evidenceOf = ({ count, sum, references }: Omit<patterns.Window, 'id'>): Evidence => ({
  count: Number(count),
  sum,
  references,
})

/** Amounts just under a threshold: from `percent` of it to below it. */
const justUnder = ({ threshold, percent }: Rule<'structuring'>) => ({
  amountMin: (threshold * BigInt(percent) + 99n) / 100n,
  amountMax: threshold,
})

async function windows(
  tx: Tx,
  partnerId: string,
  rule: Rule<'velocity' | 'structuring'>,
  page: readonly Movement[],
): Promise<Found> {
  const { direction, currency, ms, count: countMin } = rule
  const bounds = rule.kind === 'structuring' ? justUnder(rule) : { amountMin: null, amountMax: null }
  const sumMin = rule.kind === 'structuring' ? 0n : rule.sum
  const inBounds = ({ amount }: Movement) =>
    (bounds.amountMin === null || amount >= bounds.amountMin) &&
    (bounds.amountMax === null || amount < bounds.amountMax)
  const around = towards(page, direction)
    .filter(inBounds)
    .map((movement) => aroundOf(movement, ms))
  if (around.length === 0) return []
  const what = { direction, currency, ...bounds }
  const rows = await patterns.windowsOf(tx, partnerId, around, { what, ms, countMin, sumMin })
  return rows.map((row) => [row.id, evidenceOf(row)])
}

async function newPayees(
  tx: Tx,
  partnerId: string,
  rule: Rule<'new_payee'>,
  page: readonly Movement[],
): Promise<Found> {
  const { currency, ms, sum } = rule
  const payouts = towards(page, 'Outward').filter(({ beneficiaryId }) => beneficiaryId !== null)
  if (payouts.length === 0) return []
  const beneficiaries = [...Map.groupBy(payouts, ({ beneficiaryId }) => beneficiaryId ?? '')].map(([id, own]) => ({
    id,
    at: new Date(Math.min(...own.map(({ createdAt }) => createdAt.getTime()))),
    to:
      own
        .map((movement) => aroundOf(movement, ms).to)
        .toSorted()
        .at(-1) ?? '',
  }))
  const rows = await patterns.firstPayouts(tx, partnerId, beneficiaries, { currency, ms })
  const byBeneficiary = new Map(rows.map((row) => [row.beneficiaryId, row]))
  return payouts.flatMap(({ id, beneficiaryId, createdAt }) => {
    const first = byBeneficiary.get(beneficiaryId ?? '')
    const ageMs = createdAt.getTime() - (first?.firstAt.getTime() ?? 0)
    if (first === undefined || ageMs > ms || first.sum < sum) return []
    return [[id, { ...evidenceOf(first), fact: Math.round(ageMs / 60_000) }]]
  })
}

async function dormant(tx: Tx, partnerId: string, rule: Rule<'dormant'>, page: readonly Movement[]): Promise<Found> {
  const large = towards(page, rule.direction).filter(({ amount }) => amount >= rule.sum)
  if (large.length === 0) return []
  const rows = await patterns.previousOf(
    tx,
    partnerId,
    large.map((movement) => aroundOf(movement, rule.ms)),
  )
  const byId = new Map(large.map((movement) => [movement.id, movement]))
  return rows.flatMap(({ id, reference, createdAt }) => {
    const movement = byId.get(id)
    const quietMs = (movement?.createdAt.getTime() ?? 0) - createdAt.getTime()
    if (movement === undefined || quietMs < rule.ms) return []
    const references = [movement.reference, reference]
    return [[id, { count: 1, sum: movement.amount, references, fact: Math.floor(quietMs / 86_400_000) }]]
  })
}

async function roundTrips(
  tx: Tx,
  partnerId: string,
  rule: Rule<'round_trip'>,
  page: readonly Movement[],
): Promise<Found> {
  const { currency, percent } = rule
  const known = page.filter(({ account, amount }) => account !== null && amount >= rule.sum)
  if (known.length === 0) return []
  const around = known.map((movement) => ({ ...movement, ...aroundOf(movement, rule.ms) }))
  const rows = await patterns.returnsOf(tx, partnerId, around, { currency, percent })
  const byId = new Map(known.map((movement) => [movement.id, movement]))
  return rows.flatMap(({ id, reference, amount }) => {
    const movement = byId.get(id)
    if (movement === undefined) return []
    return [[id, { count: 2, sum: movement.amount + amount, references: [movement.reference, reference] }]]
  })
}

function countries({ direction, countries: listed, sum }: Rule<'country'>, page: readonly Movement[]): Found {
  return towards(page, direction).flatMap(({ id, account, bic, amount, reference }) => {
    const country = countryOf(account, bic)
    if (country === null || !listed.includes(country) || amount < sum) return []
    return [[id, { count: 1, sum: amount, references: [reference], fact: country }]]
  })
}
