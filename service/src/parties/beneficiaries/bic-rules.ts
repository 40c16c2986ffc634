/** Pure: the bank codes that an IBAN contains, and the BICs that are consistent with it. */
import type { FieldError } from '@partner-payments/wire'
import { countrySpecs } from 'ibantools'
import { territoriesWithIbansOf } from '../../rails/index.ts'

type Span = readonly [first: number, last: number]
/** Positions of the bank and branch identifiers in the BBAN. */
type Structure = { readonly bank: Span; readonly branch: Span | undefined }

/** Countries that `ibantools` has without a bank identifier (SWIFT, IBAN Registry). San Marino has the structure of Italy. */
const furtherStructures: Readonly<Record<string, Structure>> = {
  PL: { bank: [0, 7], branch: undefined },
  SK: { bank: [0, 3], branch: undefined },
  SM: { bank: [1, 5], branch: [6, 10] },
  TR: { bank: [0, 4], branch: undefined },
  UA: { bank: [0, 5], branch: undefined },
  VA: { bank: [0, 2], branch: undefined },
  XK: { bank: [0, 1], branch: [2, 3] },
}

function spanOf(text: string | undefined): Span | undefined {
  const [first, last] = (text ?? '').split('-').map(Number)
  return first === undefined || last === undefined || Number.isNaN(first) || last < first ? undefined : [first, last]
}

function structureOf(country: string): Structure | undefined {
  const spec = (countrySpecs as Readonly<Record<string, (typeof countrySpecs)['DE'] | undefined>>)[country]
  const bank = spanOf(spec?.bank_identifier)
  if (bank === undefined) return furtherStructures[country]
  return { bank, branch: spanOf(spec?.branch_indentifier) }
}

const charsOf = ([first, last]: Span): number => last - first + 1

/** The lengths that a bank code of a country may have. Empty: the IBANs of the country name no bank, or there are none. */
export function bankCodeLengths(country: string): readonly number[] {
  const structure = structureOf(country)
  if (structure === undefined) return []
  const bank = charsOf(structure.bank)
  return structure.branch === undefined ? [bank] : [bank, bank + charsOf(structure.branch)]
}

/**
 * The codes under which a directory may list the bank of an IBAN: that of the branch first, because it is more
 * specific.
 */
export function bankCodesOf(iban: string): readonly string[] {
  const structure = structureOf(iban.slice(0, 2))
  if (structure === undefined) return []
  const bban = iban.slice(4)
  const read = ([first, last]: Span) => bban.slice(first, last + 1)
  const bank = read(structure.bank)
  return structure.branch === undefined ? [bank] : [`${bank}${read(structure.branch)}`, bank]
}

/**
 * Countries in the BICs of banks (characters 5 and 6) whose IBANs are of another country, besides territories: banks of France and
 * Italy serve Monaco and San Marino with their own BIC, and the other way round.
 */
const foreignBics: Readonly<Record<string, readonly string[]>> = {
  FR: ['MC'],
  IT: ['SM', 'VA'],
  MC: ['FR'],
  SM: ['IT'],
  VA: ['IT'],
}

/** The countries that the BIC of a bank may have, if its IBANs are of this country. */
export const bicCountriesOf = (ibanCountry: string): readonly string[] => [
  ibanCountry,
  ...[...(foreignBics[ibanCountry] ?? []), ...territoriesWithIbansOf(ibanCountry)].toSorted(),
]

export const countryOfBic = (bic: string): string => bic.slice(4, 6)

/** Removes the branch: `DEUTDEFF` and `DEUTDEFF500` are one bank at one place. */
const bankOf = (bic: string): string => bic.slice(0, 8)

/**
 * Reports a BIC that is not that of the bank of an IBAN. `known`: the directory's BIC, if it knows the bank. Both are
 * well-formed.
 */
export function bicContradiction(iban: string, bic: string, known: string | undefined): FieldError | undefined {
  const wrong = (message: string): FieldError => ({ pointer: '/bic', code: 'invalid_value', message })
  const countries = bicCountriesOf(iban.slice(0, 2))
  if (!countries.includes(countryOfBic(bic)))
    return wrong(`contradicts the IBAN: its country (characters 5 and 6) must be ${countries.join(' or ')}`)
  if (known !== undefined && bankOf(known) !== bankOf(bic))
    return wrong('is not the BIC of the bank that the IBAN names; compare both, or omit the BIC')
  return undefined
}
