/** Writes text and elements of XML 1.0. */

/** Characters that a document cannot contain, not even as references (XML 1.0, section 2.2). */
const forbidden = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu
/** A literal carriage return would be read as a line feed. */
const special: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }
/** Most texts do not need escapes. */
const needsWork = /[&<>\r\p{Cc}\p{Cs}\ufffe\uffff]/u

/** Escapes a text. Replaces characters that XML does not allow by U+FFFD, so that a reader sees that one was there. */
export const xmlText = (text: string): string =>
  needsWork.test(text)
    ? text
        .toWellFormed()
        .replace(forbidden, '\ufffd')
        .replace(/[&<>\r]/g, (character) => special[character] ?? character)
    : text

export const element = (name: string, content: string): string => `<${name}>${content}</${name}>`

/** Writes an element with a text; empty without a text. */
export const optionalElement = (name: string, text: string | undefined): string =>
  text === undefined ? '' : `<${name}>${xmlText(text)}</${name}>`

/** Writes an element around XML content; empty without content. */
export const wrapElement = (name: string, content: string): string =>
  content === '' ? '' : `<${name}>${content}</${name}>`

export const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** Cuts a text without splitting a surrogate pair. Lengths in ISO 20022 count characters. */
export const shorten = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : Array.from(text).slice(0, charsMax).join('')
