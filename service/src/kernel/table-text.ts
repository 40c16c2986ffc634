/** Tables as text: cells of CSV, and Markdown. */

/**
 * A cell of CSV by RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe (OWASP, CSV injection): `=`,
 * `+`, `-`, `@`, tab and carriage return, and their wide forms, at its start, also after blanks and quotes. So does the same
 * after a semicolon, a tab or a line end inside, where a spreadsheet with other separators begins a cell.
 */
const isFormula = /^[\s"']*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const innerFormula = /([;\t\r\n][\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g
const needsQuotes = /[",;\t\r\n]/

/** The text of one cell. */
export function csvCell(value: string): string {
  const inner = value.replace(innerFormula, "$1'")
  const safe = isFormula.test(inner) ? `'${inner}` : inner
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The same for a column in which a negative amount may stand. */
export const csvCellOrAmount = (value: string): string => (/^-?[\d.]+$/.test(value) ? value : csvCell(value))

/** A table in Markdown, for pages that the service or `npm run docs` makes from tables in code. */
const markdownRow = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [markdownRow(head), `|${'---|'.repeat(head.length)}`, ...rows.map(markdownRow)].join('\n')
}
