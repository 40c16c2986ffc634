/** Text in XML 1.0. */

/** XML 1.0, section 2.2: these characters have no form in a document, not even as a reference. */
const forbidden = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu
const special: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** A character that XML does not have becomes U+FFFD, so that a reader sees that there was one. */
export const xmlText = (text: string): string =>
  text
    .toWellFormed()
    .replace(forbidden, '\ufffd')
    .replace(/[&<>]/g, (character) => special[character] ?? character)

export const element = (name: string, content: string): string => `<${name}>${content}</${name}>`

/** The first characters of a text, without half of a surrogate pair. Lengths of ISO 20022 count characters. */
export const shortened = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : Array.from(text).slice(0, charsMax).join('')
