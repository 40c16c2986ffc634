/** A cell of a table that a spreadsheet reads. */

/**
 * Quotes by RFC 4180. A reference of a partner may contain any character; a spreadsheet must not read it as a formula.
 */
export const quoted = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
