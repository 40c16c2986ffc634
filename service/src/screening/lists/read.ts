/**
 * Reads the file of a list as a stream, with the scanner of ISO 20022: no document type, no entities, and limits. The list is whole or
 * refused: a cut file, a record without a name or key, a key twice, another number of records than the list says.
 */
import { createHash } from 'node:crypto'
import {
  createScanner,
  decoded,
  type Limits,
  limitsDefault,
  MessageProblem,
  type Source,
  type Tag,
} from '../../iso20022/index.ts'
import type { ListEntry, SanctionsList } from './entry.ts'
import type { Element } from './element.ts'
import { type Format, formats } from './formats.ts'

/** The largest list has some 20,000 records and 30 MiB. Its names are held until they are written. */
const entriesMax = 200_000
const elementsMax = 20_000
const limits: Limits = { ...limitsDefault, bytesMax: 512 * 1024 * 1024 }

type Reading = {
  format: Format | undefined
  rootAttributes: ReadonlyMap<string, string>
  depth: number
  elements: number
  /** The elements that are open within a record, the record first. Empty: none is open. */
  readonly open: Element[]
  readonly beside: Element[]
  readonly entries: Map<string, ListEntry>
}

const noAttributes: ReadonlyMap<string, string> = new Map()

/** Refuses: every file that is no whole list, by a `MessageProblem`. */
export async function readSanctionsList(source: Source): Promise<SanctionsList> {
  const hash = createHash('sha256')
  const reading: Reading = {
    format: undefined,
    rootAttributes: noAttributes,
    depth: 0,
    elements: 0,
    open: [],
    beside: [],
    entries: new Map(),
  }
  const scanner = createScanner(
    {
      open: (tag, line) => opened(reading, tag, line),
      text: (text) => {
        const element = reading.open.at(-1)
        if (element) element.text += text
      },
      close: () => closed(reading, scanner.where().line),
    },
    limits,
  )
  async function* hashed(): Source {
    for await (const bytes of source) {
      hash.update(bytes)
      yield bytes
    }
  }
  for await (const text of decoded(hashed(), limits, scanner.where)) scanner.write(text)
  scanner.end()
  return finished(reading, scanner.where().line, hash.digest('hex'))
}

function refuse(message: string, line: number, path = '', code: MessageProblem['code'] = 'not_in_schema'): never {
  throw new MessageProblem(code, message, { path, line })
}

function opened(reading: Reading, tag: Tag, line: number): void {
  reading.depth += 1
  const { format, open, depth } = reading
  if (format === undefined) {
    reading.format = formats.find(({ root }) => root === tag.local)
    reading.rootAttributes = tag.attributes ?? noAttributes
    if (reading.format === undefined)
      refuse(`the file is none of ${formats.map(({ root }) => root).join(', ')}`, line, tag.local, 'unknown_message')
    return
  }
  const parent = open.at(-1)
  if (parent === undefined) {
    const hasGroups = format.groups.length > 0
    if (hasGroups && depth === 2) {
      if (!format.groups.includes(tag.local)) refuse(`${tag.local} is no part of this list`, line, tag.local)
      return
    }
    if (!Object.hasOwn(format.records, tag.local) && !format.beside.includes(tag.local))
      refuse(`${tag.local} is no record of this list`, line, tag.local)
    reading.elements = 0
  }
  reading.elements += 1
  if (reading.elements > elementsMax)
    refuse(`a record has more than ${elementsMax} elements`, line, tag.local, 'too_large')
  const element: Element = { name: tag.local, attributes: tag.attributes ?? noAttributes, children: [], text: '' }
  parent?.children.push(element)
  open.push(element)
}

function closed(reading: Reading, line: number): void {
  reading.depth -= 1
  const { format, open, entries } = reading
  const element = open.pop()
  if (element === undefined || open.length > 0 || format === undefined) return
  const read = Object.hasOwn(format.records, element.name) ? format.records[element.name] : undefined
  if (read === undefined) {
    reading.beside.push(element)
    return
  }
  const entry = read(element)
  if (entry.id === '') refuse('a record has no key', line, element.name)
  if (entry.names.length === 0) refuse(`the record ${entry.id} has no name`, line, element.name)
  if (entries.has(entry.id)) refuse(`the record ${entry.id} stands in the list twice`, line, element.name)
  if (entries.size >= entriesMax) refuse(`more than ${entriesMax} records`, line, element.name, 'too_large')
  entries.set(entry.id, entry)
}

function finished(reading: Reading, line: number, hash: string): SanctionsList {
  const { format, rootAttributes, beside, entries } = reading
  if (format === undefined) refuse('the file has no list', line)
  const publishedAt = format.publishedAt(rootAttributes, beside)
  if (publishedAt === undefined) refuse('the list does not say when it was published', line, format.root)
  const count = format.countOf(beside)
  if (count !== undefined && count !== entries.size)
    refuse(`the list says ${count} records and has ${entries.size}`, line, format.root, 'not_whole')
  if (entries.size === 0) refuse('the list has no records', line, format.root)
  return { source: format.source, publishedAt, hash, entries: [...entries.values()] }
}
