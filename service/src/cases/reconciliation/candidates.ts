/**
 * Finds candidates for the money of a case: payments that the connector has submitted, expected deposits, and owners of
 * accounts.
 */
import { type CaseReport, type CaseRow, readCaseReport } from '../index.ts'
import type { Currency, Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankBooks, BankInstruction } from '../../rails/index.ts'

/** Sources of candidates in the modules. */
export type CandidateSources = {
  /**
   * Finds candidates for incoming money: the owner of the credited account, and deposits of the partner that match a
   * reference or await this amount.
   */
  readonly incoming: (tx: Tx, money: MoneyFacts, credited: string, partnerId: string) => Promise<readonly Candidate[]>
  /** Finds payouts of the case's partner with this amount. */
  readonly outgoing: (tx: Tx, money: MoneyFacts, partnerId: string) => Promise<readonly Candidate[]>
}

const candidatesMax = 20

export async function findCandidates(
  books: Pick<BankBooks, 'instructionsLike'>,
  sources: CandidateSources,
  tx: Tx,
  found: CaseRow,
): Promise<readonly ScoredCandidate[]> {
  const { booked, currency, connector, partnerId } = found
  if (booked === null || currency === null) return []
  const report = readCaseReport(found)
  const money = readMoney(found, { currency, amount: booked < 0n ? -booked : booked }, report)
  const ids = [...new Set(money.texts.flatMap((text) => text.match(/[0-9a-f]{32}/gi) ?? []))]
  const carried = await books.instructionsLike(
    tx,
    { connector, currency },
    money.amount,
    ids.map((id) => id.toLowerCase()),
  )
  const all = [
    ...carried.map(toCandidate),
    ...(await sources.outgoing(tx, money, partnerId)),
    ...(booked > 0n ? await sources.incoming(tx, money, report.account ?? '', partnerId) : []),
  ]
  const once = new Map(all.map((candidate) => [`${candidate.kind} ${candidate.id}`, candidate]))
  return scoreCandidates(money, [...once.values()]).slice(0, candidatesMax)
}

function readMoney(
  { openedAt, subject }: CaseRow,
  { currency, amount }: { readonly currency: MoneyFacts['currency']; readonly amount: Minor },
  { debtor, remittance, endToEndId, details, creditorReferences = [] }: CaseReport,
): MoneyFacts {
  const said = [subject, remittance ?? '', endToEndId ?? '', details ?? '', ...creditorReferences.flat()]
  const texts = said.filter((text) => text !== '')
  return { currency, amount, account: debtor?.account ?? '', name: debtor?.name ?? '', texts, on: openedAt }
}

const toCandidate = (row: BankInstruction): Candidate => ({
  kind: 'payout',
  partnerId: row.partnerId,
  id: row.id,
  status: row.status,
  currency: row.currency,
  amount: row.amount,
  account: row.creditorAccount,
  name: row.creditorName,
  references: [row.endToEndId, row.id.replaceAll('-', ''), ...(row.remittance === null ? [] : [row.remittance])],
  on: row.settledAt ?? row.createdAt,
})

// Pure: scores how well a payment fits the money of a case, with the reasons.

/** Known facts about the money of a case. A text is empty if the fact is unknown. */
export type MoneyFacts = {
  readonly currency: Currency
  /** Always positive, for incoming and outgoing money. */
  readonly amount: Minor
  /** The account and the name of the other side. */
  readonly account: string
  readonly name: string
  /** All texts that may contain a reference: end-to-end ids, remittance, the bank's information. */
  readonly texts: readonly string[]
  readonly on: Date
}

/** A payment, or an owner of an account, that may explain the money. */
export type Candidate = {
  readonly kind: 'payout' | 'deposit' | 'owner'
  readonly partnerId: string
  readonly id: string
  readonly status: string
  readonly currency: Currency
  readonly amount: Minor | null
  readonly account: string
  readonly name: string
  readonly references: readonly string[]
  readonly on: Date | null
}

type Agreement = { readonly what: string; readonly points: number }
export type ScoredCandidate = {
  readonly candidate: Candidate
  readonly score: number
  readonly agreed: readonly Agreement[]
}

const points = {
  amount: 40,
  'amount nearly': 15,
  reference: 35,
  account: 25,
  'account but for a typing error': 15,
  name: 15,
  'name nearly': 8,
  'same day': 10,
  'within five days': 5,
  'within thirty days': 2,
} as const

const scoreMax = 100
/** Minimum score of a listed candidate. A lower score may be a coincidence. */
const scoreMin = 40
const dayMs = 86_400_000

/** Scores candidates, best first, without poor matches. */
export function scoreCandidates(money: MoneyFacts, candidates: readonly Candidate[]): readonly ScoredCandidate[] {
  return candidates
    .filter(({ currency }) => currency === money.currency)
    .map((candidate) => {
      const agreed = matchReasons(money, candidate).map((what) => ({ what, points: points[what] }))
      const sum = agreed.reduce((total, one) => total + one.points, 0)
      return { candidate, score: Math.min(scoreMax, sum), agreed }
    })
    .filter(({ score }) => score >= scoreMin)
    .toSorted((a, b) => b.score - a.score || (a.candidate.id < b.candidate.id ? -1 : 1))
}

type MatchReason = keyof typeof points
const first = (...found: readonly (MatchReason | false)[]): readonly MatchReason[] => {
  const best = found.find((what): what is MatchReason => what !== false)
  return best === undefined ? [] : [best]
}

function matchReasons(money: MoneyFacts, candidate: Candidate): readonly MatchReason[] {
  const apart = candidate.amount === null ? undefined : absolute(candidate.amount - money.amount)
  const accounts = [compact(money.account), compact(candidate.account)] as const
  const alike = nameSimilarity(money.name, candidate.name)
  const days = candidate.on === null ? Infinity : Math.abs(candidate.on.getTime() - money.on.getTime()) / dayMs
  return [
    // One percent, which covers the usual charges of intermediary banks.
    ...first(apart === 0n && 'amount', apart !== undefined && apart * 100n <= money.amount && 'amount nearly'),
    ...first(containsReference(money.texts, candidate.references) && 'reference'),
    ...first(isSameText(...accounts) && 'account', isTypingError(...accounts) && 'account but for a typing error'),
    ...first(alike >= 0.9 && 'name', alike >= 0.7 && 'name nearly'),
    ...first(days <= 1 && 'same day', days <= 5 && 'within five days', days <= 30 && 'within thirty days'),
  ]
}

const absolute = (amount: Minor): Minor => (amount < 0n ? -amount : amount)
const compact = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
const isSameText = (a: string, b: string): boolean => a !== '' && a === b

/** Shorter references occur by chance in texts. */
const referenceCharsMin = 6
function containsReference(texts: readonly string[], references: readonly string[]): boolean {
  const whole = texts.map(compact).join(' ')
  return references.map(compact).some((reference) => reference.length >= referenceCharsMin && whole.includes(reference))
}

/** Reports whether texts differ by one wrong character, or by two adjacent characters that are swapped. */
function isTypingError(a: string, b: string): boolean {
  if (a.length !== b.length || a === b || a.length < referenceCharsMin) return false
  const wrong = Array.from({ length: a.length }, (_none, at) => at).filter((at) => a[at] !== b[at])
  const [one = -1, other = -1] = wrong
  if (wrong.length === 1) return true
  return wrong.length === 2 && other === one + 1 && a[one] === b[other] && a[other] === b[one]
}

const nameWords = (name: string): readonly string[] =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toUpperCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .toSorted()

/** Computes the similarity of names from 0 to 1, by common pairs of letters in any word order. */
function nameSimilarity(a: string, b: string): number {
  const [one, other] = [letterPairs(nameWords(a)), letterPairs(nameWords(b))]
  if (one.length === 0 || other.length === 0) return 0
  const left = [...other]
  const common = one.filter((pair) => {
    const at = left.indexOf(pair)
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
  return (2 * common.length) / (one.length + other.length)
}

const letterPairs = (words: readonly string[]): readonly string[] =>
  words.flatMap((word) => {
    const marked = ` ${word} `
    return Array.from({ length: marked.length - 1 }, (_none, at) => marked.slice(at, at + 2))
  })
