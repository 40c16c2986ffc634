/** Reads and writes CSV files (RFC 4180) as Excel and other spreadsheets write them in several languages. Pure. */
import { csvCell } from '../../kernel/index.ts'

/** Maximum number of cells in a line, including columns that the import ignores. */
const cellsMax = 100
/** Lines that are read before the event loop handles other requests. */
const linesAtOnce = 500

/** The kind of a file that is not text: a workbook of Excel or LibreOffice, or another binary file. */
export type UnreadableFileKind = 'workbook' | 'binary'

const startsWith = (bytes: Uint8Array, ...first: readonly number[]): boolean =>
  first.every((byte, at) => bytes[at] === byte)

/** Decodes UTF-8, UTF-16 with a byte order mark ("Unicode Text" of Excel), else Windows-1252 ("CSV" of Excel on Windows). */
export function decodeFile(bytes: Uint8Array): { readonly text: string } | UnreadableFileKind {
  // ZIP (XLSX, ODS) and the compound file of XLS.
  if (startsWith(bytes, 0x50, 0x4b, 0x03, 0x04) || startsWith(bytes, 0xd0, 0xcf, 0x11, 0xe0)) return 'workbook'
  const text = decodeText(bytes)
  return text.includes('\0') ? 'binary' : { text }
}

function decodeText(bytes: Uint8Array): string {
  if (startsWith(bytes, 0xff, 0xfe)) return new TextDecoder('utf-16le').decode(bytes)
  if (startsWith(bytes, 0xfe, 0xff)) return new TextDecoder('utf-16be').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

type CsvRecord = { readonly line: number; readonly cells: readonly string[]; readonly isOpen: boolean }

/** Reads the records of a text. A quoted cell may contain separators, doubled quotes and line breaks. */
function* readRecords(text: string, separator: string): Generator<CsvRecord> {
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
      const stop = endOfCell(text, at, separator)
      cell += text.slice(at, stop)
      cells.push(cleanCell(cell))
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

/** Returns the position of the quote that ends a cell. -1: the quote is missing. */
function endOfQuote(text: string, from: number): number {
  let at = text.indexOf('"', from)
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end === -1 ? text.length : end
}

function endOfCell(text: string, from: number, separator: string): number {
  let at = from
  while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at += 1
  return at
}

/**
 * Trims a cell, and removes the formula `="0123"` that preserves leading zeros, and the apostrophe that `csvCell` adds.
 */
function cleanCell(cell: string): string {
  const text = cell.trim()
  const [, kept] = /^="([^"]*)"$/.exec(text) ?? []
  return kept?.trim() ?? text.replace(/^'(?=[\s"']*[=+\-@\t\r\n＝＋－＠])/u, '')
}

const separators = [';', '\t', ','] as const

/** Returns the separator that is most frequent in the first line, outside quotes. */
function detectSeparator(head: string): string {
  const bare = head.replaceAll(/"[^"]*"/g, '')
  const counts = separators.map((separator) => bare.split(separator).length)
  return separators[counts.indexOf(Math.max(...counts))] ?? ';'
}

/** The columns of a file, each with alternative names that a header may use. */
export type FileColumns<Name extends string> = Readonly<Record<Name, readonly string[]>>

export type FileRow<Name extends string> = { readonly line: number; readonly cells: Readonly<Record<Name, string>> }

/** `line` counts from 1. `cells`: the line has more cells than the header. `quote`: a quoted text does not end. */
export type RowProblem = { readonly line: number; readonly code: 'cells' | 'quote' }

type TableFile<Name extends string> = {
  /** The columns that the header names. Empty: the first line is not a header. */
  readonly named: ReadonlySet<Name>
  readonly rows: readonly FileRow<Name>[]
  readonly problems: readonly RowProblem[]
  /** True if the file has more lines than the limit. */
  readonly isCut: boolean
}

/** Normalises the name of a column: lower case, without blanks and punctuation, with umlauts as two letters. */
const columnKey = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .replaceAll('ß', 'ss')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')

/**
 * Reads a file whose first line contains the names of the columns. Semicolons, tabs or commas separate cells. Empty
 * lines are skipped.
 */
export async function readTable<Name extends string>(
  text: string,
  columns: FileColumns<Name>,
  linesMax: number,
): Promise<TableFile<Name>> {
  const [, declared, plain = ''] = /^\uFEFF?(?:sep=(.)\r?\n)?([^]*)$/i.exec(text) ?? []
  const [head = ''] = plain.split('\n', 1)
  const records = readRecords(plain, declared ?? detectSeparator(head))
  const header = (records.next().value as CsvRecord | undefined)?.cells.map(columnKey) ?? []
  const entries = Object.entries(columns) as [Name, readonly string[]][]
  const places = entries.flatMap(([name, others]) => {
    const keys = new Set([name, ...others].map(columnKey))
    const at = header.findIndex((key) => keys.has(key))
    return at === -1 ? [] : [[name, at] as const]
  })
  const named = new Set(places.map(([name]) => name))
  const skipped = declared === undefined ? 0 : 1
  const rows: FileRow<Name>[] = []
  const problems: RowProblem[] = []
  let read = 0
  for (const record of records) {
    read += 1
    if (read > linesMax) return { named, rows, problems, isCut: true }
    if (read % linesAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    const { cells, isOpen } = record
    const line = record.line + skipped
    if (!isOpen && cells.every((cell) => cell === '')) continue
    if (isOpen || cells.slice(header.length).some((cell) => cell !== '')) {
      problems.push({ line, code: isOpen ? 'quote' : 'cells' })
      continue
    }
    const values = Object.fromEntries(entries.map(([name]) => [name, ''])) as Record<Name, string>
    for (const [name, at] of places) values[name] = cells[at] ?? ''
    rows.push({ line, cells: values })
  }
  return { named, rows, problems, isCut: false }
}

/** The separators that Excel expects in each language when a person opens a CSV file by a double click. */
const spreadsheetForms = {
  de: { separator: ';', decimal: ',' },
  en: { separator: ',', decimal: '.' },
} as const

/** Writes a CSV file for the spreadsheet of a language, with a byte order mark. */
export function spreadsheetText(language: keyof typeof spreadsheetForms, rows: readonly (readonly string[])[]): string {
  const { separator } = spreadsheetForms[language]
  return `\uFEFF${rows.map((cells) => `${cells.map(csvCell).join(separator)}\r\n`).join('')}`
}

/** Writes a decimal amount as the spreadsheet of a language reads it. */
export const spreadsheetAmount = (language: keyof typeof spreadsheetForms, amount: string): string =>
  amount.replace('.', spreadsheetForms[language].decimal)
