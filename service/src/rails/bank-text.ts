/** Pure: a bank's own words about a payment, as people and other systems may read them. */

/** Longer than the guideline of ISO 20022 (four texts of 105 characters, with what banks add). */
export const bankTextCharsMax = 500
/** Read before the bound, so that a text of a hostile file costs no more. */
const readCharsMax = 8 * bankTextCharsMax

const ends = /[\p{Cc}\p{Zl}\p{Zp}]/gu
/** Direction marks, zero-width characters, private use, halves of a character. */
const invisible = /[\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu
const tags = /<(?:[/!?]?[a-z]|!--)[^<>]*>/gi
const placeholder = /^(?:NOT ?PROVIDED|N\/?A|NONE|UNKNOWN|[-.0\s]*)$/i

/**
 * One line of plain text: without control characters, direction marks and markup, and bounded. Null: the bank says nothing. A text
 * that is clean stays as it is.
 */
export function bankTextOf(texts: readonly string[]): string | null {
  const plain = texts
    .join(' ')
    .slice(0, readCharsMax)
    .toWellFormed()
    .replaceAll(ends, ' ')
    .replaceAll(invisible, '')
    .normalize('NFC')
    .replaceAll(tags, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/\s+/gu, ' ')
    .trim()
  if (placeholder.test(plain)) return null
  const chars = Array.from(plain)
  return chars.length <= bankTextCharsMax
    ? plain
    : `${chars
        .slice(0, bankTextCharsMax - 1)
        .join('')
        .trimEnd()}…`
}

/** A sentence of the service, followed by the bank's own words, which are marked as such. */
export const withBankText = (sentence: string, bankText: string | null): string =>
  bankText === null ? sentence : `${sentence} The bank says: “${bankText}”`
