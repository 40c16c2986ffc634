/** Cleans a bank's text about a payment, so that people and other systems can read it safely. Pure. */

/** Longer than the guideline of ISO 20022: four texts of 105 characters. */
export const bankTextCharsMax = 500
/** Limits the characters that are cleaned, so that the text of a hostile file costs little. */
const readCharsMax = 8 * bankTextCharsMax

const lineEnds = /[\p{Cc}\p{Zl}\p{Zp}]/gu
/** Direction marks, zero-width characters, private use characters and lone surrogates. */
const invisible = /[\p{Cf}\p{Co}\p{Cn}\p{Cs}]/gu
const markupTags = /<(?:[/!?]?[a-z]|!--)[^<>]*>/gi
const placeholder = /^(?:NOT ?PROVIDED|N\/?A|NONE|UNKNOWN|[-.0\s]*)$/i

/**
 * Joins texts to one line of limited length without control characters, direction marks and markup; null if the result is
 * empty or a placeholder. Idempotent.
 */
export function joinBankTexts(texts: readonly string[]): string | null {
  const plain = texts
    .join(' ')
    .slice(0, readCharsMax)
    .toWellFormed()
    .replaceAll(lineEnds, ' ')
    .replaceAll(invisible, '')
    .normalize('NFC')
    .replaceAll(markupTags, ' ')
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

/** Appends the bank's text, marked as such, to a sentence of the service. */
export const withBankText = (sentence: string, bankText: string | null): string =>
  bankText === null ? sentence : `${sentence} The bank says: “${bankText}”`
