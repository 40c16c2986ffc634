/** Pure: the states of a transaction, and what the filters of its list mean. */
import type {
  TimelineActor,
  TransactionCategory,
  TransactionRelation,
  TransactionStatus,
  TransactionType,
} from '@partner-payments/wire'
import { refuseField } from '../kernel/api/index.ts'
import { currencies, type Currency, isCurrency, type Minor } from '../kernel/index.ts'
import type { Actor } from '../lifecycle/index.ts'
import type { ChangePosition, ReferenceRange } from './store.ts'

export type FinalStatus = Exclude<TransactionStatus, 'Pending'>

/** Contract page: Pending leads to exactly one of four final statuses. */
const transitions = {
  Pending: ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'],
  Completed: [],
  Unsuccessful: [],
  Cancelled: [],
  Expired: [],
} as const satisfies Record<TransactionStatus, readonly TransactionStatus[]>

export function mayMove(from: TransactionStatus, to: TransactionStatus): boolean {
  return (transitions[from] as readonly TransactionStatus[]).includes(to)
}

/** Relation of a transaction to another one that it names or that names it. */
export function relationOf(
  { reference, category, type }: { reference: string; category: TransactionCategory; type: TransactionType },
  original: string,
): TransactionRelation {
  if (reference === original) return 'Original'
  // A return is no deposit of a customer: `typesOf` of payouts.
  if (type === 'PartnerCustomerDeposit') return 'Transfer'
  if (category === 'Deposit') return 'Return'
  return type.endsWith('Refund') ? 'Refund' : 'Reversal'
}

/** Names of the actors in the API. */
export const actorNames: Readonly<Record<Actor, TimelineActor>> = {
  partner: 'Partner',
  worker: 'Service',
  bank: 'Bank',
  time: 'Time',
  operator: 'Operator',
}

const surrogates = { first: 0xd800, behind: 0xe000 } as const
const codePointMax = 0x10ffff

/**
 * The range of references that begin with a text: from it to before the next text of its length, in the order of code
 * points.
 */
export function referencesWith(prefix: string): ReferenceRange {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  // The greatest code point in the last place is followed by the next one in the place before it.
  while (points.at(-1) === codePointMax) points.pop()
  const last = points.pop()
  if (last === undefined) return { from: prefix, before: null }
  const next = last + 1 === surrogates.first ? surrogates.behind : last + 1
  return { from: prefix, before: String.fromCodePoint(...points, next) }
}

type AmountQuery = { readonly currency?: string; readonly amountMin?: string; readonly amountMax?: string }
type AmountRange = {
  readonly currency: Currency | null
  readonly amountMin: Minor | null
  readonly amountMax: Minor | null
}

/**
 * Amounts in minor units of the currency. Undefined: the service does not have the currency. Refuses (400, with a pointer):
 * an amount without a currency, with more digits than the currency has, or a range that ends before it begins.
 */
export function readAmountRange({ currency, ...given }: AmountQuery): AmountRange | undefined {
  if (currency === undefined) {
    if (given.amountMin === undefined && given.amountMax === undefined)
      return { currency: null, amountMin: null, amountMax: null }
    const message = 'is required with amountMin and amountMax, for example currency=EUR'
    throw refuseField({ pointer: '/query/currency', code: 'required', message })
  }
  if (!isCurrency(currency)) return undefined
  const amountMin = readMinor(given.amountMin, currency, '/query/amountMin')
  const amountMax = readMinor(given.amountMax, currency, '/query/amountMax')
  if (amountMin !== null && amountMax !== null && amountMax < amountMin)
    throw refuseField({ pointer: '/query/amountMax', code: 'out_of_range', message: 'must be at least amountMin' })
  return { currency, amountMin, amountMax }
}

/** A text that has passed its schema: digits, with an optional point and up to six decimals. */
function readMinor(text: string | undefined, currency: Currency, pointer: string): Minor | null {
  if (text === undefined) return null
  const [whole = '', fraction = ''] = text.split('.')
  const { digits } = currencies[currency]
  if (fraction.length > digits) {
    const message = `must have at most ${digits} decimal digits in ${currency}`
    throw refuseField({ pointer, code: 'too_precise', message })
  }
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

const separator = ' '
export const writeChangePosition = ({ updatedAt, id }: ChangePosition): string =>
  [updatedAt.toISOString(), id].join(separator)

/** A position that `writeChangePosition` wrote; its cursor is signed. */
export function readChangePosition(position: string): ChangePosition {
  const [updatedAt = '', id = ''] = position.split(separator)
  return { updatedAt: new Date(updatedAt), id }
}
