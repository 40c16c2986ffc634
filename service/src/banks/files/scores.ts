/** Scores the certainty that a booking is one of our payments. Pure. */
import { amountText, type Currency, dayMs, type Minor } from '../../kernel/index.ts'
import { absolute } from './accounts.ts'
import { parseInstructionId } from './ids.ts'
import type { SentPayment } from './store-incoming.ts'
import type { Unit } from './units.ts'

/** The lowest score of an automatic match. Similarity without references scores less. */
export const automaticScoreMin = 75

const byInstruction = 100
const byEndToEnd = 95
/** The amount differs, so that settlement opens a case. */
const byEndToEndAlone = 80
const similarityScores = { amount: 40, account: 20, name: 10, date: 4 } as const
const daysBetweenMax = 5

export type ScoredPayment = { readonly sent: SentPayment; readonly score: number; readonly agreed: readonly string[] }

/** Scores a debit or return against a payment by its references; undefined if they do not name this payment. */
function scoreByReference(unit: Unit, sent: SentPayment): ScoredPayment | undefined {
  if (sent.currency !== unit.account.currency) return undefined
  const isAmount = sent.amount === absolute(unit.amount)
  const amount = isAmount ? ['amount'] : []
  const { instruction, endToEnd } = unit.references
  if (instruction !== null && parseInstructionId(instruction)?.id === sent.id)
    return { sent, score: byInstruction, agreed: ['instruction', ...amount] }
  if (endToEnd !== null && endToEnd === sent.endToEndId)
    return { sent, score: isAmount ? byEndToEnd : byEndToEndAlone, agreed: ['endToEnd', ...amount] }
  return undefined
}

/**
 * Finds the payment that the references name. Our InstrId names exactly one. If several payments have the partner's
 * end-to-end id, amount and account must match exactly one. Otherwise undefined, and a person decides.
 */
export function findReferencedPayment(unit: Unit, named: readonly SentPayment[]): ScoredPayment | undefined {
  const scores = named.flatMap((sent) => scoreByReference(unit, sent) ?? [])
  const [first, ...others] = scores.toSorted(compareScores)
  if (first === undefined || first.score === byInstruction || others.length === 0) return first
  const { account } = unit.counterparty
  const fitting = scores.filter(
    ({ sent, score }) => score === byEndToEnd && (account === null || account === sent.creditorAccount),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

/** Scores a debit without references against a payment, for the person who decides. */
export function scoreBySimilarity(unit: Unit, sent: SentPayment): ScoredPayment | undefined {
  if (sent.currency !== unit.account.currency || sent.amount !== absolute(unit.amount)) return undefined
  const { account, name } = unit.counterparty
  const agreed: (keyof typeof similarityScores)[] = ['amount']
  if (account !== null && account === sent.creditorAccount) agreed.push('account')
  if (name !== null && plainName(name) === plainName(sent.creditorName)) agreed.push('name')
  if (Math.abs(Date.parse(unit.bookedOn) - sent.createdAt.getTime()) <= daysBetweenMax * dayMs) agreed.push('date')
  return { sent, score: agreed.reduce((sum, what) => sum + similarityScores[what], 0), agreed }
}

const plainName = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
    .toLowerCase()

/** Sorts by score; among equal scores, unbooked payments first, then the oldest. */
export const compareScores = (a: ScoredPayment, b: ScoredPayment): number =>
  b.score - a.score ||
  Number(a.sent.entryId !== null) - Number(b.sent.entryId !== null) ||
  a.sent.createdAt.getTime() - b.sent.createdAt.getTime()

/** Formats what agreed and what differed, for the row of the entry. */
export const formatMatch = (agreed: readonly string[], differs: readonly string[] = []): string =>
  JSON.stringify(differs.length === 0 ? { agreed } : { agreed, differs })

export const amountDifference = (told: Minor, asked: Minor, currency: Currency): readonly string[] =>
  told === asked ? [] : [`amount: ${amountText(told, currency)} instead of ${amountText(asked, currency)}`]
