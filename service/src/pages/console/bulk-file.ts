/** Bulk files: columns in English and German, the template, and the lines of a CSV or a pain.001. Pure. */
import { bulkPayouts } from '@partner-payments/wire'
import {
  lineColumns,
  type LineColumn,
  readPain001Lines,
  type Pain001Lines,
  type TypedLine,
} from '../../payouts/bulk/index.ts'
import { type FileColumns, type UnreadableFileKind, readTable, type RowProblem, decodeFile } from '../kit/csv.ts'

/** Accepted names of the columns. The first two are the headings of the template in English and German. */
const bulkColumns: FileColumns<LineColumn> = {
  payee: [
    ...['Saved payee', 'Gespeicherter Empfänger', 'beneficiaryId', 'beneficiary', 'recipient', 'alias', 'short name'],
    ...['Empfänger', 'Zahlungsempfänger', 'Begünstigter', 'Kurzname'],
  ],
  name: [
    ...['Name', 'Name des Empfängers', 'payee name', 'beneficiary name', 'recipient name', 'account holder'],
    ...['Empfängername', 'Kontoinhaber', 'Name des Begünstigten', 'creditor name'],
  ],
  iban: ['IBAN', 'IBAN', 'account', 'Konto', 'IBAN des Empfängers', 'creditor account'],
  sortCode: ['Sort code', 'Sort Code'],
  routingNumber: ['Routing number', 'Routing Number', 'ABA', 'ABA number'],
  accountNumber: ['Account number', 'Kontonummer'],
  amount: ['Amount', 'Betrag', 'Summe'],
  currency: ['Currency', 'Währung', 'ccy', 'Whg'],
  reference: [
    ...['Reference', 'Verwendungszweck', 'payment reference', 'remittance information', 'purpose', 'invoice'],
    ...['invoice number', 'Referenz', 'Zweck', 'Rechnungsnummer', 'Rechnung'],
  ],
}

/** The columns in the order of the template. */
const templateColumns = [
  ...(['name', 'iban', 'amount', 'currency', 'reference'] as const),
  ...(['payee', 'sortCode', 'routingNumber', 'accountNumber'] as const),
] as const

/** Returns the name of a column in the files of a language. */
export const columnName = (language: 'en' | 'de', column: LineColumn): string =>
  bulkColumns[column][language === 'en' ? 0 : 1] ?? column

export const templateHead = (language: 'en' | 'de'): readonly string[] =>
  templateColumns.map((column) => columnName(language, column))

/** Returns the cells of a line in the order of the template. */
export const templateCells = ({ cells }: TypedLine): readonly string[] => templateColumns.map((column) => cells[column])

/** Maximum number of lines that are read, including empty ones. */
const linesMax = 10 * bulkPayouts.bulkPayoutsMax

export type BulkFile =
  | { readonly kind: 'lines'; readonly lines: readonly TypedLine[]; readonly messageId?: string }
  | { readonly kind: 'problem'; readonly code: UnreadableFileKind | 'header' | 'empty' }
  | Extract<Pain001Lines, { readonly kind: 'unreadable' | 'mistakes' }>
  | { readonly kind: 'many'; readonly count: number; readonly isMore: boolean }
  | { readonly kind: 'rows'; readonly problems: readonly RowProblem[] }

/**
 * Reads the lines of a CSV file, or the payments of a pain.001. Cells stay as typed; the check of the bulk reports
 * mistakes in them. `today`: `YYYY-MM-DD`.
 */
export async function readBulkFile(bytes: Uint8Array, today: string): Promise<BulkFile> {
  const decoded = decodeFile(bytes)
  if (typeof decoded === 'string') return { kind: 'problem', code: decoded }
  if (/^\s*</.test(decoded.text)) {
    const file = await readPain001Lines(bytes, today)
    return file.kind === 'many' ? { ...file, isMore: false } : file
  }
  const { named, rows, problems, isCut } = await readTable(decoded.text, bulkColumns, linesMax)
  const hasPayee = named.has('payee') || named.has('name')
  if (!named.has('amount') || !named.has('currency') || !hasPayee) return { kind: 'problem', code: 'header' }
  if (problems.length > 0) return { kind: 'rows', problems }
  if (isCut || rows.length > bulkPayouts.bulkPayoutsMax) return { kind: 'many', count: rows.length, isMore: isCut }
  if (rows.length === 0) return { kind: 'problem', code: 'empty' }
  // The column "Empfänger" is the account holder if the line has an account and the file has no column for the name.
  const isName = !named.has('name')
  const lines = rows.map(({ line, cells }): TypedLine => {
    const hasAccount = accountColumns.some((column) => cells[column] !== '')
    return { line, cells: isName && hasAccount ? { ...cells, name: cells.payee, payee: '' } : cells }
  })
  return { kind: 'lines', lines }
}

const accountColumns = ['iban', 'sortCode', 'routingNumber', 'accountNumber'] as const

/** Lists the columns that at least one line uses. */
export const usedColumns = (lines: readonly TypedLine[]): readonly LineColumn[] =>
  lineColumns.filter((column) => lines.some(({ cells }) => cells[column] !== ''))

/**
 * Replaces the invalid lines by the lines of a second file and keeps the others. New lines get new numbers, because line numbers identify
 * payouts.
 */
export function replaceInvalidLines(
  lines: readonly TypedLine[],
  wrong: ReadonlySet<number>,
  corrected: readonly TypedLine[],
): readonly TypedLine[] {
  const last = Math.max(0, ...lines.map(({ line }) => line))
  const added = corrected.map(({ cells }, index): TypedLine => ({ line: last + index + 1, cells }))
  return [...lines.filter(({ line }) => !wrong.has(line)), ...added]
}
