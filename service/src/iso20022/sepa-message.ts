/** Converts the texts of a message to the characters and lengths that SEPA banks accept. All files are written from such messages. */
import anyAscii from 'any-ascii'

/** The maximum length of each element, by the SEPA guideline or else by the schemas. */
const charsMax: Readonly<Record<string, number>> = {
  name: 70,
  department: 70,
  subDepartment: 70,
  street: 70,
  buildingNumber: 16,
  buildingName: 35,
  floor: 70,
  postBox: 16,
  roomNumber: 70,
  postCode: 16,
  town: 35,
  townLocation: 35,
  district: 35,
  countrySubdivision: 35,
  lines: 70,
  id: 35,
  unstructured: 140,
  // Two lines of 105 characters.
  text: 210,
}
const references: ReadonlySet<string> = new Set(['endToEndId'])

/** Transliterates every text of a message to the SEPA characters, and cuts it to the length of its element. */
export const toSepaCharacters = <Message>(message: Message): Message => convertTexts('', message) as Message

function convertTexts(name: string, value: unknown): unknown {
  if (typeof value === 'string')
    return references.has(name) ? sepaReference(value) : sepaText(value, charsMax[name] ?? Infinity)
  if (Array.isArray(value)) return value.map((one: unknown) => convertTexts(name, one))
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, convertTexts(key, one)]))
}

// Texts in the characters that every SEPA bank accepts (EPC217-08): letters and digits of ASCII, space, and `/ - ? : (
// ) . , ' +`. README.md of this folder has the rules of the transliteration.

/** Replacements before the general table: German letters, as in EPC217-08, and signs with a closer equivalent. */
const own: Readonly<Record<string, string>> = {
  Ä: 'Ae',
  Ö: 'Oe',
  Ü: 'Ue',
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ß: 'ss',
  ẞ: 'SS',
  // Bulgarian, as in EPC217-08. Other Cyrillic letters are the same in the general table.
  Ъ: 'A',
  ъ: 'a',
  Ь: 'Y',
  ь: 'y',
  Щ: 'Sht',
  щ: 'sht',
  '&': '+',
  '@': '(at)',
  _: '-',
  '~': '-',
  '€': 'EUR',
  '£': 'GBP',
  $: 'USD',
  '§': 'par.',
  '%': 'pct',
  '"': "'",
  '`': "'",
  '´': "'",
  '<': '(',
  '>': ')',
  '[': '(',
  ']': ')',
  '{': '(',
  '}': ')',
  ';': ',',
  '!': '.',
  '=': '-',
  '*': '.',
  '#': ' ',
  '^': ' ',
  '|': '/',
  '\\': '/',
}
const ownCharacters = new RegExp(
  `[${Object.keys(own)
    .map((sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
    .join('')}]`,
  'gu',
)
const outside = /[^A-Za-z0-9/\-?:().,'+ ]/g
const isPlain = /^[A-Za-z0-9/\-?:().,'+]+(?: [A-Za-z0-9/\-?:().,'+]+)*$/
/** The text that replaces an empty result. */
const empty = 'NOTPROVIDED'

/** Replaces letters and signs: `MÜLLER` becomes `MUELLER`, `Ünal` becomes `Uenal`. */
const replaceOwn = (text: string): string =>
  text.replace(ownCharacters, (sign, at: number) => {
    const isUpper = /[A-ZÄÖÜ]/.test(text[at - 1] ?? '') || /[A-ZÄÖÜ]/.test(text[at + 1] ?? '')
    const found = own[sign] ?? ' '
    return isUpper && /[ÄÖÜ]/.test(sign) ? found.toUpperCase() : found
  })

/** Transliterates a text. Composes letters and combining marks first, so that both forms of `ä` become `ae`. */
const transliterate = (text: string): string =>
  replaceOwn(anyAscii(replaceOwn(text.toWellFormed().normalize('NFC'))))
    .replace(outside, ' ')
    .replace(/ +/g, ' ')
    .trim()

/**
 * Converts a text to at most `charsMax` SEPA characters, not empty. A character without a counterpart becomes a space;
 * adjacent spaces are joined.
 */
export function sepaText(text: string, charsMax: number): string {
  const found = isPlain.test(text) ? text : transliterate(text)
  const cut = found.slice(0, charsMax).trim()
  return cut === '' ? empty.slice(0, charsMax) : cut
}

/** SEPA identifiers have at most 35 characters. */
const referenceChars = 35

/** Converts an identifier to SEPA characters. EPC217-08 forbids slashes at its ends and two slashes in a row. */
export function sepaReference(text: string, charsMax = referenceChars): string {
  const found = sepaText(text, Infinity)
    .replace(/\/{2,}/g, '/')
    .replace(/^[/ ]+/, '')
  const cut = found.slice(0, charsMax).replace(/[/ ]+$/, '')
  return cut === '' ? empty.slice(0, charsMax) : cut
}

/** Reports whether every SEPA bank accepts the identifier unchanged. */
export const isSepaReference = (text: string): boolean => sepaReference(text) === text
