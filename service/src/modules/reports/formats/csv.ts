/**
 * CSV by RFC 4180: UTF-8 without a byte order mark, CRLF, a header line. A text that a spreadsheet would run as a formula
 * gets an apostrophe (OWASP, CSV injection): `=`, `+`, `-`, `@`, tab and carriage return at its start, also their wide
 * forms. Numbers are never changed, so that a negative amount stays one.
 */
import type { Columns, Content, Row } from '../contents/content.ts'

const isFormula = /^[\s"']*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const needsQuotes = /[",\r\n]/

/** The text of one cell. */
export function csvCell(value: string): string {
  const safe = isFormula.test(value) ? `'${value}` : value
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const columnsOf = (columns: Columns) => Object.entries(columns).filter(([, type]) => type !== 'json')

/** Writes rows. The parts of a line are joined as they come: a list of cells for each line costs twice the time. */
export function csvLines(columns: Columns): (rows: readonly Row[]) => string {
  const cells = columnsOf(columns).map(([name, type]) => ({ name, isText: type === 'text' }))
  return (rows) => {
    let text = ''
    for (const row of rows) {
      let separator = ''
      for (const { name, isText } of cells) {
        const value = row[name]
        text += separator
        separator = ','
        if (value !== undefined) text += isText ? csvCell(value) : value
      }
      text += '\r\n'
    }
    return text
  }
}

export async function* csv({ columns, rows }: Content): AsyncGenerator<string> {
  const lines = csvLines(columns)
  yield `${columnsOf(columns)
    .map(([name]) => name)
    .join(',')}\r\n`
  for await (const part of rows()) yield lines(part)
}
