/** Reads the payouts of a CSV file (RFC 4180), and the parts of a form with a file (RFC 7578). Pure. */
import { bulkPayouts } from '@partner-payments/wire'
import { readFormData } from '../kit/multipart.ts'
import { readAmount, uuid } from '../kit/request.ts'

/** Problems of a file that are shown. All are counted. */
export const shownProblemsMax = 100

const columns = ['beneficiaryId', 'amount', 'currency', 'reference'] as const
export type BulkColumn = (typeof columns)[number]

export type BulkLine = Readonly<Record<BulkColumn, string>>

/** `line`: of the file, from 1. `column` is absent if the line as a whole is wrong. */
export type BulkProblem = {
  readonly line: number
  readonly column?: BulkColumn
  readonly code: 'header' | 'cells' | 'quote' | 'payee' | 'amount' | 'currency' | 'reference'
}

export type BulkFile = {
  readonly lines: readonly BulkLine[]
  readonly problems: readonly BulkProblem[]
  readonly problemCount: number
  /** True if the file has more than `linesMax` lines. Those after them are not read. */
  readonly isCut: boolean
}

/** Lines that are read: some for each payout that a bulk can have. */
export const linesMax = 10 * bulkPayouts.bulkPayoutsMax
/** Cells of a line, for a file with columns that we do not read. */
const cellsMax = 100
/** Lines that are read before other work runs. */
const linesAtOnce = 500

type CsvRecord = { readonly line: number; readonly cells: readonly string[]; readonly isOpen: boolean }

/** The records of a text. A quoted cell may contain separators, quotes that are doubled, and line breaks. */
function* recordsOf(text: string, separator: string): Generator<CsvRecord> {
  let [at, line] = [0, 1]
  while (at < text.length) {
    const first = line
    const cells: string[] = []
    let isOpen = false
    for (;;) {
      let cell = ''
      if (text[at] === '"') {
        const end = endOfQuote(text, at + 1)
        isOpen = end === -1
        const until = isOpen ? text.length : end
        cell = text.slice(at + 1, until).replaceAll('""', '"')
        line += cell.split('\n').length - 1
        at = until + 1
      }
      const stop = stopAfter(text, at, separator)
      cell += text.slice(at, stop)
      cells.push(cell.trim())
      at = stop
      if (text[at] !== separator || cells.length === cellsMax) break
      at += 1
    }
    if (cells.length === cellsMax) at = endOfLine(text, at)
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    line += 1
    yield { line: first, cells, isOpen }
  }
}

/** The place of the quote that ends a cell. -1: it has none. */
function endOfQuote(text: string, from: number): number {
  let at = text.indexOf('"', from)
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end === -1 ? text.length : end
}

function stopAfter(text: string, from: number, separator: string): number {
  let at = from
  while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at += 1
  return at
}

/** Reads a file whose first line names the columns. Commas or semicolons separate cells. */
export async function readBulkFile(text: string): Promise<BulkFile> {
  const problems: BulkProblem[] = []
  let problemCount = 0
  const refuse = (problem: BulkProblem) => {
    problemCount += 1
    if (problems.length < shownProblemsMax) problems.push(problem)
  }
  const plain = text.replace(/^\uFEFF/, '')
  const [head = ''] = plain.split('\n', 1)
  const records = recordsOf(plain, head.includes(';') ? ';' : ',')
  const names = (records.next().value as CsvRecord | undefined)?.cells.map((name) => name.toLowerCase()) ?? []
  const places = columns.map((column) => names.indexOf(column.toLowerCase()))
  const [payeeAt = -1, amountAt = -1, currencyAt = -1, referenceAt = -1] = places
  if (payeeAt < 0 || amountAt < 0 || currencyAt < 0) {
    refuse({ line: 1, code: 'header' })
    return { lines: [], problems, problemCount, isCut: false }
  }
  const lines: BulkLine[] = []
  let read = 0
  for (const { line, cells, isOpen } of records) {
    read += 1
    if (read > linesMax) return { lines, problems, problemCount, isCut: true }
    if (read % linesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    if (cells.length === 1 && cells[0] === '' && !isOpen) continue
    if (isOpen || cells.length !== names.length) {
      refuse({ line, code: isOpen ? 'quote' : 'cells' })
      continue
    }
    const payout = {
      beneficiaryId: (cells[payeeAt] ?? '').toLowerCase(),
      amount: readAmount(cells[amountAt] ?? '') ?? '',
      currency: cells[currencyAt] ?? '',
      reference: referenceAt < 0 ? '' : (cells[referenceAt] ?? ''),
    }
    if (!uuid.test(payout.beneficiaryId)) refuse({ line, column: 'beneficiaryId', code: 'payee' })
    if (payout.amount === '' || /^0(?:\.0+)?$/.test(payout.amount)) refuse({ line, column: 'amount', code: 'amount' })
    if (!/^[A-Z]{3}$/.test(payout.currency)) refuse({ line, column: 'currency', code: 'currency' })
    if (Array.from(payout.reference).length > 140) refuse({ line, column: 'reference', code: 'reference' })
    lines.push(payout)
  }
  return { lines, problems, problemCount, isCut: false }
}

export const tooMany = ({ lines, isCut }: BulkFile): boolean => isCut || lines.length > bulkPayouts.bulkPayoutsMax

/** The sums by currency, exact, in the order of the file. Only for a file without problems. */
export function sumsOf(lines: readonly BulkLine[]): readonly { readonly currency: string; readonly amount: string }[] {
  const sums = new Map<string, bigint>()
  for (const { currency, amount } of lines) {
    const [whole = '0', decimals = ''] = amount.split('.')
    sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(whole + decimals.padEnd(2, '0')))
  }
  return [...sums].map(([currency, cents]) => {
    const digits = String(cents).padStart(3, '0')
    return { currency, amount: `${digits.slice(0, -2)}.${digits.slice(-2)}` }
  })
}

/** The text of each part of a form that was sent as `multipart/form-data`, by name. The first line is the boundary. Empty: it is no such form. */
export async function readParts(body: Buffer): Promise<ReadonlyMap<string, string>> {
  const form = await readFormData(body)
  const parts = [...form].map(
    async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()] as const,
  )
  return new Map(await Promise.all(parts))
}
