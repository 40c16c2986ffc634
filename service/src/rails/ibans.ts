/**
 * Validates IBANs and BICs. Structures and national check digits are those of ibantools 4.5.4 (11 April 2026), corrected by
 * release 101 of SWIFT's IBAN Registry, the newest on 24 November 2026 (docs/decisions/0067-ibans-and-sepa.md). Pure.
 */
import { countrySpecs } from 'ibantools'
import type { Rail } from '@partner-payments/wire'
import { type Currency, isFiat } from '../kernel/index.ts'

// The countries of SEPA: 41 by EPC409-09, "EPC list of SEPA scheme countries", the last of which is Serbia (22 May 2025; its
// banks take credit transfers since May 2026). Compared on 24 November 2026 (docs/decisions/0067-ibans-and-sepa.md).

const sepaCountries: ReadonlySet<string> = new Set([
  // Member states of the European Union.
  ...['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU'],
  ...['IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'],
  // Other states, and Gibraltar, which has its own IBANs.
  ...['AD', 'AL', 'CH', 'GB', 'GI', 'IS', 'LI', 'MC', 'MD', 'ME', 'MK', 'NO', 'RS', 'SM', 'VA'],
])

type Territory = { readonly ibanCountry: string; readonly inSepa: boolean }
const territoriesOf = (ibanCountry: string, inSepa: boolean, codes: readonly string[]) =>
  codes.map((code) => [code, { ibanCountry, inSepa }] as const)

/**
 * Territories whose banks use the IBANs of another country, and their own country in the BIC (SWIFT, IBAN Registry;
 * EPC409-09).
 */
const territories: ReadonlyMap<string, Territory> = new Map([
  ...territoriesOf('FI', true, ['AX']),
  ...territoriesOf('FR', true, ['BL', 'GF', 'GP', 'MF', 'MQ', 'PM', 'RE', 'YT']),
  ...territoriesOf('FR', false, ['NC', 'PF', 'TF', 'WF']),
  ...territoriesOf('GB', true, ['GG', 'IM', 'JE']),
])

export const territoriesUsingIbans = (country: string): readonly string[] =>
  [...territories].flatMap(([code, { ibanCountry }]) => (ibanCountry === country ? [code] : []))

/** The location of an account. `account` is an IBAN; `country` is used without a BIC. */
type AccountLocation = { readonly account: string; readonly bic: string | null; readonly country?: string }

/** Decides by the countries of IBAN and bank, because a French IBAN may belong to a territory outside SEPA. */
function isInSepa({ account, bic, country = account.slice(0, 2) }: AccountLocation): boolean {
  const bank = bic?.slice(4, 6) ?? country
  return sepaCountries.has(account.slice(0, 2)) && (sepaCountries.has(bank) || territories.get(bank)?.inSepa === true)
}

/** Chooses the rail: SEPA for euro within its area, SWIFT for other bank money, wallets for tokens. Without a location, euro uses SEPA. */
export function chooseRail(currency: Currency, place: AccountLocation | undefined): Rail {
  if (!isFiat(currency)) return 'Wallet'
  return currency === 'EUR' && (place === undefined || isInSepa(place)) ? 'Sepa' : 'Swift'
}

type CountrySpec = (typeof countrySpecs)['DE']
const specs: Readonly<Record<string, CountrySpec | undefined>> = countrySpecs

/** Registered countries that ibantools does not mark as such: Burundi, Djibouti, the Falkland Islands, Honduras. */
const furtherCountries = ['BI', 'DJ', 'FK', 'HN']

/** The countries whose IBANs are registered. A territory uses the IBANs of its country. */
export const ibanCountries: ReadonlySet<string> = new Set([
  ...furtherCountries,
  ...Object.keys(specs).filter((country) => specs[country]?.IBANRegistry === true && !territories.has(country)),
])

/** Structures that differ from ibantools: some of its bank codes accept digits, others refuse them. */
const correctedStructures: Readonly<Record<string, RegExp>> = {
  BY: /^[A-Z0-9]{4}\d{4}[A-Z0-9]{16}$/,
  DO: /^[A-Z0-9]{4}\d{20}$/,
  GE: /^[A-Z]{2}\d{16}$/,
  IE: /^[A-Z]{4}\d{14}$/,
  PK: /^[A-Z]{4}[A-Z0-9]{16}$/,
  PS: /^[A-Z]{4}[A-Z0-9]{21}$/,
  TR: /^\d{6}[A-Z0-9]{16}$/,
  VG: /^[A-Z]{4}\d{16}$/,
}
const structures: ReadonlyMap<string, RegExp> = new Map(
  [...ibanCountries].map((country) => [
    country,
    correctedStructures[country] ?? new RegExp(specs[country]?.bban_regexp ?? ''),
  ]),
)

/** The values of `0` to `9`, and of `A` to `Z`, at odd positions of an Italian account (ABI, codice BBAN). */
const oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

/** Checks the first letter of the BBAN, the CIN, which is computed from bank, branch and account. */
function hasItalianLetter(bban: string): boolean {
  const sum = Array.from(bban.slice(1)).reduce((total, char, at) => {
    const value = /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 65
    return total + (at % 2 === 0 ? (oddValues[value] ?? 0) : value)
  }, 0)
  return bban.charCodeAt(0) - 65 === sum % 26
}

/** Checks that replace those of ibantools. A Norwegian account with 00 after its bank code has another check digit. */
const nationalChecks: Readonly<Record<string, (bban: string) => boolean>> = {
  IT: hasItalianLetter,
  SM: hasItalianLetter,
  NO: (bban) => bban.slice(4, 6) === '00' || specs['NO']?.bban_validation_func?.(bban) === true,
}

/** Checks the check digits, from 02 to 98 (ISO 7064, MOD 97-10). Letters count as 10 to 35. */
function hasCheckDigits(iban: string): boolean {
  const check = Number(iban.slice(2, 4))
  let rest = 0
  for (const char of iban.slice(4) + iban.slice(0, 4))
    rest = (rest * (char >= 'A' ? 100 : 10) + Number.parseInt(char, 36)) % 97
  return rest === 1 && check >= 2 && check <= 98
}

/** The account details that payers in the United Kingdom use. */
type BritishAccount = {
  /** Six digits. */
  readonly sortCode: string
  /** Eight digits. */
  readonly accountNumber: string
}

/** Reads the British account in an IBAN: bank code (4), sort code (6), account number (8); undefined for other countries. */
export const readBritishAccount = (iban: string): BritishAccount | undefined =>
  iban.startsWith('GB') ? { sortCode: iban.slice(8, 14), accountNumber: iban.slice(14) } : undefined

/** Returns the key of a bank: its BIC of eight characters, or country and bank code of the IBAN; empty if both are unknown. */
export function bankKey(account: string, bic: string): string {
  if (bic !== '') return bic.slice(0, 8)
  const country = account.slice(0, 2)
  const [first, last] = (specs[country]?.bank_identifier ?? '').split('-').map(Number)
  if (!isIban(account) || first === undefined || last === undefined) return ''
  return `${country}${account.slice(4 + first, 5 + last)}`
}

/** The reason why a text is not an IBAN: the country does not have IBANs, or the length, structure or (national) check digits are wrong. */
export type IbanProblem = 'country' | 'length' | 'structure' | 'checkDigits'

/** Finds the problem of an IBAN in electronic format, without spaces and in capitals; undefined if it is valid. */
export function ibanProblem(text: string): IbanProblem | undefined {
  const country = text.slice(0, 2)
  const structure = structures.get(country)
  if (structure === undefined) return 'country'
  if (text.length !== specs[country]?.chars) return 'length'
  const bban = text.slice(4)
  if (!/^\d\d$/.test(text.slice(2, 4)) || !structure.test(bban)) return 'structure'
  const national = nationalChecks[country] ?? specs[country]?.bban_validation_func
  return hasCheckDigits(text) && national?.(bban) !== false ? undefined : 'checkDigits'
}

export const isIban = (text: string): boolean => ibanProblem(text) === undefined

/**
 * The first four characters may be digits (ISO 9362:2022, and BICFIDec2014Identifier of ISO 20022); ibantools only allows
 * letters. The country is one of ISO 3166, or XK for Kosovo.
 */
const bicForm = /^[A-Z0-9]{4}([A-Z]{2})[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/

/** Reports whether a text is a BIC in capital letters. */
export function isBic(text: string): boolean {
  const country = bicForm.exec(text)?.[1]
  return country !== undefined && specs[country] !== undefined
}

const example = 'for example DE89370400440532013000'
const describeCharacters = (text: string): string =>
  /[0-9]/.test(text) ? (/[A-Z]/.test(text) ? 'letters or digits' : 'digits') : 'letters'

/** Describes a structure such as `^[A-Z]{4}[0-9]{14}$` in words. */
const describeStructure = (structure: RegExp): string =>
  Array.from(
    structure.source.matchAll(/(\\d|\[[^\]]+\])\{(\d+)\}/g),
    ([, chars = '', count = '']) => [chars === '\\d' ? 'digits' : describeCharacters(chars), Number(count)] as const,
  )
    .reduce<(readonly [string, number])[]>((parts, [kind, count]) => {
      const last = parts.at(-1)
      return last?.[0] === kind ? [...parts.slice(0, -1), [kind, last[1] + count]] : [...parts, [kind, count]]
    }, [])
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', then ')

/** Describes the mistake in a text and what an IBAN of its country looks like; undefined if it is an IBAN. */
export function describeIbanProblem(text: string): string | undefined {
  const country = text.slice(0, 2)
  const chars = specs[country]?.chars
  const foreign = /[^A-Z0-9]/.exec(text)?.[0]
  if (text === '') return `is empty; must be an IBAN, ${example}`
  if (foreign !== undefined)
    return `contains ${JSON.stringify(foreign)}; an IBAN only has letters, digits and spaces, ${example}`
  if (/^\d/.test(text))
    return `begins with a digit, as a national account number (BBAN) does; an IBAN begins with the country and two check digits, ${example}`
  switch (ibanProblem(text)) {
    case 'country':
      return `begins with ${country}, which is not a country with IBANs; check the first two letters, ${example}`
    case 'length':
      return `has ${text.length} characters; an IBAN of ${country} has ${chars}`
    case 'structure':
      return /^\d\d$/.test(text.slice(2, 4))
        ? `has letters or digits in the wrong places; after ${country} and two check digits an IBAN has ${describeStructure(structures.get(country) ?? /^/)}`
        : `does not have check digits; after ${country} an IBAN has two digits, ${example}`
    case 'checkDigits':
      return hasCheckDigits(text)
        ? `has a wrong check digit inside the account number of ${country}; copy the account number again`
        : 'has wrong check digits; a character is wrong, or two are swapped: copy the IBAN again'
    case undefined:
      return undefined
  }
}

// The account and the reference of a Swiss QR-bill. Sources of the rules: `iso20022/profiles/profiles.ts`.

/** Reports whether an IBAN is a QR-IBAN: its IID, characters 5 to 9, is a number from 30000 to 31999. */
export const isQrIban = (iban: string): boolean => /^(?:CH|LI)\d{2}3[01]\d{3}/.test(iban)

/** Reads a QR reference: 26 digits and a check digit (modulo 10, recursive). Undefined: the text is not one. */
export function readQrReference(text: string | null): string | undefined {
  const digits = (text ?? '').replaceAll(/\s/g, '')
  if (!/^\d{27}$/.test(digits)) return undefined
  let carry = 0
  for (const digit of digits.slice(0, -1)) carry = qrCheckTable[(carry + Number(digit)) % qrCheckTable.length] ?? 0
  return String((qrCheckTable.length - carry) % qrCheckTable.length) === digits.at(-1) ? digits : undefined
}
const qrCheckTable = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5] as const

/**
 * Finds the mistake in the reference of a payment. Banks return a bill without a QR reference, and a QR reference to an
 * account of Switzerland or Liechtenstein that is not a QR-IBAN. Elsewhere 27 digits are ordinary text.
 */
export function qrMistake(account: string, reference: string | null): 'missing' | 'misplaced' | undefined {
  const isReference = readQrReference(reference) !== undefined
  if (isQrIban(account)) return isReference ? undefined : 'missing'
  return isReference && /^(?:CH|LI)\d{2}/.test(account) ? 'misplaced' : undefined
}
export const qrMistakes = {
  missing: 'must be the QR reference of the bill, 27 digits with a valid check digit, because the account is a QR-IBAN',
  misplaced: 'is a QR reference, which requires a QR-IBAN: use the account of the bill, or another reference',
} as const
