/** Pure: reads the lines of a bulk as people type them: payee or account, amount, currency, reference. */
import { nameCharsMax, Reference, selectUntrustedFields, beneficiaries as wire } from '@partner-payments/wire'
import type { CreditTransfer } from '../../iso20022/index.ts'
import { amountMajorMax, currencies, type Currency, isFiat, type Minor } from '../../kernel/index.ts'
import {
  formatDomesticAccount,
  ibanProblem,
  readAmericanNumber,
  readBritishNumber,
  readSortCode,
  routingProblem,
} from '../../rails/index.ts'

/** `payee`: one of the partner's payees by short name, name or id. The other columns name a person and an account. */
export const lineColumns = [
  ...(['payee', 'name', 'iban', 'sortCode', 'routingNumber', 'accountNumber'] as const),
  ...(['amount', 'currency', 'reference'] as const),
] as const
export type LineColumn = (typeof lineColumns)[number]

/** Line as it was typed. `choice`: the answer to a question about its payee: an id or `new`. */
export type TypedLine = {
  /** Number of the line in the file, from 1. */
  readonly line: number
  readonly cells: Readonly<Record<LineColumn, string>>
  readonly choice?: string
  /** Fields that only a pain.001 has. Absent: the line comes from a spreadsheet. */
  readonly file?: Pain001Fields
}

export type Pain001Fields = {
  readonly endToEndId?: string
  readonly bic?: string
  /** ExternalCashAccountType1Code. */
  readonly accountType?: string
  readonly address?: NonNullable<CreditTransfer['creditor']['address']>
}

const lineMistakes = [
  ...(['amountMissing', 'amountForm', 'amountNegative', 'amountScientific', 'amountAmbiguous'] as const),
  ...(['amountDecimals', 'amountRange', 'currencyMissing', 'currencyUnknown', 'referenceWrong'] as const),
  ...(['payeeMissing', 'nameMissing', 'nameWrong', 'accountTwice', 'accountScientific', 'accountCurrency'] as const),
  ...(['ibanForm', 'ibanCountry', 'ibanLength', 'ibanStructure', 'ibanCheckDigits'] as const),
  ...(['sortCodeForm', 'sortCodeMissing', 'routingForm', 'routingPrefix', 'routingCheckDigit'] as const),
  ...(['accountNumberForm', 'accountNumberMissing'] as const),
] as const
type LineMistake = (typeof lineMistakes)[number]
export type ColumnMistake = { readonly column: LineColumn; readonly code: LineMistake }

/** Account fields for a new payee. */
export type AccountFields = Readonly<Partial<Record<'iban' | 'sortCode' | 'routingNumber' | 'accountNumber', string>>>

export type LinePayee =
  /** `account`: the account that the payee must have, if the line has one. */
  | { readonly text: string; readonly account: string | undefined }
  /** `account`: the IBAN, or the text of a domestic account. */
  | { readonly name: string; readonly account: string; readonly fields: AccountFields }

export type ParsedLine = {
  readonly amount: Minor
  readonly currency: Currency
  readonly reference: string | null
  readonly payee: LinePayee
}

/** Reads a line, or returns all its mistakes. */
export function parseLine({ cells }: Pick<TypedLine, 'cells'>): ParsedLine | readonly ColumnMistake[] {
  const amount = readTypedAmount(cells.amount)
  const currency = readCurrency(cells.currency)
  const payee = readPayee(cells, typeof currency === 'string' && isFiat(currency) ? currency : undefined)
  const reference = cells.reference.trim()
  const mistakes: ColumnMistake[] = [
    ...('minor' in amount ? [] : [{ column: 'amount' as const, code: amount.mistake }]),
    ...(typeof currency === 'string' ? [] : [{ column: 'currency' as const, code: currency.mistake }]),
    ...(Array.isArray(payee) ? (payee as readonly ColumnMistake[]) : []),
    ...(reference !== '' && selectUntrustedFields(reference, Reference) === undefined
      ? [{ column: 'reference' as const, code: 'referenceWrong' as const }]
      : []),
  ]
  if (mistakes.length > 0 || !('minor' in amount) || typeof currency !== 'string' || Array.isArray(payee))
    return mistakes
  return {
    ...{ amount: amount.minor, currency, reference: reference === '' ? null : reference },
    payee: payee as LinePayee,
  }
}

const fiat = Object.keys(currencies).filter(isFiat)
/** Symbols of a single currency. Many countries write `$`. */
const signs: Readonly<Record<string, Currency>> = { '€': 'EUR', '£': 'GBP' }

function readCurrency(given: string): Currency | { readonly mistake: LineMistake } {
  const text = given.trim().toUpperCase()
  const code = signs[text] ?? fiat.find((each) => each === text)
  return code ?? { mistake: text === '' ? 'currencyMissing' : 'currencyUnknown' }
}

/** Blanks and marks between groups of three digits. */
const grouping = "[ \u00a0\u202f'\u2019]"
const amountForms: readonly RegExp[] = [
  /^(?<whole>\d+)(?:[.,](?<part>\d+))?$/,
  /^(?<whole>\d{1,3}(?:\.\d{3})+),(?<part>\d+)$/,
  /^(?<whole>\d{1,3}(?:,\d{3})+)\.(?<part>\d+)$/,
  /^(?<whole>\d{1,3}(?:\.\d{3}){2,})$/,
  /^(?<whole>\d{1,3}(?:,\d{3}){2,})$/,
  new RegExp(`^(?<whole>\\d{1,3}(?:${grouping}\\d{3})+)(?:[.,](?<part>\\d+))?$`),
]

/** Longer texts are not amounts. */
const amountCharsMax = 40

/**
 * Reads an amount with two decimals, as people of several countries write it. Three digits after a single separator may
 * be thousands or decimals, and are refused.
 */
function readTypedAmount(given: string): { readonly minor: Minor } | { readonly mistake: LineMistake } {
  const text = given
    .trim()
    .replace(/^(?:EUR|GBP|USD|[€$£])\s*/i, '')
    .replace(/\s*(?:EUR|GBP|USD|[€$£])$/i, '')
  if (text === '') return { mistake: 'amountMissing' }
  if (text.length > amountCharsMax) return { mistake: 'amountForm' }
  if (/^[-\u2212\u2013(]|-$/.test(text)) return { mistake: 'amountNegative' }
  if (/^\d+(?:[.,]\d+)?e[+-]?\d+$/i.test(text)) return { mistake: 'amountScientific' }
  if (/^[1-9]\d{0,2}[.,]\d{3}$/.test(text)) return { mistake: 'amountAmbiguous' }
  for (const form of amountForms) {
    const { whole, part = '' } = form.exec(text)?.groups ?? {}
    if (whole === undefined) continue
    const decimals = part.replace(/(?<=\d{2})0+$/, '')
    if (decimals.length > 2) return { mistake: 'amountDecimals' }
    const minor = BigInt(whole.replaceAll(/\D/g, '') + decimals.padEnd(2, '0'))
    return minor > 0n && minor <= amountMajorMax * 100n ? { minor } : { mistake: 'amountRange' }
  }
  return { mistake: 'amountForm' }
}

/** A spreadsheet shows a long number like this, and has lost its last digits. */
const scientific = /^\d(?:[.,]\d+)?E\+?\d+$/i

const ibanMistakes = {
  country: 'ibanCountry',
  length: 'ibanLength',
  structure: 'ibanStructure',
  checkDigits: 'ibanCheckDigits',
} as const
const routingMistakes = { form: 'routingForm', prefix: 'routingPrefix', checkDigit: 'routingCheckDigit' } as const

function readPayee(cells: TypedLine['cells'], currency: Currency | undefined): LinePayee | readonly ColumnMistake[] {
  const [text, name] = [cells.payee.trim(), cells.name.trim()]
  const hasAccount = [cells.iban, cells.sortCode, cells.routingNumber, cells.accountNumber].some((cell) => cell !== '')
  const account = hasAccount ? readAccount(cells, currency) : undefined
  const mistakes: ColumnMistake[] = []
  if (Array.isArray(account)) mistakes.push(...(account as readonly ColumnMistake[]))
  if (text === '' && name === '')
    mistakes.push(hasAccount ? { column: 'name', code: 'nameMissing' } : { column: 'payee', code: 'payeeMissing' })
  if (name !== '' && selectUntrustedFields(name, wire.BeneficiaryCreate.properties.name) === undefined)
    mistakes.push({ column: 'name', code: 'nameWrong' })
  if (text.length > nameCharsMax) mistakes.push({ column: 'payee', code: 'nameWrong' })
  if (mistakes.length > 0 || Array.isArray(account)) return mistakes
  const read = account as ReadAccount | undefined
  if (text !== '' || read === undefined) return { text: text === '' ? name : text, account: read?.account }
  return { name, ...read }
}

type ReadAccount = { readonly account: string; readonly fields: AccountFields }

/** Reads the account of a line: an IBAN, or the numbers of a country. */
function readAccount(
  cells: TypedLine['cells'],
  currency: Currency | undefined,
): ReadAccount | readonly ColumnMistake[] {
  const given = (['iban', 'sortCode', 'routingNumber', 'accountNumber'] as const).filter((name) => cells[name] !== '')
  const short = given.filter((column) => scientific.test(cells[column]))
  if (short.length > 0) return short.map((column) => ({ column, code: 'accountScientific' as const }))
  if (given.includes('iban')) {
    const [second] = given.filter((column) => column !== 'iban')
    if (second !== undefined) return [{ column: second, code: 'accountTwice' }]
    const iban = cells.iban.replaceAll(/[\s\u00a0\u202f-]/g, '').toUpperCase()
    const problem = ibanProblem(iban)
    if (problem === undefined) return { account: iban, fields: { iban } }
    const code = /^[A-Z]{2}[0-9A-Z]*$/.test(iban) ? ibanMistakes[problem] : 'ibanForm'
    return [{ column: 'iban', code }]
  }
  if (given.includes('sortCode') && given.includes('routingNumber'))
    return [{ column: 'routingNumber', code: 'accountTwice' }]
  if (!given.includes('sortCode') && !given.includes('routingNumber'))
    return [{ column: 'sortCode', code: 'sortCodeMissing' }]
  return given.includes('sortCode') ? readBritish(cells, currency) : readAmerican(cells, currency)
}

function readBritish(
  { sortCode: code, accountNumber: number }: TypedLine['cells'],
  currency: Currency | undefined,
): ReadAccount | readonly ColumnMistake[] {
  const [sortCode, accountNumber] = [readSortCode(code), readBritishNumber(number)]
  const mistakes: ColumnMistake[] = []
  if (sortCode === undefined) mistakes.push({ column: 'sortCode', code: 'sortCodeForm' })
  if (accountNumber === undefined)
    mistakes.push({ column: 'accountNumber', code: number === '' ? 'accountNumberMissing' : 'accountNumberForm' })
  if (currency !== undefined && currency !== 'GBP') mistakes.push({ column: 'sortCode', code: 'accountCurrency' })
  if (mistakes.length > 0 || sortCode === undefined || accountNumber === undefined) return mistakes
  return {
    account: formatDomesticAccount({ system: 'GBDSC', sortCode, accountNumber }),
    fields: { sortCode, accountNumber },
  }
}

function readAmerican(
  { routingNumber: routing, accountNumber: number }: TypedLine['cells'],
  currency: Currency | undefined,
): ReadAccount | readonly ColumnMistake[] {
  const routingNumber = routing.replaceAll(/\s/g, '')
  const [problem, accountNumber] = [routingProblem(routingNumber), readAmericanNumber(number)]
  const mistakes: ColumnMistake[] = []
  if (problem !== undefined) mistakes.push({ column: 'routingNumber', code: routingMistakes[problem] })
  if (accountNumber === undefined)
    mistakes.push({ column: 'accountNumber', code: number === '' ? 'accountNumberMissing' : 'accountNumberForm' })
  if (currency !== undefined && currency !== 'USD') mistakes.push({ column: 'routingNumber', code: 'accountCurrency' })
  if (mistakes.length > 0 || accountNumber === undefined) return mistakes
  return {
    account: formatDomesticAccount({ system: 'USABA', routingNumber, accountNumber }),
    fields: { routingNumber, accountNumber },
  }
}
