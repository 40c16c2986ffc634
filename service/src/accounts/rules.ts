/** Composes the IBAN of an account number in each issuing country (ISO 13616, ISO 7064 MOD 97-10). */
import { assert } from '../kernel/index.ts'

/** Bank that issues in a country. `bankCode` is the BBAN up to the account number: bank, then branch. */
export type Issuer = {
  readonly country: string
  readonly bankCode: string
  readonly bic?: string
  /** Range of account numbers assigned to us, both ends included. Absent: all numbers of the country's format. */
  readonly first?: number
  readonly last?: number
}

type CountryFormat = {
  /** Number of letters, then of digits, in the bank and branch code. */
  readonly bankCode: readonly [letters: number, digits: number]
  /** Number of digits of the account number, without national check digits. */
  readonly digits: number
  readonly bban: (bankCode: string, account: string) => string
}

const joined = (bankCode: string, account: string) => `${bankCode}${account}`
const twoDigits = (number: number) => String(number).padStart(2, '0')
const mod97 = (digits: string) => Number(BigInt(digits) % 97n)

/** Computes a check digit of the Spanish `DC`, modulus 11: 10 becomes 1, and 11 becomes 0. */
function spanishDigit(tenDigits: string): string {
  const weights = [1, 2, 4, 8, 5, 10, 9, 7, 3, 6]
  const sum = weights.reduce((total, weight, at) => total + weight * Number(tenDigits[at]), 0)
  const digit = 11 - (sum % 11)
  return String(digit === 11 ? 0 : digit === 10 ? 1 : digit)
}

/**
 * Completes a Dutch account number so that it passes the 11-test. If no tenth digit fits after a ninth digit 0, appends
 * 1 and 8.
 */
function dutchAccount(eightDigits: string): string {
  const sum = Array.from(eightDigits).reduce((total, digit, at) => total + Number(digit) * (10 - at), 0)
  const check = (11 - (sum % 11)) % 11
  return check === 10 ? `${eightDigits}18` : `${eightDigits}0${check}`
}

const formats: ReadonlyMap<string, CountryFormat> = new Map(
  Object.entries({
    AT: { bankCode: [0, 5], digits: 11, bban: joined },
    BE: {
      bankCode: [0, 3],
      digits: 7,
      bban: (bankCode, account) => `${bankCode}${account}${twoDigits(mod97(`${bankCode}${account}`) || 97)}`,
    },
    DE: { bankCode: [0, 8], digits: 10, bban: joined },
    ES: {
      bankCode: [0, 8],
      digits: 10,
      bban: (bankCode, account) => `${bankCode}${spanishDigit(`00${bankCode}`)}${spanishDigit(account)}${account}`,
    },
    FR: {
      bankCode: [0, 10],
      digits: 11,
      bban: (bankCode, account) => `${bankCode}${account}${twoDigits(97 - mod97(`${bankCode}${account}00`))}`,
    },
    GB: { bankCode: [4, 6], digits: 8, bban: joined },
    IE: { bankCode: [4, 6], digits: 8, bban: joined },
    LT: { bankCode: [0, 5], digits: 11, bban: joined },
    LU: { bankCode: [0, 3], digits: 13, bban: joined },
    NL: { bankCode: [4, 0], digits: 8, bban: (bankCode, account) => `${bankCode}${dutchAccount(account)}` },
  } satisfies Record<string, CountryFormat>),
)

/** Countries in which IBANs can be issued. */
export const issuingCountries: readonly string[] = [...formats.keys()]

const isBankCode = ({ bankCode: [letters, digits] }: CountryFormat, text: string) =>
  new RegExp(`^[A-Z]{${letters}}\\d{${digits}}$`).test(text)

/** Issuers with bank codes that no bank has, because the IBANs of a sandbox must not be real accounts. */
export const defaultIssuers: readonly Issuer[] = [
  { country: 'DE', bankCode: '99900001', bic: 'PPSXDEFFXXX' },
  { country: 'GB', bankCode: 'PPSX999901', bic: 'PPSXGB2LXXX' },
  { country: 'LT', bankCode: '99901', bic: 'PPSXLT22XXX' },
]

/** Reports whether the bank code is invented for the sandbox. */
export const isSandboxIssuer = ({ country, bankCode }: Issuer): boolean =>
  defaultIssuers.some((issuer) => issuer.country === country && issuer.bankCode === bankCode)

/** Finds the issuer to whose bank code an IBAN belongs. */
export const findIssuer = (issuers: readonly Issuer[], iban: string): Issuer | undefined =>
  issuers.find(({ country, bankCode }) => iban.startsWith(country) && iban.slice(4).startsWith(bankCode))

/**
 * Account numbers in a block. A partner takes a whole block from the pool. Also a constraint of accounts.iban_blocks.
 */
export const blockSize = 1000
/** `iban_pools.next_block` is an int4. */
const blocksMax = 2 ** 31 - 1

const lastPossible = ({ digits }: CountryFormat): number => Math.min(10 ** digits - 1, blocksMax * blockSize)

/** Returns the range of an issuer's account numbers. It begins at 1 by default, because some banks refuse an account of zeros. */
const numberRange = (issuer: Issuer) => ({
  first: issuer.first ?? 1,
  last: Math.min(issuer.last ?? Infinity, lastPossible(countryFormat(issuer.country))),
})

export type NumberBounds = {
  readonly blockSize: number
  /** First block that this issuer may use. Lower blocks belong to another range, or to an earlier configuration. */
  readonly firstBlock: number
  /** Upper bound of the index of an account number, not included. Indexes count from 0. */
  readonly endIndex: number
}

/**
 * Computes the indexes that an issuer may use. A number has the same position in its block for any configured range, so
 * that a changed range never issues a number twice.
 */
export function numberBounds(issuer: Issuer): NumberBounds {
  const { first, last } = numberRange(issuer)
  return { blockSize, firstBlock: (first - 1) / blockSize, endIndex: last }
}

/**
 * Describes the first mistake in the configuration. Undefined: none. Each country has one issuer, because a customer
 * has one IBAN per country.
 */
export function findIssuersProblem(issuers: readonly Issuer[]): string | undefined {
  for (const [at, issuer] of issuers.entries()) {
    const { country, bankCode } = issuer
    const format = formats.get(country)
    if (!format) return `no IBANs can be issued in ${country}: only in ${issuingCountries.join(', ')}`
    const [letters, digits] = format.bankCode
    if (!isBankCode(format, bankCode)) return `a bank code of ${country} has ${letters} letters and ${digits} digits`
    const range = rangeProblem(issuer, format)
    if (range !== undefined) return range
    if (issuers.findIndex((other) => other.country === country) !== at) return `${country} is configured twice`
  }
  return undefined
}

/** Describes a mistake in the range. A range begins at a block, so that a block belongs to one range. */
function rangeProblem({ country, first = 1, last }: Issuer, format: CountryFormat): string | undefined {
  const max = lastPossible(format)
  const end = last ?? max
  if (![first, end].every(Number.isSafeInteger) || first < 1 || end < first || end > max)
    return `the account numbers of ${country} are from 1 to ${max}, first to last`
  return first % blockSize === 1
    ? undefined
    : `a range of ${country} begins at 1, ${blockSize + 1}, ${2 * blockSize + 1} or so on`
}

/** Describes two issuers that would issue the same IBAN. Undefined: none. */
export function findIssuerOverlap(issuers: readonly Issuer[]): string | undefined {
  for (const [at, issuer] of issuers.entries()) {
    const range = numberRange(issuer)
    const other = issuers.slice(0, at).find((earlier) => {
      const earlierRange = numberRange(earlier)
      return (
        earlier.country === issuer.country &&
        earlier.bankCode === issuer.bankCode &&
        range.first <= earlierRange.last &&
        earlierRange.first <= range.last
      )
    })
    if (other !== undefined) {
      const shown = numberRange(other)
      return `${issuer.country}:${issuer.bankCode}: the numbers ${range.first}-${range.last} overlap with ${shown.first}-${shown.last}`
    }
  }
  return undefined
}

function countryFormat(country: string): CountryFormat {
  const format = formats.get(country)
  assert(format, `no IBAN format for ${country}`)
  return format
}

/** Composes the IBAN of the `index`-th account of a bank code, counted from 0. */
export function composeIban({ country, bankCode }: Issuer, index: number): string {
  const format = countryFormat(country)
  const account = String(index + 1).padStart(format.digits, '0')
  assert(
    Number.isSafeInteger(index) && index >= 0 && account.length === format.digits,
    `account index ${index} does not fit the IBAN format of ${country}`,
  )
  const bban = format.bban(bankCode, account)
  return `${country}${checkDigits(country, bban)}${bban}`
}

/** Computes the check digits: ISO 7064 MOD 97-10 over the rearranged number, letters as 10 to 35. */
function checkDigits(country: string, bban: string): string {
  const digits = Array.from(`${bban}${country}00`, (char) => Number.parseInt(char, 36)).join('')
  return twoDigits(98 - mod97(digits))
}

/** Sorts IBANs in configured order. IBANs of countries that are no longer configured come last, oldest first. */
export function sortByConfiguredOrder<T extends { readonly country: string }>(
  countries: readonly string[],
  ibans: readonly T[],
): readonly T[] {
  const position = ({ country }: T) => {
    const at = countries.indexOf(country)
    return at === -1 ? countries.length : at
  }
  return ibans.toSorted((left, right) => position(left) - position(right))
}
