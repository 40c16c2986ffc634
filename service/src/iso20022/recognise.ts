/** Which message a file is, by its first bytes. */
import { type MessageName, nameOf } from './messages.ts'
import { limitsDefault } from './source.ts'
import { decodedHead } from './xml/decode.ts'
import { createScanner } from './xml/scanner.ts'
import type { Tag } from './xml/tags.ts'

/**
 * The name of the message; version: `02`, `08`, empty if there is no namespace. Undefined: the bytes are none of the messages, or too
 * few: 4,096 bytes are enough for a document, 64 KiB for one in an envelope.
 */
export function recognise(firstBytes: Uint8Array): MessageName | undefined {
  let document: Tag | undefined
  let found: MessageName | undefined
  let isDecided = false
  const open = (tag: Tag) => {
    if (isDecided) return
    if (document) {
      found = nameOf(tag.namespace, tag.local)
      isDecided = true
    } else if (tag.local === 'Document') document = tag
  }
  const scanner = createScanner({ open, text: () => undefined, close: () => undefined }, limitsDefault)
  try {
    scanner.write(decodedHead(firstBytes) ?? '')
  } catch {
    // What was found before the fault counts: the reader says what is wrong with the file.
  }
  return found
}
