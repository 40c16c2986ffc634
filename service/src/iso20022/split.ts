/**
 * Splits an envelope with several messages, such as the XML container of German banks, into one document for each. Writes
 * names without prefixes and drops attributes with a prefix, which messages do not have.
 */
import { type MessageLimits, limitsDefault, type MessageSource } from './source.ts'
import { decodeMessage } from './xml/decode.ts'
import { createScanner } from './xml/scanner.ts'
import type { XmlTag } from './xml/tags.ts'
import { declaration, xmlText } from './xml/text.ts'

/** A part of the text of a document. `number` counts the documents from 0. */
export type DocumentPart = { readonly number: number; readonly text: string }

const root = 'Document'

function startTag(tag: XmlTag, outside: string | undefined): string {
  const attributes = [...(tag.attributes ?? [])].filter(([name]) => !name.includes(':') && name !== 'xmlns')
  const namespace = tag.namespace === outside ? '' : ` xmlns="${xmlText(tag.namespace)}"`
  const written = attributes.map(([name, value]) => ` ${name}="${xmlText(value).replaceAll('"', '&quot;')}"`)
  return `<${tag.local}${namespace}${written.join('')}>`
}

/**
 * Yields the documents within the root element, in parts. Yields nothing, and stops reading, if the root is a document
 * itself. Throws a `MessageProblem` for malformed XML.
 */
export async function* splitDocuments(
  source: MessageSource,
  limits?: Partial<MessageLimits>,
): AsyncGenerator<DocumentPart> {
  const all = { ...limitsDefault, ...limits }
  const open: XmlTag[] = []
  /** The depth of the open document; 0: none. */
  let [depth, number, isPlain] = [0, -1, false]
  let parts: { number: number; text: string }[] = []
  const add = (text: string) => {
    const last = parts.at(-1)
    if (last?.number === number) last.text += text
    else parts.push({ number, text })
  }
  const scanner = createScanner(
    {
      open: (tag) => {
        if (open.length === 0) isPlain = tag.local === root
        open.push(tag)
        if (depth === 0 && tag.local === root && !isPlain) {
          depth = open.length
          number += 1
          add(declaration)
        }
        if (depth > 0) add(startTag(tag, open.length === depth ? undefined : open.at(-2)?.namespace))
      },
      text: (text) => {
        if (depth > 0) add(xmlText(text))
      },
      close: () => {
        if (depth > 0) add(`</${open.at(-1)?.local ?? ''}>`)
        if (open.length === depth) depth = 0
        open.pop()
      },
    },
    all,
  )
  for await (const text of decodeMessage(source, all, scanner.where)) {
    scanner.write(text)
    if (isPlain) return
    yield* parts
    parts = []
  }
  scanner.end()
  yield* parts
}
