/**
 * Writes a list as a CSV file (RFC 4180), page by page through its operation, up to a limit. A German file has
 * semicolons and decimal commas. `csvCell` escapes cells that a spreadsheet would run as formulas.
 */
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { csvCell } from '../../kernel/index.ts'
import type { FieldValues } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView } from '../kit/frame.ts'
import type { ConsoleLanguage } from '../kit/language.ts'
import { consoleHeaders, pathWithQuery, page } from '../kit/request.ts'
import { fill } from '../language.ts'
import { refusalProblems } from './request.ts'
import { texts } from './texts/index.ts'

export const exportRowsMax = 5000
/** The maximum page size of the operations. */
export const exportPageRows = '100'

/** A cell: a text, an amount or a time. Undefined: empty. */
type CsvCell = string | { readonly amount: string } | { readonly at: string } | undefined

export type Columns<Row> = readonly (readonly [heading: string, cell: (row: Row) => CsvCell])[]

type ListAnswer<Row> = { readonly data: readonly Row[]; readonly nextCursor: string | null }

/** Tells a spreadsheet that the file is UTF-8. */
const byteOrderMark = '\ufeff'

/** Formats a time in UTC in a form that spreadsheets recognise. */
const timeText = (at: string): string => at.slice(0, 'YYYY-MM-DDThh:mm:ss'.length).replace('T', ' ')

/** Formats the list as CSV. Undefined: the list has more rows than a file may have. */
export async function writeCsv<Row>(
  language: ConsoleLanguage,
  columns: Columns<Row>,
  read: (cursor: string | undefined) => Promise<ListAnswer<Row>>,
): Promise<string | undefined> {
  const separator = language === 'de' ? ';' : ','
  const textOf = (cell: CsvCell): string => {
    if (cell === undefined) return ''
    if (typeof cell === 'string') return csvCell(cell)
    if ('at' in cell) return timeText(cell.at)
    return language === 'de' ? cell.amount.replace('.', ',') : cell.amount
  }
  const line = (cells: readonly string[]): string => `${cells.join(separator)}\r\n`
  const lines = [line(columns.map(([heading]) => csvCell(heading)))]
  let cursor: string | undefined
  do {
    const { data, nextCursor } = await read(cursor)
    for (const row of data) lines.push(line(columns.map(([, cell]) => textOf(cell(row)))))
    if (lines.length > exportRowsMax + 1) return undefined
    // With `updatedSince` the last page also has a cursor, for later changes.
    cursor = data.length === 0 ? undefined : (nextCursor ?? undefined)
  } while (cursor !== undefined)
  return byteOrderMark + lines.join('')
}

type ListFile = {
  readonly list: 'transactions' | 'payouts'
  readonly values: FieldValues
  readonly filters: readonly string[]
  readonly make: () => Promise<string | undefined>
}

/** Responds with the file of a list, or with a page that explains why it was refused. */
export async function sendCsv(
  request: PublicRequest,
  view: ConsoleView,
  { list, values, filters, make }: ListFile,
): Promise<PublicAnswer> {
  const p = texts[view.language].payments
  const refuse = (text: string) => {
    const back = { href: pathWithQuery(`${view.root}${list}`, values), label: p.back }
    return page(request, 400, consoleMessagePage(view, p.exportTitle, text, back))
  }
  try {
    const body = await make()
    if (body === undefined) return refuse(fill(p.exportTooMany, { count: String(exportRowsMax) }))
    const headers = { ...consoleHeaders, 'content-type': 'text/csv; charset=utf-8' }
    return {
      status: 200,
      headers: { ...headers, 'content-disposition': `attachment; filename="${list}.csv"` },
      body,
    }
  } catch (error) {
    return refuse(Object.values(refusalProblems(p, error, filters)).join(' '))
  }
}
