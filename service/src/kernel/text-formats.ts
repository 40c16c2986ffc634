/** Formats text for CSV, Markdown and HTML. */

/**
 * Matches texts that a spreadsheet would evaluate as a formula (OWASP, CSV injection): `=`, `+`, `-`, `@`, tab and
 * carriage return, and their wide forms, at the start, also after blanks and quotes. Such a cell gets an apostrophe. So
 * does the text after a semicolon, a tab or a line end, where a spreadsheet with other separators begins a cell.
 */
const isFormula = /^[\s"']*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const innerFormula = /([;\t\r\n][\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g
const needsQuotes = /[",;\t\r\n]/

/** Formats a CSV cell (RFC 4180). */
export function csvCell(value: string): string {
  const inner = value.replace(innerFormula, "$1'")
  const safe = isFormula.test(inner) ? `'${inner}` : inner
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Formats a CSV cell of a column that may contain negative amounts. */
export const csvAmountCell = (value: string): string => (/^-?[\d.]+$/.test(value) ? value : csvCell(value))

/** Formats a Markdown table, for generated pages of the service and of `npm run docs`. */
const markdownRow = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [markdownRow(head), `|${'---|'.repeat(head.length)}`, ...rows.map(markdownRow)].join('\n')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => entities[char] ?? char)
