/** Formats, checks and finds creditor references (ISO 11649). Pure. */
import type { EntryDetail } from './model.ts'

/** A reference has `RF`, two check digits and 1 to 21 letters or digits. */
const headChars = 4
const bodyCharsMax = 21

/** Appends a letter or digit to a number with a known remainder (ISO 7064, MOD 97-10). Letters count as 10 to 35. */
function appendChar(remainder: number, char: string): number {
  const value = Number.parseInt(char, 36)
  return (remainder * (value < 10 ? 10 : 100) + value) % 97
}

const mod97 = (text: string): number => Array.from(text).reduce(appendChar, 0)

/** Checks a reference: with its first four characters at the end, it must be 1 modulo 97. */
export const isCreditorReference = (text: string): boolean =>
  /^RF\d{2}[0-9A-Z]{1,21}$/.test(text) && mod97(`${text.slice(headChars)}${text.slice(0, headChars)}`) === 1

/** Formats a creditor reference from 1 to 21 capital letters and digits. */
export function formatCreditorReference(text: string): string {
  const check = 98 - mod97(`${text}RF00`)
  return `RF${check.toString().padStart(2, '0')}${text}`
}

/**
 * Candidates for the creditor reference of a payment, in lists, the most reliable list first. A list counts only if no
 * earlier list has a known reference. Every part of a text with valid check digits is a candidate.
 */
export type ReferenceCandidates = readonly (readonly string[])[]

/** An honest payment has a few candidates. The limit bounds the index probes of a hostile one. */
const candidatesMax = 200
/** Enough for a hundred lines of a bank. The cost of reading grows with the length. */
const textCharsMax = 20_000
/** `RF` as numbers, and two zeros in place of the check digits. */
const headValue = 271_500

/** Finds references in texts. Each text is a list of lines. */
function findReferences(texts: readonly (readonly string[])[]): readonly string[] {
  const found = new Set<string>()
  for (const lines of texts)
    for (const reference of partsWithCheckDigits(lines.join(''))) {
      if (found.size === candidatesMax) return [...found]
      found.add(reference)
    }
  return [...found]
}

/** Yields parts with valid check digits. Ignores separators, such as blanks, hyphens and ends of lines, and adjacent words. */
function* partsWithCheckDigits(text: string): Generator<string> {
  const plain = text
    .slice(0, textCharsMax)
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
  for (const { index, 0: head } of plain.matchAll(/RF\d{2}/g)) {
    const atEnd = headValue + Number(head.slice(2))
    const from = index + headChars
    const end = Math.min(plain.length, from + bodyCharsMax)
    let body = 0
    for (let at = from; at < end; at += 1) {
      body = appendChar(body, plain.charAt(at))
      if ((body * 1_000_000 + atEnd) % 97 === 1) yield plain.slice(index, at + 1)
    }
  }
}

const tiers = (...lists: ReferenceCandidates): ReferenceCandidates => lists.filter((list) => list.length > 0)

/** Finds the references in texts of a payment. */
export const referencesInTexts = (...texts: readonly (string | null)[]): ReferenceCandidates =>
  tiers(findReferences(texts.map((text) => [text ?? ''])))

/**
 * Finds the references of a payment in a bank's message, in every field where a bank may put one. `information`: the
 * text of the booking, if this is its only payment.
 */
export function referencesInPayment(
  detail: EntryDetail | undefined,
  information: string | undefined,
): ReferenceCandidates {
  const { structured = [], unstructured = [] } = detail?.remittance ?? {}
  const { endToEndId, instructionId, others = [] } = detail?.references ?? {}
  const numbers = structured.flatMap(({ documents = [] }) => documents.flatMap(({ number }) => number ?? []))
  const given = structured.flatMap(({ creditorReference }) => creditorReference ?? [])
  const short = [...numbers, endToEndId, instructionId, ...others.map(({ reference }) => reference)]
  return tiers(
    findReferences(given.map((reference) => [reference])),
    findReferences([
      unstructured,
      structured.flatMap(({ additional = [] }) => additional),
      ...[...short, detail?.information, information].map((text) => [text ?? '']),
    ]),
  )
}
