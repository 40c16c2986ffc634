/** Text in XML 1.0. */

/** XML 1.0, section 2.2: these characters have no form in a document, not even as a reference. */
const forbidden = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu
/** A literal carriage return would be read as a line feed. */
const special: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }
/** Most texts need no escapes. */
const needsWork = /[&<>\r\p{Cc}\p{Cs}\ufffe\uffff]/u

/** Replaces characters that XML does not have by U+FFFD, so that a reader sees that there was one. */
export const xmlText = (text: string): string =>
  needsWork.test(text)
    ? text
        .toWellFormed()
        .replace(forbidden, '\ufffd')
        .replace(/[&<>\r]/g, (character) => special[character] ?? character)
    : text

export const element = (name: string, content: string): string => `<${name}>${content}</${name}>`

/** An element with a text, if there is one. */
export const optional = (name: string, text: string | undefined): string =>
  text === undefined ? '' : `<${name}>${xmlText(text)}</${name}>`

/** An element with a content that is XML already, if there is one. */
export const wrapped = (name: string, content: string): string =>
  content === '' ? '' : `<${name}>${content}</${name}>`

export const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** The first characters of a text, without half of a surrogate pair. Lengths of ISO 20022 count characters. */
export const shortened = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : Array.from(text).slice(0, charsMax).join('')
