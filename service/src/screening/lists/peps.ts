/**
 * Reads lists of politically exposed persons in the format of OpenSanctions (`targets.simple.csv`): one record for each person, with several
 * values separated by semicolons. A file does not state the number of records, so a cut between two records is not detected here.
 */
import { createHash } from 'node:crypto'
import {
  decodeMessage,
  type MessageLimits,
  limitsDefault,
  MessageProblem,
  type MessageSource,
} from '../../iso20022/index.ts'
import {
  type EntryKind,
  entryFacts,
  joinParts,
  type ListEntry,
  listedNames,
  type PepSource,
  distinctTexts,
  readIsoTime,
  type Refuse,
  type SanctionsList,
} from './entry.ts'

/**
 * Maximum number of entries, because each process keeps the names in memory. The collection of all countries is larger:
 * load only those of your countries.
 */
const entriesMax = 200_000
const limits: MessageLimits = { ...limitsDefault, bytesMax: 512 * 1024 * 1024 }

const columns = ['id', 'schema', 'name', 'aliases', 'birth_date', 'countries', 'dataset', 'last_seen'] as const
type Column = (typeof columns)[number]
type CsvRecord = Readonly<Record<Column, string>>

const kinds: Readonly<Record<string, EntryKind>> = {
  Person: 'person',
  Organization: 'organisation',
  Company: 'organisation',
  LegalEntity: 'organisation',
  PublicBody: 'organisation',
}

const splitValues = (text: string): readonly string[] => text.split(';').map((part) => joinParts(part))

/**
 * Reports whether a name is weak: a single word such as `Saud` does not identify a person, except in Chinese, Japanese and Korean, where
 * names do not have spaces.
 */
const isWeak = (text: string): boolean =>
  !/[\s,]/.test(text) && !/[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)

const toEntry = ({ id, schema, name, aliases, birth_date: births, countries, dataset }: CsvRecord): ListEntry => ({
  id,
  reference: id,
  kind: kinds[schema] ?? 'other',
  names: listedNames(
    [name, ...aliases.split(';')]
      .map((text) => joinParts(text))
      .filter((text) => text !== '')
      .map((text) => ({ text, isWeak: isWeak(text) })),
  ),
  births: distinctTexts(splitValues(births)),
  programmes: distinctTexts([
    ...splitValues(dataset),
    ...splitValues(countries).map((country) => country.toUpperCase()),
  ]),
  ...entryFacts({
    countries: splitValues(countries).map((country) => country.toUpperCase()),
    documents: [],
    addresses: [],
  }),
})

/** Reads a list. Throws a `MessageProblem` if the file is cut within a record, lacks a column, has a record without key or name, or is empty. */
export async function readPepList(source: MessageSource, list: PepSource): Promise<SanctionsList> {
  const hash = createHash('sha256')
  const entries = new Map<string, ListEntry>()
  let places: ReadonlyMap<Column, number> | undefined
  let width = 0
  let publishedAt: Date | undefined
  const refuse = (message: string, code: MessageProblem['code'] = 'not_in_schema'): never => {
    throw new MessageProblem(code, message, { path: '', line: reader.line() })
  }
  const take = (fields: readonly string[]): void => {
    if (places === undefined) {
      places = columnPlaces(fields, refuse)
      width = fields.length
      return
    }
    if (fields.length !== width) refuse(`a record has ${fields.length} fields, and the first line ${width}`)
    const row = toRecord(fields, places)
    if (row.id === '') refuse('a record has no key')
    if (entries.has(row.id)) refuse(`the record ${row.id} stands in the list twice`)
    if (entries.size >= entriesMax) refuse(`more than ${entriesMax} records`, 'too_large')
    const entry = toEntry(row)
    if (entry.names.length === 0) refuse(`the record ${row.id} has no name`)
    const seenAt = readIsoTime(row.last_seen.replace(' ', 'T')) ?? refuse(`last_seen is "${row.last_seen}"`)
    if (publishedAt === undefined || seenAt > publishedAt) publishedAt = seenAt
    entries.set(row.id, entry)
  }
  const reader = createCsvReader(take, refuse, (message) => refuse(message, 'not_whole'))
  async function* hashed(): MessageSource {
    for await (const bytes of source) {
      hash.update(bytes)
      yield bytes
    }
  }
  for await (const text of decodeMessage(hashed(), limits, () => ({ path: '', line: reader.line() })))
    reader.write(text)
  reader.end()
  if (publishedAt === undefined) return refuse('the list has no records')
  return { source: list, publishedAt, hash: hash.digest('hex'), entries: [...entries.values()] }
}

function columnPlaces(fields: readonly string[], refuse: (message: string) => never): ReadonlyMap<Column, number> {
  const missing = columns.filter((column) => !fields.includes(column))
  if (missing.length > 0)
    refuse(`the first line has no column ${missing.join(', ')}: use targets.simple.csv of OpenSanctions`)
  return new Map(columns.map((column) => [column, fields.indexOf(column)]))
}

const toRecord = (fields: readonly string[], places: ReadonlyMap<Column, number>): CsvRecord =>
  Object.fromEntries(columns.map((column) => [column, fields[places.get(column) ?? -1]?.trim() ?? ''])) as CsvRecord

// CSV (RFC 4180) as a stream: quoted fields may contain commas, doubled quotes and line ends.

/** Maximum length of a record. The longest ones have some hundred spellings of a name. */
const recordCharsMax = 1_000_000

type CsvReader = {
  readonly write: (text: string) => void
  /** Ends the file. Refuses (`cut`) a file that ends within a record, because each record must end with a line end. */
  readonly end: () => void
  /** Returns the current line. Lines count from 1. */
  readonly line: () => number
}

/** Creates a reader that passes each record to `take` and skips empty lines. `refuse`: the format is wrong. `cut`: the file ends too early. */
function createCsvReader(take: (fields: readonly string[]) => void, refuse: Refuse, cut: Refuse): CsvReader {
  let line = 1
  let fields: string[] = []
  let field = ''
  let chars = 0
  /** `closed`: after a quote within a quoted field. The quote either ends the field or is doubled. */
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  const endField = () => {
    fields.push(field)
    field = ''
    state = 'start'
  }
  const endRecord = () => {
    const isEmpty = fields.length === 0 && field === '' && state === 'start'
    endField()
    const record = fields
    fields = []
    chars = 0
    if (!isEmpty) take(record)
  }
  const plain = (character: string) => {
    if (character === ',') endField()
    else if (character === '\n') endRecord()
    // A line end may consist of two characters.
    else if (character === '\r') return
    else if (state === 'closed') refuse('a quote stands within a field')
    else if (character === '"' && state === 'start') state = 'quoted'
    else {
      field += character
      state = 'plain'
    }
  }
  return {
    write: (text) => {
      for (const character of text) {
        chars += 1
        if (chars > recordCharsMax) refuse(`a record has more than ${recordCharsMax} characters`)
        if (state === 'quoted' && character === '"') state = 'closed'
        else if (state === 'quoted') field += character
        else if (state === 'closed' && character === '"') {
          field += character
          state = 'quoted'
        } else plain(character)
        if (character === '\n') line += 1
      }
    },
    end: () => {
      if (fields.length > 0 || field !== '' || state !== 'start') cut('the last record is cut')
    },
    line: () => line,
  }
}
