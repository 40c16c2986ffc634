/**
 * Reads the file of a list as a stream, with the scanner of ISO 20022: no document type, no entities, and limits. The
 * list is complete or refused: a cut file, a record without a name or key, a duplicate key, or a number of records that
 * differs from the stated one.
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
import type { FileReader, Format } from './format.ts'
import { formats } from './formats.ts'

/** The largest list has some 20,000 records and 120 MiB. Its names are in memory until they are written. */
const entriesMax = 200_000
const elementsMax = 20_000
const limits: Limits = { ...limitsDefault, bytesMax: 512 * 1024 * 1024 }

type Reading = {
  /** Undefined: before the element of the document. */
  file: { readonly format: Format; readonly reader: FileReader; readonly groups: ReadonlySet<string> } | undefined
  /** The group whose records are read now, with a slash; empty outside the groups. */
  group: string
  depth: number
  elements: number
  /** The elements that are open within a record, the record first. Empty: none is open. */
  readonly open: Element[]
  readonly entries: Map<string, ListEntry>
}

const noAttributes: ReadonlyMap<string, string> = new Map()

/** Refuses, by a `MessageProblem`, every file that is not a complete list. */
export async function readSanctionsList(source: Source): Promise<SanctionsList> {
  const hash = createHash('sha256')
  const reading: Reading = {
    file: undefined,
    group: '',
    depth: 0,
    elements: 0,
    open: [],
    entries: new Map(),
  }
  const scanner = createScanner(
    {
      open: (tag) => opened(reading, tag, () => scanner.where().line),
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

type Where = () => number

function begin(tag: Tag, where: Where): NonNullable<Reading['file']> {
  const format = formats.find(({ root }) => root === tag.local)
  if (format === undefined)
    refuse(`the file is none of ${formats.map(({ root }) => root).join(', ')}`, where(), tag.local, 'unknown_message')
  const reader = format.begin(tag.attributes ?? noAttributes, (message) => refuse(message, where(), tag.local))
  const paths = Object.keys(reader.records).filter((path) => path.includes('/'))
  return { format, reader, groups: new Set(paths.map((path) => path.slice(0, path.indexOf('/')))) }
}

/** Finds the reader of an element among the records. Undefined: the element is not known there. */
function readerOf({ file, group }: Reading, name: string): FileReader['records'][string] | undefined {
  const records = file?.reader.records ?? {}
  return [`${group}${name}`, `${group}*`].filter((path) => Object.hasOwn(records, path)).map((path) => records[path])[0]
}

function opened(reading: Reading, tag: Tag, where: Where): void {
  reading.depth += 1
  const { file, open, depth } = reading
  if (file === undefined) {
    reading.file = begin(tag, where)
    return
  }
  const parent = open.at(-1)
  if (parent === undefined) {
    if (depth === 2 && file.groups.has(tag.local)) {
      reading.group = `${tag.local}/`
      return
    }
    if (readerOf(reading, tag.local) === undefined) refuse(`${tag.local} is not part of this list`, where(), tag.local)
    reading.elements = 0
  }
  reading.elements += 1
  if (reading.elements > elementsMax)
    refuse(`a record has more than ${elementsMax} elements`, where(), tag.local, 'too_large')
  const element: Element = { name: tag.local, attributes: tag.attributes ?? noAttributes, children: [], text: '' }
  parent?.children.push(element)
  open.push(element)
}

function closed(reading: Reading, line: number): void {
  reading.depth -= 1
  if (reading.depth === 1 && reading.open.length === 0) reading.group = ''
  const { open, entries } = reading
  const element = open.pop()
  if (element === undefined || open.length > 0) return
  const entry = readerOf(reading, element.name)?.(element)
  if (entry === undefined) return
  if (entry.id === '') refuse('a record has no key', line, element.name)
  if (entry.names.length === 0) refuse(`the record ${entry.id} has no name`, line, element.name)
  if (entries.has(entry.id)) refuse(`the record ${entry.id} stands in the list twice`, line, element.name)
  if (entries.size >= entriesMax) refuse(`more than ${entriesMax} records`, line, element.name, 'too_large')
  entries.set(entry.id, entry)
}

function finished({ file, entries }: Reading, line: number, hash: string): SanctionsList {
  if (file === undefined) refuse('the file has no list', line)
  const { format, reader } = file
  const publishedAt = reader.publishedAt()
  if (publishedAt === undefined) refuse('the list does not say when it was published', line, format.root)
  const count = reader.count()
  if (count !== undefined && count !== entries.size)
    refuse(`the list says ${count} records and has ${entries.size}`, line, format.root, 'not_whole')
  if (entries.size === 0) refuse('the list has no records', line, format.root)
  return { source: format.source, publishedAt, hash, entries: reader.whole([...entries.values()]) }
}
