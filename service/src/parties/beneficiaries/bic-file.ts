/** Pure: reads the file of a BIC directory. CSV (RFC 4180) in UTF-8 with a header; a line is an entry. */
import countries from 'i18n-iso-countries/index.js'
import { isBic } from '../../rails/index.ts'
import { bankCodeLengths, bicCountriesOf, countryOfBic } from './bic-rules.ts'

/** `bankCode`: the bank identifier of an IBAN of the country, or bank and branch identifier. */
export type BicEntry = {
  readonly country: string
  readonly bankCode: string
  readonly bic: string
  readonly name: string
}

/** Error of a file. Lines count from 1. */
export class BicFileProblem extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const header = ['country', 'bank code', 'bic', 'name']
const nameCharsMax = 140

/** Reads the whole file or nothing. Throws BicFileProblem at the first wrong line. */
export function readBicFile(text: string): readonly BicEntry[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (
    cellsOf(lines[0] ?? '', 1)
      .map((cell) => cell.toLowerCase())
      .join() !== header.join()
  )
    throw new BicFileProblem(1, `the header must be: ${header.join(',')}`)
  const entries = new Map<string, BicEntry>()
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === '') continue
    const entry = entryOf(cellsOf(line, index + 1), index + 1)
    const key = `${entry.country} ${entry.bankCode}`
    if (entries.has(key)) throw new BicFileProblem(index + 1, `the bank code ${key} is there twice`)
    entries.set(key, entry)
  }
  if (entries.size === 0) throw new BicFileProblem(1, 'the file has no entry')
  return [...entries.values()]
}

function entryOf(cells: readonly string[], line: number): BicEntry {
  const refuse = (message: string) => new BicFileProblem(line, message)
  if (cells.length !== header.length) throw refuse(`has ${cells.length} cells instead of ${header.length}`)
  const [country = '', bankCode = '', bic = '', name = ''] = cells
  const lengths = bankCodeLengths(country)
  if (!countries.isValid(country) && country !== 'XK') throw refuse(`${country} is not a country of ISO 3166-1`)
  if (lengths.length === 0) throw refuse(`the IBANs of ${country} name no bank`)
  if (!/^[A-Z0-9]+$/.test(bankCode) || !lengths.includes(bankCode.length))
    throw refuse(`a bank code of ${country} has ${lengths.join(' or ')} letters and digits`)
  if (!isBic(bic)) throw refuse(`${bic} is not a BIC (ISO 9362)`)
  const allowed = bicCountriesOf(country)
  if (!allowed.includes(countryOfBic(bic))) throw refuse(`the country of ${bic} must be ${allowed.join(' or ')}`)
  if (name === '' || name.length > nameCharsMax) throw refuse(`a name has 1 to ${nameCharsMax} characters`)
  return { country, bankCode, bic, name }
}

/** A cell in quotes may contain commas, and quotes that are doubled. */
function cellsOf(line: string, number: number): readonly string[] {
  const cells: string[] = []
  const cell = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y
  for (let ended = false; !ended;) {
    const match = cell.exec(line)
    if (match === null) throw new BicFileProblem(number, 'is not CSV: a quote is open, or inside a cell')
    cells.push((match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim())
    ended = match[3] !== ','
  }
  return cells
}
