/** Pure: creditor references (ISO 11649): made, checked, and found in what a payment says. */
import type { EntryDetail } from './model.ts'

/** A reference has `RF`, two check digits and 1 to 21 letters or digits. */
const headChars = 4
const bodyCharsMax = 21

/** ISO 7064, MOD 97-10: appends a letter or a digit to a number of which the remainder is known. Letters count as 10 to 35. */
function appended(remainder: number, char: string): number {
  const value = Number.parseInt(char, 36)
  return (remainder * (value < 10 ? 10 : 100) + value) % 97
}

const remainderOf = (text: string): number => Array.from(text).reduce(appended, 0)

/** True if the reference is 1 modulo 97 with its first four characters at the end. */
export const isCreditorReference = (text: string): boolean =>
  /^RF\d{2}[0-9A-Z]{1,21}$/.test(text) && remainderOf(`${text.slice(headChars)}${text.slice(0, headChars)}`) === 1

/** The creditor reference of 1 to 21 capital letters and digits. */
export function creditorReferenceOf(text: string): string {
  const check = 98 - remainderOf(`${text}RF00`)
  return `RF${check.toString().padStart(2, '0')}${text}`
}

/**
 * The creditor references that a payment may name, the surest first: those of a list count alone if one of them is known, and
 * else those of the next list. In a text every part with right check digits may be one: only the references that wait tell
 * which is.
 */
export type NamedReferences = readonly (readonly string[])[]

/** An honest payment has a handful. Each costs a probe of an index, so that a hostile one costs no more than this. */
const candidatesMax = 200
/** Longer than a hundred lines of a bank. A message may have more, and reading them costs in proportion. */
const textCharsMax = 20_000
/** `RF` as numbers, and two zeros in place of the check digits. */
const headValue = 271_500

/** Reads the references in texts, of which each is a list of lines. */
function referencesIn(texts: readonly (readonly string[])[]): readonly string[] {
  const found = new Set<string>()
  for (const lines of texts)
    for (const reference of partsWithCheckDigits(lines.join(''))) {
      if (found.size === candidatesMax) return [...found]
      found.add(reference)
    }
  return [...found]
}

/** Separators of any kind do not count: blanks, hyphens, the ends of lines. Nor does a word that is glued to the reference. */
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
      body = appended(body, plain.charAt(at))
      if ((body * 1_000_000 + atEnd) % 97 === 1) yield plain.slice(index, at + 1)
    }
  }
}

const tiers = (...lists: NamedReferences): NamedReferences => lists.filter((list) => list.length > 0)

/** The references of a payment of which only texts are known. */
export const namedInTexts = (...texts: readonly (string | null)[]): NamedReferences =>
  tiers(referencesIn(texts.map((text) => [text ?? ''])))

/**
 * The references of one payment of a bank's message, in every field where a bank may put one. `information`: of the whole
 * booking, if this is its only payment.
 */
export function namedInPayment(detail: EntryDetail | undefined, information: string | undefined): NamedReferences {
  const { structured = [], unstructured = [] } = detail?.remittance ?? {}
  const { endToEndId, instructionId, others = [] } = detail?.references ?? {}
  const numbers = structured.flatMap(({ documents = [] }) => documents.flatMap(({ number }) => number ?? []))
  const given = structured.flatMap(({ creditorReference }) => creditorReference ?? [])
  const short = [...numbers, endToEndId, instructionId, ...others.map(({ reference }) => reference)]
  return tiers(
    referencesIn(given.map((reference) => [reference])),
    referencesIn([
      unstructured,
      structured.flatMap(({ additional = [] }) => additional),
      ...[...short, detail?.information, information].map((text) => [text ?? '']),
    ]),
  )
}
