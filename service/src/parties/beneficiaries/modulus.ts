/** The modulus check of British accounts: loads its tables, and checks accounts with them. */
import { hash } from 'node:crypto'
import { refuseField } from '../../kernel/api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { parseDomesticAccount } from '../../rails/index.ts'
import { readSubstitutes, readWeights, type SubstituteRow, type WeightRow } from './modulus-file.ts'
import * as store from './store-bics.ts'
import type { VerificationsDeps } from './verifications.ts'

export type LoadedModulusTable = store.ModulusTable & {
  /** True if the same files were loaded last. Nothing changes then. */
  readonly isRepetition: boolean
}

export type ModulusTables = {
  /**
   * Replaces all tables, and calls `recorded` in the same transaction. Throws ModulusFileError with the given `file`.
   */
  readonly load: (
    files: { readonly weights: string; readonly substitutes: string },
    staff: string,
    recorded: (tx: Tx) => Promise<void>,
  ) => Promise<LoadedModulusTable>
  /** Reads the current tables. Undefined: none were loaded, so account numbers are not checked. */
  readonly current: (tx: Tx) => Promise<store.ModulusTable | undefined>
}

export const createModulusTables = ({ db, clock }: Pick<VerificationsDeps, 'db' | 'clock'>): ModulusTables => ({
  load: async (files, staff, recorded) => {
    const [weights, substitutes] = [readWeights(files.weights), readSubstitutes(files.substitutes)]
    const digest = hash('sha256', `${files.weights}\n${files.substitutes}`)
    return db.transaction(async (tx) => {
      await store.lockModulusTables(tx)
      const before = await store.currentModulusTable(tx)
      if (before?.hash === digest) return { ...before, isRepetition: true }
      const counts = { ranges: weights.length, substitutes: substitutes.length }
      const table = {
        version: (before?.version ?? 0) + 1,
        hash: digest,
        loadedAt: clock.now(),
        loadedBy: staff,
        ...counts,
      }
      await store.replaceModulusTables(tx, { table, weights, substitutes })
      await recorded(tx)
      return { ...table, isRepetition: false }
    })
  },
  current: store.currentModulusTable,
})

/** Refuses (400, /accountNumber) a British account number that cannot belong to its sort code. */
export async function refuseWrongModulus(tx: Tx, domesticAccount: string | null): Promise<void> {
  if (domesticAccount !== null) (await loadModulusCheck(tx, [domesticAccount]))(domesticAccount)
}

/** Reads the rules for domestic accounts in two statements. Returns a function that refuses a wrong account (400, /accountNumber). */
export async function loadModulusCheck(tx: Tx, accounts: readonly string[]): Promise<(account: string) => void> {
  const british = accounts.flatMap((text) => {
    const account = parseDomesticAccount(text)
    return account?.system === 'GBDSC' ? [[text, account] as const] : []
  })
  if (british.length === 0) return () => undefined
  const sortCodes = [...new Set(british.map(([, { sortCode }]) => sortCode))]
  const rows = Map.groupBy(await store.weightsOf(tx, sortCodes), ({ sortCode }) => sortCode)
  const exceptional = sortCodes.filter((code) => rows.get(code)?.some(({ exception }) => exception === 5))
  const substitutes = exceptional.length === 0 ? [] : await store.substitutesOf(tx, exceptional)
  const wrong = new Set(
    british.flatMap(([text, account]) => {
      const own = substitutes.filter(({ original }) => original === account.sortCode)
      return checkModulus(account, rows.get(account.sortCode) ?? [], own) === 'invalid' ? [text] : []
    }),
  )
  return (account) => {
    if (!wrong.has(account)) return
    throw refuseField({
      pointer: '/accountNumber',
      code: 'invalid_value',
      message: 'does not belong to the sort code (UK modulus check); check both numbers with the payee',
    })
  }
}

// Pure: whether a British account number can belong to a sort code. Source: Vocalink, "Validating account numbers: UK modulus checking", version 7.70
// (2024): methods in chapter 1, exceptions in 2.2.2. The table of weights is data that the operator loads (modulus-file.ts).

/** `unchecked`: the table does not have a rule for the sort code, so the number counts as valid (2.2.1, step 1). */
type ModulusVerdict = 'valid' | 'invalid' | 'unchecked'

/** Exceptions for which it is enough that the first or the second check passes. */
const eitherIsEnough: ReadonlySet<number | null> = new Set([2, 9, 10, 11, 12, 13])

/** Exception 2 has other weights if the first digit of the account is not 0. They also depend on whether the seventh digit is 9. */
const euroWeights = [0, 0, 1, 2, 5, 3, 6, 4, 8, 7, 10, 9, 3, 1]
const euroWeightsWithNine = [0, 0, 0, 0, 0, 0, 0, 0, 8, 7, 10, 9, 3, 1]
const euroSortCode = '309634'
const exception8SortCode = '090126'
/** Accounts of exception 14 may lack their last digit, which is 0, 1 or 9. */
const lastDigitsOf14: ReadonlySet<number> = new Set([0, 1, 9])

/** `rows`: those of the sort code, in the order of the table. Account numbers have eight digits. */
export function checkModulus(
  { sortCode, accountNumber }: { readonly sortCode: string; readonly accountNumber: string },
  rows: readonly WeightRow[],
  substitutes: readonly SubstituteRow[],
): ModulusVerdict {
  if (rows.length === 0) return 'unchecked'
  const substitute = substitutes.find(({ original }) => original === sortCode)?.substitute
  const results = rows.map((row) => passes(row, { sortCode, substitute, accountNumber }))
  const passed = rows.some(({ exception }) => eitherIsEnough.has(exception))
    ? results.some(Boolean)
    : results.every(Boolean)
  return passed ? 'valid' : 'invalid'
}

type AccountUnderCheck = {
  readonly sortCode: string
  /** Replaces the sort code in exception 5. */
  readonly substitute: string | undefined
  readonly accountNumber: string
}

function passes(
  { method, weights, exception }: WeightRow,
  { sortCode, substitute, accountNumber }: AccountUnderCheck,
): boolean {
  const [a = 0, b = 0, c = 0, , , , g = 0, h = 0] = toDigits(accountNumber)
  if (exception === 3 && (c === 6 || c === 9)) return true
  // Accounts in foreign currencies cannot be checked.
  if (exception === 6 && a >= 4 && a <= 8 && g === h) return true
  const bank = { 5: substitute, 8: exception8SortCode, 9: euroSortCode }[exception ?? 0] ?? sortCode
  const isNine = g === 9
  const used =
    exception === 2 && a !== 0
      ? isNine
        ? euroWeightsWithNine
        : euroWeights
      : isNine && (exception === 7 || (exception === 10 && (a === 0 || a === 9) && b === 9))
        ? weights.map((weight, at) => (at < 8 ? 0 : weight))
        : weights
  const remainder = (number: string) => moduloRemainder(method, used, bank + number, exception === 1 ? 27 : 0)
  const rest = remainder(accountNumber)
  if (exception === 4) return rest === 10 * g + h
  if (exception === 5)
    return isCheckDigit(rest, method === 'MOD11' ? { modulus: 11, digit: g } : { modulus: 10, digit: h })
  if (rest === 0 || exception !== 14) return rest === 0
  return lastDigitsOf14.has(h) && remainder(`0${accountNumber.slice(0, 7)}`) === 0
}

const toDigits = (text: string): readonly number[] => Array.from(text, Number)

function moduloRemainder(method: WeightRow['method'], weights: readonly number[], text: string, start: number): number {
  const total = toDigits(text).reduce((sum, digit, at) => {
    const product = digit * (weights[at] ?? 0)
    // Double alternate: adds the digits of each product.
    return sum + (method === 'DBLAL' ? Math.floor(product / 10) + (product % 10) : product)
  }, start)
  return total % (method === 'MOD11' ? 11 : 10)
}

/** Checks a digit by exception 5: it is the modulus minus the remainder. 11 minus 1 is not a digit. */
const isCheckDigit = (
  rest: number,
  { modulus, digit }: { readonly modulus: number; readonly digit: number },
): boolean => (rest === 0 ? digit === 0 : modulus - rest === digit)
