/**
 * A cell of CSV by RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe (OWASP, CSV
 * injection): `=`, `+`, `-`, `@`, tab and carriage return at its start, also after blanks and quotes, and their wide
 * forms.
 */
const isFormula = /^[\s"']*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const needsQuotes = /[",\r\n]/

/** The text of one cell. */
export function csvCell(value: string): string {
  const safe = isFormula.test(value) ? `'${value}` : value
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
