/** A cell of a table that a spreadsheet reads. */

/** RFC 4180. A reference of a partner may hold any character; a spreadsheet must not take one for a formula. */
export const quoted = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
