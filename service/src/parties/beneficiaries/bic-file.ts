/**
 * Pure: which BICs agree with an IBAN's bank code, and the file of a BIC directory. The file is CSV (RFC 4180) in UTF-8 with a header and
 * one entry on each line.
 */
import countries from 'i18n-iso-countries/index.js'
import { isBic, territoriesUsingIbans } from '../../rails/index.ts'
import type { FieldError } from '@partner-payments/wire'
import { countrySpecs } from 'ibantools'

/** `bankCode`: the bank identifier of an IBAN of the country, or bank and branch identifier. */
export type BicEntry = {
  readonly country: string
  readonly bankCode: string
  readonly bic: string
  readonly name: string
}

/** An error in a file. Lines count from 1. */
export class BicFileError extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const header = ['country', 'bank code', 'bic', 'name']
const nameCharsMax = 140

/** Reads the whole file or nothing. Throws BicFileError at the first wrong line. */
export function parseBicFile(text: string): readonly BicEntry[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (
    parseCells(lines[0] ?? '', 1)
      .map((cell) => cell.toLowerCase())
      .join() !== header.join()
  )
    throw new BicFileError(1, `the header must be: ${header.join(',')}`)
  const entries = new Map<string, BicEntry>()
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === '') continue
    const entry = parseEntry(parseCells(line, index + 1), index + 1)
    const key = `${entry.country} ${entry.bankCode}`
    if (entries.has(key)) throw new BicFileError(index + 1, `the bank code ${key} is there twice`)
    entries.set(key, entry)
  }
  if (entries.size === 0) throw new BicFileError(1, 'the file has no entry')
  return [...entries.values()]
}

function parseEntry(cells: readonly string[], line: number): BicEntry {
  const refuse = (message: string) => new BicFileError(line, message)
  if (cells.length !== header.length) throw refuse(`has ${cells.length} cells instead of ${header.length}`)
  const [country = '', bankCode = '', bic = '', name = ''] = cells
  const lengths = bankCodeLengths(country)
  if (!countries.isValid(country) && country !== 'XK') throw refuse(`${country} is not a country of ISO 3166-1`)
  if (lengths.length === 0) throw refuse(`the IBANs of ${country} name no bank`)
  if (!/^[A-Z0-9]+$/.test(bankCode) || !lengths.includes(bankCode.length))
    throw refuse(`a bank code of ${country} has ${lengths.join(' or ')} letters and digits`)
  if (!isBic(bic)) throw refuse(`${bic} is not a BIC (ISO 9362)`)
  const allowed = allowedBicCountries(country)
  if (!allowed.includes(bicCountry(bic))) throw refuse(`the country of ${bic} must be ${allowed.join(' or ')}`)
  if (name === '' || name.length > nameCharsMax) throw refuse(`a name has 1 to ${nameCharsMax} characters`)
  return { country, bankCode, bic, name }
}

/** Splits a line. A quoted cell may contain commas and doubled quotes. */
function parseCells(line: string, number: number): readonly string[] {
  const cells: string[] = []
  const cell = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y
  for (let ended = false; !ended;) {
    const match = cell.exec(line)
    if (match === null) throw new BicFileError(number, 'is not CSV: a quote is open, or inside a cell')
    cells.push((match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim())
    ended = match[3] !== ','
  }
  return cells
}

type Span = readonly [first: number, last: number]
/** Positions of the bank and branch identifiers in the BBAN. */
type Structure = { readonly bank: Span; readonly branch: Span | undefined }

/** Countries for which `ibantools` lacks the bank identifier (SWIFT, IBAN Registry). San Marino has the structure of Italy. */
const otherStructures: Readonly<Record<string, Structure>> = {
  PL: { bank: [0, 7], branch: undefined },
  SK: { bank: [0, 3], branch: undefined },
  SM: { bank: [1, 5], branch: [6, 10] },
  TR: { bank: [0, 4], branch: undefined },
  UA: { bank: [0, 5], branch: undefined },
  VA: { bank: [0, 2], branch: undefined },
  XK: { bank: [0, 1], branch: [2, 3] },
}

function readSpan(text: string | undefined): Span | undefined {
  const [first, last] = (text ?? '').split('-').map(Number)
  return first === undefined || last === undefined || Number.isNaN(first) || last < first ? undefined : [first, last]
}

function bbanStructure(country: string): Structure | undefined {
  const spec = (countrySpecs as Readonly<Record<string, (typeof countrySpecs)['DE'] | undefined>>)[country]
  const bank = readSpan(spec?.bank_identifier)
  if (bank === undefined) return otherStructures[country]
  return { bank, branch: readSpan(spec?.branch_indentifier) }
}

const spanChars = ([first, last]: Span): number => last - first + 1

/** Returns the possible lengths of a country's bank codes. Empty: its IBANs do not contain a bank code, or it does not have IBANs. */
function bankCodeLengths(country: string): readonly number[] {
  const structure = bbanStructure(country)
  if (structure === undefined) return []
  const bank = spanChars(structure.bank)
  return structure.branch === undefined ? [bank] : [bank, bank + spanChars(structure.branch)]
}

/**
 * Returns the codes under which a directory may list the bank of an IBAN. The code of the branch comes first, because it is
 * more specific.
 */
export function listBankCodes(iban: string): readonly string[] {
  const structure = bbanStructure(iban.slice(0, 2))
  if (structure === undefined) return []
  const bban = iban.slice(4)
  const read = ([first, last]: Span) => bban.slice(first, last + 1)
  const bank = read(structure.bank)
  return structure.branch === undefined ? [bank] : [`${bank}${read(structure.branch)}`, bank]
}

/**
 * Countries in BICs (characters 5 and 6) that may differ from the country of the IBAN, besides territories: banks of France and Italy
 * serve Monaco and San Marino with their own BIC, and the other way round.
 */
const foreignBics: Readonly<Record<string, readonly string[]>> = {
  FR: ['MC'],
  IT: ['SM', 'VA'],
  MC: ['FR'],
  SM: ['IT'],
  VA: ['IT'],
}

/** Returns the countries that a BIC may have for IBANs of this country. */
const allowedBicCountries = (ibanCountry: string): readonly string[] => [
  ibanCountry,
  ...[...(foreignBics[ibanCountry] ?? []), ...territoriesUsingIbans(ibanCountry)].toSorted(),
]

const bicCountry = (bic: string): string => bic.slice(4, 6)

/** Removes the branch: `DEUTDEFF` and `DEUTDEFF500` are the same bank at the same place. */
const bicWithoutBranch = (bic: string): string => bic.slice(0, 8)

/**
 * Reports a BIC that does not belong to the bank of an IBAN. `known`: the directory's BIC, if it lists the bank. Both are
 * well-formed.
 */
export function bicContradiction(iban: string, bic: string, known: string | undefined): FieldError | undefined {
  const wrong = (message: string): FieldError => ({ pointer: '/bic', code: 'invalid_value', message })
  const countries = allowedBicCountries(iban.slice(0, 2))
  if (!countries.includes(bicCountry(bic)))
    return wrong(`contradicts the IBAN: its country (characters 5 and 6) must be ${countries.join(' or ')}`)
  if (known !== undefined && bicWithoutBranch(known) !== bicWithoutBranch(bic))
    return wrong('is not the BIC of the bank that the IBAN names; compare both, or omit the BIC')
  return undefined
}
