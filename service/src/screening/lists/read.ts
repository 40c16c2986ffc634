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
import {
  attributeOf,
  childrenOf,
  craftOf,
  type Element,
  factsOf,
  type FileReader,
  type Format,
  isDocumentType,
  isWalletType,
  joined,
  type ListEntry,
  namesOf,
  ofacPlace,
  distinctTexts,
  readAmericanDay,
  readIsoTime,
  type SanctionsList,
  textOf,
  walletsOf,
} from './entry.ts'
import { ofacAdvanced } from './ofac-advanced.ts'

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

// The formats: UN consolidated list, EU consolidated list (FSD 1.1), and OFAC's SDN.XML and SDN_ADVANCED.XML. Each says
// where its records are and what they mean. An unknown element among records is refused: a record is never left out.

const unParts = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']

const readUn =
  (kind: 'person' | 'organisation') =>
  (record: Element): ListEntry => {
    const prefix = kind === 'person' ? 'INDIVIDUAL' : 'ENTITY'
    const aliases = childrenOf(record, `${prefix}_ALIAS`).flatMap((alias) =>
      textOf(alias, 'ALIAS_NAME')
        .split(';')
        .map((text) => ({ text: joined(text), isWeak: /^low$/i.test(textOf(alias, 'QUALITY')) })),
    )
    const births = [
      ...childrenOf(record, `${prefix}_DATE_OF_BIRTH`).map(readUnBirth),
      ...childrenOf(record, `${prefix}_ALIAS`).map((alias) => textOf(alias, 'DATE_OF_BIRTH')),
    ]
    const valuesOf = (name: string, ...parts: readonly string[]) =>
      childrenOf(record, `${prefix}_${name}`).map((each) => parts.map((part) => textOf(each, part)))
    const id = textOf(record, 'DATAID')
    return {
      id,
      reference: textOf(record, 'REFERENCE_NUMBER') || id,
      kind,
      names: namesOf([
        { text: joined(...unParts.map((part) => textOf(record, part))), isWeak: false },
        { text: joined(textOf(record, 'NAME_ORIGINAL_SCRIPT')), isWeak: false },
        ...aliases,
      ]),
      births: distinctTexts(births),
      programmes: distinctTexts([textOf(record, 'UN_LIST_TYPE')]),
      ...factsOf({
        countries: [
          ...childrenOf(record, 'NATIONALITY').flatMap((each) => childrenOf(each, 'VALUE').map(({ text }) => text)),
          ...valuesOf('PLACE_OF_BIRTH', 'COUNTRY').flat(),
          ...valuesOf('ALIAS', 'COUNTRY_OF_BIRTH').flat(),
          ...valuesOf('ADDRESS', 'COUNTRY').flat(),
        ],
        documents: childrenOf(record, `${prefix}_DOCUMENT`).map((each) => ({
          type: textOf(each, 'TYPE_OF_DOCUMENT') || textOf(each, 'TYPE_OF_DOCUMENT2'),
          number: textOf(each, 'NUMBER'),
          country: textOf(each, 'ISSUING_COUNTRY') || textOf(each, 'COUNTRY_OF_ISSUE'),
        })),
        addresses: valuesOf('ADDRESS', 'STREET', 'CITY', 'STATE_PROVINCE', 'ZIP_CODE', 'COUNTRY'),
      }),
    }
  }

/** A date, a year, or a period of years; `circa` if the list says that it is approximate. Some stand in the note. */
function readUnBirth(birth: Element): string {
  const [from, to] = [textOf(birth, 'FROM_YEAR'), textOf(birth, 'TO_YEAR')]
  const period = from === '' || to === '' ? from || to : `${from} to ${to}`
  const text = textOf(birth, 'DATE') || textOf(birth, 'YEAR') || period || textOf(birth, 'NOTE')
  return text !== '' && textOf(birth, 'TYPE_OF_DATE') === 'APPROXIMATELY' ? `circa ${text}` : text
}

function readEu(record: Element): ListEntry {
  const [subject] = childrenOf(record, 'subjectType')
  const code = subject === undefined ? '' : attributeOf(subject, 'code')
  const id = attributeOf(record, 'logicalId')
  return {
    id,
    reference: attributeOf(record, 'euReferenceNumber') || id,
    kind: code === 'person' ? 'person' : 'organisation',
    names: namesOf(
      childrenOf(record, 'nameAlias').map((alias) => ({
        text:
          joined(attributeOf(alias, 'wholeName')) ||
          joined(...['firstName', 'middleName', 'lastName'].map((part) => attributeOf(alias, part))),
        isWeak: attributeOf(alias, 'strong') === 'false',
      })),
    ),
    births: distinctTexts(childrenOf(record, 'birthdate').map(readEuBirth)),
    programmes: distinctTexts(childrenOf(record, 'regulation').map((one) => attributeOf(one, 'programme'))),
    ...factsOf({
      countries: ['citizenship', 'birthdate', 'address'].flatMap((name) => childrenOf(record, name).map(euCountry)),
      documents: childrenOf(record, 'identification').map((each) => ({
        type: attributeOf(each, 'identificationTypeDescription') || attributeOf(each, 'identificationTypeCode'),
        number: attributeOf(each, 'number'),
        country: euCountry(each),
      })),
      addresses: childrenOf(record, 'address').map((each) => [
        ...['street', 'poBox', 'zipCode', 'city', 'region', 'place'].map((part) => attributeOf(each, part)),
        euCountry(each),
      ]),
    }),
  }
}

/** The list writes 00 for a country that is not known. */
const euCountry = (element: Element): string => {
  const code = attributeOf(element, 'countryIso2Code')
  return code === '00' ? '' : code
}

function readEuBirth(birth: Element): string {
  const [from, to] = [attributeOf(birth, 'yearRangeFrom'), attributeOf(birth, 'yearRangeTo')]
  const period = from === '' || to === '' ? from || to : `${from} to ${to}`
  const text = attributeOf(birth, 'birthdate') || attributeOf(birth, 'year') || period
  return text !== '' && attributeOf(birth, 'circa') === 'true' ? `circa ${text}` : text
}

const ofacKinds: Readonly<Record<string, ListEntry['kind']>> = { Individual: 'person', Entity: 'organisation' }

const listedIn = (record: Element, list: string, item: string): readonly Element[] =>
  childrenOf(record, list).flatMap((each) => childrenOf(each, item))

function readOfac(record: Element): ListEntry {
  const nameIn = (element: Element) => joined(textOf(element, 'firstName'), textOf(element, 'lastName'))
  const id = textOf(record, 'uid')
  const aliases = listedIn(record, 'akaList', 'aka').map((aka) => ({
    text: nameIn(aka),
    isWeak: textOf(aka, 'category') === 'weak',
  }))
  return {
    id,
    reference: id,
    kind: ofacKinds[textOf(record, 'sdnType')] ?? 'other',
    names: namesOf([{ text: nameIn(record), isWeak: false }, ...aliases]),
    births: distinctTexts(
      listedIn(record, 'dateOfBirthList', 'dateOfBirthItem').map((birth) => textOf(birth, 'dateOfBirth')),
    ),
    programmes: distinctTexts(
      childrenOf(record, 'programList').flatMap((list) => childrenOf(list, 'program').map(({ text }) => text.trim())),
    ),
    ...walletsOf(
      listedIn(record, 'idList', 'id')
        .filter((each) => isWalletType(textOf(each, 'idType')))
        .map((each) => textOf(each, 'idNumber')),
    ),
    ...craftOf(
      textOf(record, 'sdnType'),
      listedIn(record, 'idList', 'id').map((each) => textOf(each, 'idNumber')),
    ),
    ...factsOf({
      countries: [
        ...listedIn(record, 'nationalityList', 'nationality').map((each) => textOf(each, 'country')),
        ...listedIn(record, 'citizenshipList', 'citizenship').map((each) => textOf(each, 'country')),
        ...listedIn(record, 'placeOfBirthList', 'placeOfBirthItem').map((each) =>
          ofacPlace(textOf(each, 'placeOfBirth')),
        ),
        ...listedIn(record, 'addressList', 'address').map((each) => textOf(each, 'country')),
      ],
      documents: listedIn(record, 'idList', 'id')
        .filter((each) => isDocumentType(textOf(each, 'idType')))
        .map((each) => ({
          type: textOf(each, 'idType'),
          number: textOf(each, 'idNumber'),
          country: textOf(each, 'idCountry'),
        })),
      addresses: listedIn(record, 'addressList', 'address').map((each) =>
        ['address1', 'address2', 'address3', 'city', 'stateOrProvince', 'postalCode', 'country'].map((part) =>
          textOf(each, part),
        ),
      ),
    }),
  }
}

const unsaid = () => undefined
const asRead = (entries: readonly ListEntry[]) => entries

const un: Format = {
  source: 'un',
  root: 'CONSOLIDATED_LIST',
  begin: (root) => ({
    records: { 'INDIVIDUALS/INDIVIDUAL': readUn('person'), 'ENTITIES/ENTITY': readUn('organisation') },
    publishedAt: () => readIsoTime(root.get('dateGenerated') ?? ''),
    count: unsaid,
    whole: asRead,
  }),
}

const eu: Format = {
  source: 'eu',
  root: 'export',
  begin: (root) => ({
    records: { sanctionEntity: readEu },
    publishedAt: () => readIsoTime(root.get('generationDate') ?? ''),
    count: unsaid,
    whole: asRead,
  }),
}

const ofac: Format = {
  source: 'ofac',
  root: 'sdnList',
  begin: () => {
    let head: Element | undefined
    const headText = (name: string) => (head === undefined ? '' : textOf(head, name))
    return {
      records: {
        // The name is misspelt in OFAC's schema.
        publshInformation: (record) => {
          head = record
          return undefined
        },
        sdnEntry: readOfac,
      },
      publishedAt: () => readAmericanDay(headText('Publish_Date')),
      count: () => (/^\d+$/.test(headText('Record_Count')) ? Number(headText('Record_Count')) : undefined),
      whole: asRead,
    }
  },
}

const formats: readonly Format[] = [un, eu, ofac, ofacAdvanced]
