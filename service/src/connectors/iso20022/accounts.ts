/** Pure: which account of ours a statement is about, and the figures at its head. */
import type { Amount, Balance, EntryTotals, StatementHead } from '../../iso20022/index.ts'
import { currencies, type Currency, isCurrency, type Minor } from '../../kernel/index.ts'
import type { BankAccount } from './deps.ts'

/** Shorter numbers would fit an account by chance. */
const ownNumberCharsMin = 7

/** A bank may report the national number of an account, which is the end of its IBAN. */
export function accountOf(
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

export const accountText = ({ account: { id } }: StatementHead): string => ('iban' in id ? id.iban : id.other)

const codeOf = ({ type }: Balance): string => ('code' in type ? type.code : type.proprietary)

export type DatedBalance = { readonly minor: Minor; readonly on: string }

/** A page in the middle of a statement has two interim balances: before it and after it. */
export function balancesOf(
  { balances }: StatementHead,
  currency: Currency,
): { readonly opening: DatedBalance | null; readonly closing: DatedBalance | null } {
  const find = (...codes: readonly string[]) => balances.find((balance) => codes.includes(codeOf(balance)))
  const interim = balances.filter((balance) => codeOf(balance) === 'ITBD')
  const first = find('OPBD', 'PRCD')
  const last = find('CLBD')
  const opening = first ?? (last !== undefined || interim.length > 1 ? interim[0] : undefined)
  const closing = last ?? (interim.at(-1) === opening ? undefined : interim.at(-1))
  return { opening: toDated(opening, currency), closing: toDated(closing, currency) }
}

function toDated(balance: Balance | undefined, currency: Currency): DatedBalance | null {
  const minor = balance && minorOf(balance.amount, currency)
  if (balance === undefined || minor === undefined) return null
  return { minor: balance.isCredit ? minor : -minor, on: balance.date.slice(0, 10) }
}

/** Undefined: it is in another currency. */
export const minorOf = (amount: Amount, currency: Currency): Minor | undefined =>
  amount.currency === currency && amount.minor !== null ? amount.minor : undefined

const decimal = /^[+-]?(\d+)(?:\.(\d*?)0*)?$/

/** The minor units of a control sum; undefined if it has more digits than the currency. */
function minorOfText(text: string, currency: Currency): Minor | undefined {
  const [, whole, fraction = ''] = decimal.exec(text.trim()) ?? []
  if (whole === undefined || !isCurrency(currency)) return undefined
  const { digits } = currencies[currency]
  if (fraction.length > digits) return undefined
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

/** The counts of a statement's entries as they were read. Sums are minor units. */
export type Counted = {
  entries: number
  credits: Minor
  debits: Minor
  creditEntries: number
  debitEntries: number
}
export const nothingCounted = (): Counted => ({
  entries: 0,
  credits: 0n,
  debits: 0n,
  creditEntries: 0,
  debitEntries: 0,
})

/** The mismatch with the totals that a statement states. Banks count all entries, or only booked ones. */
export function totalsProblem(totals: EntryTotals, counts: readonly Counted[], currency: Currency): string | undefined {
  const check = (name: string, told: number | undefined, of: (counted: Counted) => number) =>
    told === undefined || counts.some((counted) => of(counted) === told)
      ? []
      : [`${name} says ${told}, and there are ${counts.map(of).join(' or ')}`]
  const checkSum = (name: string, told: string | undefined, of: (counted: Counted) => Minor) => {
    if (told === undefined) return []
    const minor = minorOfText(told, currency)
    return counts.some((counted) => of(counted) === minor)
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
