/** Finds our account of a statement, and checks its balances and totals. Pure. */
import type { Amount, Balance, EntryTotals, StatementHead } from '../../iso20022/index.ts'
import { currencies, type Currency, isCurrency, type Minor } from '../../kernel/index.ts'
import type { BankAccount } from './deps.ts'

/** A shorter number could equal the end of our IBAN by chance. */
const ownNumberCharsMin = 7

/**
 * Finds our account for a statement. A bank may report the national account number, which is the end of the IBAN.
 * Returns `account` if the account is not ours, and `currency` if we do not have it in this currency.
 */
export function findStatementAccount(
  accounts: readonly BankAccount[],
  { account: { id, currency }, balances }: StatementHead,
): BankAccount | 'account' | 'currency' {
  const named = 'iban' in id ? id.iban.replaceAll(' ', '').toUpperCase() : id.other.replace(/\W/g, '')
  const ours = accounts.filter(
    ({ iban }) => iban === named || (!('iban' in id) && named.length >= ownNumberCharsMin && iban.endsWith(named)),
  )
  if (ours.length === 0) return 'account'
  const told = currency ?? balances[0]?.amount.currency
  return (told === undefined ? ours[0] : ours.find((one) => one.currency === told)) ?? 'currency'
}

export const statementAccountId = ({ account: { id } }: StatementHead): string => ('iban' in id ? id.iban : id.other)

const balanceCode = ({ type }: Balance): string => ('code' in type ? type.code : type.proprietary)

export type DatedBalance = { readonly minor: Minor; readonly on: string }

type StatedBalance = DatedBalance & { readonly code: string; readonly place: number }
type BalancePair = { readonly opening: StatedBalance | undefined; readonly closing: StatedBalance | undefined }

/**
 * Finds the opening balance of the first day and the closing balance of the last: a statement of several days may state
 * both for each day, in any order. Available and forward balances are ignored. `explains` reports whether the entries
 * can add up to a difference; the first pair that fits counts. `isPage`: the entries are only a part of the statement.
 */
export function findBalances(
  { balances, from, to }: StatementHead,
  currency: Currency,
  { explains, isPage }: { readonly explains: (moved: Minor) => boolean; readonly isPage: boolean },
): { readonly opening: DatedBalance | null; readonly closing: DatedBalance | null } {
  const stated = balances.flatMap((balance): readonly StatedBalance[] => {
    const [code, minor] = [balanceCode(balance), amountIn(balance.amount, currency)]
    const on = balance.date ?? (openingCodes.includes(code) ? from : to)
    if (minor === undefined || on === undefined) return []
    return [{ code, minor: balance.isCredit ? minor : -minor, on, place: balanceRank(balance) }]
  })
  const usual = pairBalances(stated)
  const opened = pairBalances(stated.filter(({ code }) => code !== 'PRCD'))
  const inPeriod = pairBalances(stated.filter(({ code, on }) => !isOutside(code, on, stated, from, to)))
  const turned =
    isInterim(usual.opening) && isInterim(usual.closing) ? [{ opening: usual.closing, closing: usual.opening }] : []
  const isOfLaterDay = (pair: BalancePair) =>
    stated.some(({ code, on }) => code === 'CLBD' && on < (pair.opening?.on ?? ''))
  const pairs = [usual, opened, inPeriod, ...turned].filter((pair) => !isPage || !isOfLaterDay(pair))
  const { opening, closing } = pairs.find((pair) => fits(pair, explains)) ?? usual
  return { opening: toDated(opening), closing: toDated(closing) }
}

const fits = ({ opening, closing }: BalancePair, explains: (moved: Minor) => boolean): boolean =>
  opening !== undefined && closing !== undefined && explains(closing.minor - opening.minor)

/** Codes of the balance before the first entry: the opening balance of the day, or the closing balance of the day before. */
const openingCodes: readonly string[] = ['OPBD', 'PRCD']
const isInterim = (stated: StatedBalance | undefined): boolean => stated?.code === 'ITBD'

/** Pairs an opening with a closing balance. A page in the middle of a statement has an interim balance before and after it. */
function pairBalances(stated: readonly StatedBalance[]): BalancePair {
  const interim = stated.filter(isInterim)
  const closings = stated.filter(({ code }) => code === 'CLBD')
  const [named] = stated
    .filter(({ code }) => openingCodes.includes(code))
    .toSorted((a, b) => compare(a.on, b.on) || compare(a.code, b.code) || a.place - b.place)
  const [first, ...later] = interim.toSorted((a, b) => compare(a.on, b.on))
  const opening = named ?? (closings.length > 0 || later.length > 0 ? first : undefined)
  const [last] = closings.toSorted((a, b) => compare(b.on, a.on) || a.place - b.place)
  return { opening, closing: last ?? later.at(-1) ?? (opening === first ? undefined : first) }
}

/**
 * Reports whether a balance is for a day outside the period although another of the same kind is for a day within it.
 */
function isOutside(code: string, on: string, stated: readonly StatedBalance[], from = '', to = '9999'): boolean {
  if (code === 'CLBD') return on > to && stated.some((other) => other.code === code && other.on <= to)
  return (
    openingCodes.includes(code) &&
    stated.some((other) => openingCodes.includes(other.code) && other.on <= from && other.on > on)
  )
}

/** Orders balances of one kind and day: the account's own, then that of a page, then those that include a credit line. */
const balanceRank = ({ creditLines, subType }: Balance): number =>
  Number(creditLines.some(({ isIncluded }) => isIncluded)) * 2 +
  Number(subType !== undefined && 'code' in subType && subType.code === 'INTM')

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const toDated = (balance: StatedBalance | undefined): DatedBalance | null =>
  balance === undefined ? null : { minor: balance.minor, on: balance.on }

export const absolute = (minor: Minor): Minor => (minor < 0n ? -minor : minor)

/** Returns the minor units; undefined if the amount is in another currency or inexact. */
export const amountIn = (amount: Amount, currency: Currency): Minor | undefined =>
  amount.currency === currency && amount.minor !== null ? amount.minor : undefined

const decimal = /^[+-]?(\d*)(?:\.(\d*?)0*)?$/

/** Reads a sum as minor units, without its sign; undefined if it is not an amount of the currency. */
export function parseAmount(text: string, currency: Currency): Minor | undefined {
  const [, whole, fraction = ''] = decimal.exec(text.trim()) ?? []
  if (whole === undefined || !/\d/.test(text) || !isCurrency(currency)) return undefined
  const { digits } = currencies[currency]
  if (fraction.length > digits) return undefined
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

/** Rounds a decimal down and up to minor units; undefined if the text is not a decimal. */
export function roundedBothWays(text: string, currency: Currency): readonly [Minor, Minor] | undefined {
  const [, whole = '', fraction = ''] = /^\+?(\d{0,18})(?:\.(\d{0,40}))?$/.exec(text) ?? []
  if (whole === '' && fraction === '') return undefined
  const { digits } = currencies[currency]
  const least = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'))
  return [least, least + (/[1-9]/.test(fraction.slice(digits)) ? 1n : 0n)]
}

/** Counts and sums, in minor units, of the entries read from a statement. */
export type EntryCounts = {
  entries: number
  credits: Minor
  debits: Minor
  creditEntries: number
  debitEntries: number
}
export const noEntryCounts = (): EntryCounts => ({
  entries: 0,
  credits: 0n,
  debits: 0n,
  creditEntries: 0,
  debitEntries: 0,
})

/** Describes the first mismatch with the totals of a statement. Banks count all entries, or only booked ones. */
export function totalsProblem(
  totals: EntryTotals,
  counts: readonly EntryCounts[],
  currency: Currency,
): string | undefined {
  const check = (name: string, told: number | undefined, of: (counted: EntryCounts) => number) =>
    told === undefined || counts.some((counted) => of(counted) === told)
      ? []
      : [`${name} says ${told}, and there are ${counts.map(of).join(' or ')}`]
  const checkSum = (name: string, told: string | undefined, of: (counted: EntryCounts) => Minor) => {
    if (told === undefined) return []
    const minor = parseAmount(told, currency)
    // A sum that is not an amount is ignored: the balances are checked too.
    return minor === undefined || counts.some((counted) => of(counted) === minor)
      ? []
      : [`${name} says ${told}, and the entries are ${counts.map(of).join(' or ')} minor units`]
  }
  const [first] = [
    ...check('TtlNtries/NbOfNtries', totals.count, ({ entries }) => entries),
    ...checkSum('TtlNtries/Sum', totals.sum, ({ credits, debits }) => credits + debits),
    ...check('TtlCdtNtries/NbOfNtries', totals.creditCount, ({ creditEntries }) => creditEntries),
    ...checkSum('TtlCdtNtries/Sum', totals.creditSum, ({ credits }) => credits),
    ...check('TtlDbtNtries/NbOfNtries', totals.debitCount, ({ debitEntries }) => debitEntries),
    ...checkSum('TtlDbtNtries/Sum', totals.debitSum, ({ debits }) => debits),
  ]
  return first
}
