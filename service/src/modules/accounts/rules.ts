/** How an account number becomes an IBAN in each issuing country (ISO 13616, ISO 7064 MOD 97-10). */
import { assert } from '../../kernel/index.ts'

/** The bank that issues in a country. `bankCode` is the BBAN up to the account number: bank, then branch. */
export type Issuer = {
  readonly country: string
  readonly bankCode: string
  /** The number of account numbers assigned to us. Absent: all that the country's format allows. */
  readonly capacity?: number
}

type Format = {
  /** Letters, then digits, of the bank and branch code. */
  readonly bankCode: readonly [letters: number, digits: number]
  /** Digits of the account number, without national check digits. */
  readonly digits: number
  readonly bban: (bankCode: string, account: string) => string
}

const joined = (bankCode: string, account: string) => `${bankCode}${account}`
const twoDigits = (number: number) => String(number).padStart(2, '0')
const mod97 = (digits: string) => Number(BigInt(digits) % 97n)

/** A digit of the Spanish `DC`, modulus 11: 10 becomes 1, and 11 becomes 0. */
function spanishDigit(tenDigits: string): string {
  const weights = [1, 2, 4, 8, 5, 10, 9, 7, 3, 6]
  const sum = weights.reduce((total, weight, at) => total + weight * Number(tenDigits[at]), 0)
  const digit = 11 - (sum % 11)
  return String(digit === 11 ? 0 : digit === 10 ? 1 : digit)
}

/** Dutch numbers pass the 11-test. If no tenth digit passes after a ninth of 0, the digits 1 and 8 do. */
function dutchAccount(eightDigits: string): string {
  const sum = Array.from(eightDigits).reduce((total, digit, at) => total + Number(digit) * (10 - at), 0)
  const check = (11 - (sum % 11)) % 11
  return check === 10 ? `${eightDigits}18` : `${eightDigits}0${check}`
}

const formats: ReadonlyMap<string, Format> = new Map(
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
  } satisfies Record<string, Format>),
)

/** The countries in which IBANs can be issued. */
export const issuingCountries: readonly string[] = [...formats.keys()]

const isBankCode = ({ bankCode: [letters, digits] }: Format, text: string) =>
  new RegExp(`^[A-Z]{${letters}}\\d{${digits}}$`).test(text)

/** Bank codes that no bank has: the IBANs of a sandbox must not be real accounts. */
export const defaultIssuers: readonly Issuer[] = [
  { country: 'DE', bankCode: '99900001' },
  { country: 'GB', bankCode: 'PPSX999901' },
  { country: 'LT', bankCode: '99901' },
]

/** Numbers in a block, which a partner takes from the pool at once. Also a constraint of accounts.iban_blocks. */
export const blockSize = 1000
/** `iban_pools.next_block` is an int4. */
const blocksMax = 2 ** 31 - 1

/** The number of account numbers of an issuer. Number 0 is not used, because some banks refuse an account of zeros. */
export function capacityOf({ country, capacity }: Issuer): number {
  const format = formatOf(country)
  const possible = Math.min(10 ** format.digits - 1, blocksMax * blockSize)
  return Math.min(capacity ?? possible, possible)
}

/** Why the configuration is wrong, or undefined. One issuer per country, because a customer has one IBAN in each. */
export function issuersProblem(issuers: readonly Issuer[]): string | undefined {
  if (issuers.length === 0) return 'at least one issuing country is needed'
  for (const [at, { country, bankCode, capacity }] of issuers.entries()) {
    const format = formats.get(country)
    if (!format) return `no IBANs can be issued in ${country}: only in ${issuingCountries.join(', ')}`
    const [letters, digits] = format.bankCode
    if (!isBankCode(format, bankCode)) return `a bank code of ${country} has ${letters} letters and ${digits} digits`
    if (capacity !== undefined && !(Number.isSafeInteger(capacity) && capacity > 0))
      return `the capacity of ${country} is a whole number greater than 0`
    if (issuers.findIndex((other) => other.country === country) !== at) return `${country} is configured twice`
  }
  return undefined
}

function formatOf(country: string): Format {
  const format = formats.get(country)
  assert(format, `the issuing country ${country} has a format`)
  return format
}

/** The IBAN of the `index`-th account of a bank code, counted from 0. */
export function composeIban({ country, bankCode }: Issuer, index: number): string {
  const format = formatOf(country)
  const account = String(index + 1).padStart(format.digits, '0')
  assert(Number.isSafeInteger(index) && index >= 0 && account.length === format.digits, 'an index is within the format')
  const bban = format.bban(bankCode, account)
  return `${country}${checkDigits(country, bban)}${bban}`
}

/** ISO 7064 MOD 97-10 over the rearranged number, letters as 10 to 35. */
function checkDigits(country: string, bban: string): string {
  const digits = Array.from(`${bban}${country}00`, (char) => Number.parseInt(char, 36)).join('')
  return twoDigits(98 - mod97(digits))
}

/** In configured order. IBANs of countries that are no longer configured come last, oldest first. */
export function inConfiguredOrder<T extends { readonly country: string }>(
  issuers: readonly Issuer[],
  ibans: readonly T[],
): readonly T[] {
  const position = ({ country }: T) => {
    const at = issuers.findIndex((issuer) => issuer.country === country)
    return at === -1 ? issuers.length : at
  }
  return ibans.toSorted((left, right) => position(left) - position(right))
}
