/** Pure: judges a line of a bank's file of IBANs, and says when a pool runs low. */
import { dayMs } from '../../kernel/index.ts'
import { ibanProblem, isBic } from '../../rails/index.ts'

/** Reasons why a line of the file is not imported. */
export type BadReason =
  | 'not_an_iban'
  | 'unknown_country'
  | 'structure'
  | 'check_digits'
  | 'wrong_country'
  | 'bic'
  | 'too_many_cells'
  | 'double_in_file'
  | 'double_in_database'
  | 'issued_by_range'

export type BadLine = {
  /** Line number, from 1. */
  readonly line: number
  readonly iban: string
  readonly reason: BadReason
  readonly detail: string
}
export type GoodLine = { readonly line: number; readonly iban: string; readonly bic: string | null }

export const poolNameForm = /^[a-z0-9][a-z0-9-]{0,31}$/

/** No IBAN with its BIC is longer. A longer text is not an IBAN, and only its beginning is kept. */
const shownCharsMax = 64

const cellsOf = (text: string): readonly string[] =>
  text.split(/[,;]/).map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )

/** Reports whether the first line of a file names its columns. */
export const isHeader = (text: string): boolean => /^iban(,bic)?$/i.test(cellsOf(text).join())

/** Undefined: the line is empty. Banks also print IBANs in groups of four; small letters and other separators are refused. */
export function readLine(text: string, line: number): GoodLine | BadLine | undefined {
  if (text.trim() === '') return undefined
  const [first = '', second = '', ...others] = cellsOf(text)
  const iban = first.replaceAll(' ', '')
  const bad = (reason: BadReason, detail: string): BadLine => ({
    line,
    iban: iban.slice(0, shownCharsMax),
    reason,
    detail,
  })
  if (others.length > 0) return bad('too_many_cells', 'A line has an IBAN and at most a BIC.')
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{1,30}$/.test(iban))
    return bad('not_an_iban', 'An IBAN has two capital letters, two check digits, then capital letters and digits.')
  const problem = ibanProblem(iban)
  if (problem !== undefined) return bad(...reasonOf(iban.slice(0, 2), problem))
  if (second !== '' && !isBic(second)) return bad('bic', 'The second cell is not a BIC (ISO 9362).')
  return { line, iban, bic: second === '' ? null : second }
}

function reasonOf(
  country: string,
  problem: NonNullable<ReturnType<typeof ibanProblem>>,
): readonly [reason: BadReason, detail: string] {
  switch (problem) {
    case 'country':
      return ['unknown_country', `${country} has no IBANs (ISO 13616).`]
    case 'length':
      return ['structure', `The length is not that of an IBAN of ${country}.`]
    case 'structure':
      return ['structure', `The letters and digits are not those of an IBAN of ${country}.`]
    case 'checkDigits':
      return ['check_digits', 'The check digits are wrong.']
  }
}

/** Period over which the use of a pool is estimated. */
export const useDays = 30

export type PoolUse = {
  readonly free: number
  /** Given in the last `useDays` days. */
  readonly givenLately: number
  readonly createdAt: Date
}

/**
 * Estimates in how many days the pool will be empty, by its use of the last 30 days or since its creation. Null: it is
 * not in use.
 */
export function daysLeft({ free, givenLately, createdAt }: PoolUse, now: Date): number | null {
  if (givenLately === 0) return null
  const days = Math.min(useDays, Math.max(1, (now.getTime() - createdAt.getTime()) / dayMs))
  return Math.floor(free / (givenLately / days))
}

/** IBAN_POOL_FREE_MIN and IBAN_POOL_DAYS_MIN. */
export type PoolLevels = { readonly freeMin: number; readonly daysMin: number }

export function isLow(use: PoolUse, { freeMin, daysMin }: PoolLevels, now: Date): boolean {
  const days = daysLeft(use, now)
  return use.free < freeMin || (days !== null && days < daysMin)
}
