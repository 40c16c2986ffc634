/** Pure: the states of a transaction, and what the filters of its list mean. */
import type {
  TimelineActor,
  TransactionCategory,
  TransactionRelation,
  TransactionStatus,
  TransactionType,
} from '@partner-payments/wire'
import { refuseField } from '../kernel/api/index.ts'
import { currencies, type Currency, isCurrency, type Minor, type Money } from '../kernel/index.ts'
import type { Actor } from '../lifecycle/index.ts'
import type { ChangePosition, ReferenceRange } from './store.ts'

export type FinalStatus = Exclude<TransactionStatus, 'Pending'>

/** Contract: a Pending transaction gets exactly one of four final statuses. */
const transitions = {
  Pending: ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'],
  Completed: [],
  Unsuccessful: [],
  Cancelled: [],
  Expired: [],
} as const satisfies Record<TransactionStatus, readonly TransactionStatus[]>

export function isAllowedTransition(from: TransactionStatus, to: TransactionStatus): boolean {
  return (transitions[from] as readonly TransactionStatus[]).includes(to)
}

/** Classifies the relation of a transaction to another one of the same payment. */
export function classifyRelation(
  { reference, category, type }: { reference: string; category: TransactionCategory; type: TransactionType },
  original: string,
): TransactionRelation {
  if (reference === original) return 'Original'
  // A return is not a deposit of a customer: `transactionTypes` of payouts.
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

/** Returns the range of references that begin with a text, in the order of code points. */
export function prefixRange(prefix: string): ReferenceRange {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  // After the greatest code point, the previous character is increased instead.
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
 * Reads amounts in minor units of the currency. Undefined: the service does not have the currency. Refuses (400, with a
 * pointer): an amount without a currency, with too many decimals, or a range that ends before it begins.
 */
export function parseAmountRange({ currency, ...given }: AmountQuery): AmountRange | undefined {
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

/**
 * Reads the amounts that a text may mean: in the given currency, or in each currency with as many decimals. Null: the
 * filter is not given. Refuses (400, with a pointer): an amount with too many decimals for the given currency.
 */
export function readAmounts({
  currency,
  amount,
}: Pick<AmountQuery, 'currency'> & { readonly amount?: string }): readonly Money[] | null {
  if (amount === undefined) return null
  if (currency !== undefined)
    return isCurrency(currency) ? [{ currency, amount: readMinor(amount, currency, '/query/amount') ?? 0n }] : []
  const digits = amount.split('.')[1]?.replace(/0+$/, '').length ?? 0
  const [whole = '', fraction = ''] = amount.split('.')
  return (Object.keys(currencies) as Currency[]).flatMap((each) => {
    if (digits > currencies[each].digits) return []
    const text = [whole, fraction.slice(0, currencies[each].digits)].filter(Boolean).join('.')
    return [{ currency: each, amount: readMinor(text, each, '/query/amount') ?? 0n }]
  })
}

/** Normalises an account for the index of transactions: no spaces, upper case. */
export const normaliseAccount = (text: string): string => text.replaceAll(/\s/g, '').toUpperCase()

/** Reads a text that matches its schema: digits, with an optional point and up to six decimals. */
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
export const formatChangePosition = ({ updatedAt, id }: ChangePosition): string =>
  [updatedAt.toISOString(), id].join(separator)

/** Reads a position that `writeChangePosition` wrote; its cursor is signed. */
export function readChangePosition(position: string): ChangePosition {
  const [updatedAt = '', id = ''] = position.split(separator)
  return { updatedAt: new Date(updatedAt), id }
}
