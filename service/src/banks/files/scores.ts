/** Scores how certainly a booking is one of our payments. Pure. */
import { amountText, type Currency, dayMs, type Minor } from '../../kernel/index.ts'
import { absolute } from './accounts.ts'
import { readInstructionId } from './ids.ts'
import type { Sent } from './store-incoming.ts'
import type { Unit } from './units.ts'

/** From this score on, a booking is matched automatically. Similarity alone scores less. */
export const sureFrom = 75

const byInstruction = 100
const byEndToEnd = 95
/** The amount differs, so that settlement opens a case. */
const byEndToEndAlone = 80
const alike = { amount: 40, account: 20, name: 10, date: 4 } as const
const daysBetweenMax = 5

export type Scored = { readonly sent: Sent; readonly score: number; readonly agreed: readonly string[] }

/** Scores a debit or return against a payment by its references; undefined if they do not name this payment. */
function scoreByReference(unit: Unit, sent: Sent): Scored | undefined {
  if (sent.currency !== unit.account.currency) return undefined
  const isAmount = sent.amount === absolute(unit.amount)
  const amount = isAmount ? ['amount'] : []
  const { instruction, endToEnd } = unit.references
  if (instruction !== null && readInstructionId(instruction)?.id === sent.id)
    return { sent, score: byInstruction, agreed: ['instruction', ...amount] }
  if (endToEnd !== null && endToEnd === sent.endToEndId)
    return { sent, score: isAmount ? byEndToEnd : byEndToEndAlone, agreed: ['endToEnd', ...amount] }
  return undefined
}

/**
 * Finds the payment that the references name. Our InstrId names exactly one. If several payments have the partner's
 * end-to-end id, amount and account must match exactly one. Otherwise undefined, and a person decides.
 */
export function surest(unit: Unit, named: readonly Sent[]): Scored | undefined {
  const scores = named.flatMap((sent) => scoreByReference(unit, sent) ?? [])
  const [first, ...others] = scores.toSorted(surestFirst)
  if (first === undefined || first.score === byInstruction || others.length === 0) return first
  const { account } = unit.counterparty
  const fitting = scores.filter(
    ({ sent, score }) => score === byEndToEnd && (account === null || account === sent.creditorAccount),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

/** Scores a debit without references against a payment, for the person who decides. */
export function scoreByLooks(unit: Unit, sent: Sent): Scored | undefined {
  if (sent.currency !== unit.account.currency || sent.amount !== absolute(unit.amount)) return undefined
  const { account, name } = unit.counterparty
  const agreed: (keyof typeof alike)[] = ['amount']
  if (account !== null && account === sent.creditorAccount) agreed.push('account')
  if (name !== null && plain(name) === plain(sent.creditorName)) agreed.push('name')
  if (Math.abs(Date.parse(unit.bookedOn) - sent.createdAt.getTime()) <= daysBetweenMax * dayMs) agreed.push('date')
  return { sent, score: agreed.reduce((sum, what) => sum + alike[what], 0), agreed }
}

const plain = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
    .toLowerCase()

/** Sorts by score; among equal scores, unbooked payments first, then the oldest. */
export const surestFirst = (a: Scored, b: Scored): number =>
  b.score - a.score ||
  Number(a.sent.entryId !== null) - Number(b.sent.entryId !== null) ||
  a.sent.createdAt.getTime() - b.sent.createdAt.getTime()

/** Formats what agreed and what differed, for the row of the entry. */
export const matchText = (agreed: readonly string[], differs: readonly string[] = []): string =>
  JSON.stringify(differs.length === 0 ? { agreed } : { agreed, differs })

export const amountDiffers = (told: Minor, asked: Minor, currency: Currency): readonly string[] =>
  told === asked ? [] : [`amount: ${amountText(told, currency)} instead of ${amountText(asked, currency)}`]
