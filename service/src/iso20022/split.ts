/**
 * Splits an envelope with several messages, such as the XML container of the German banks, into one document for each. Names
 * are written without prefixes, and attributes with a prefix are left out: no message has them.
 */
import { type Limits, limitsDefault, type Source } from './source.ts'
import { decoded } from './xml/decode.ts'
import { createScanner } from './xml/scanner.ts'
import type { Tag } from './xml/tags.ts'
import { declaration, xmlText } from './xml/text.ts'

/** A part of the text of a document; `number` counts them from 0. */
export type DocumentPart = { readonly number: number; readonly text: string }

const root = 'Document'

function startOf(tag: Tag, outside: string | undefined): string {
  const attributes = [...(tag.attributes ?? [])].filter(([name]) => !name.includes(':') && name !== 'xmlns')
  const namespace = tag.namespace === outside ? '' : ` xmlns="${xmlText(tag.namespace)}"`
  const written = attributes.map(([name, value]) => ` ${name}="${xmlText(value).replaceAll('"', '&quot;')}"`)
  return `<${tag.local}${namespace}${written.join('')}>`
}

/**
 * The documents within the root element, in parts. Nothing: the root is a document itself, as that of most files, and the rest
 * was not read. Refuses what is no XML by a `MessageProblem`.
 */
export async function* splitDocuments(source: Source, limits?: Partial<Limits>): AsyncGenerator<DocumentPart> {
  const all = { ...limitsDefault, ...limits }
  const open: Tag[] = []
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
        if (depth > 0) add(startOf(tag, open.length === depth ? undefined : open.at(-2)?.namespace))
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
  for await (const text of decoded(source, all, scanner.where)) {
    scanner.write(text)
    if (isPlain) return
    yield* parts
    parts = []
  }
  scanner.end()
  yield* parts
}
