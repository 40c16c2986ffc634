/**
 * Reads the file of a list as a stream, with the scanner of ISO 20022: without document types and entities, and with limits. Refuses
 * an incomplete list: a cut file, a record without a name or key, a duplicate key, or a number of records that differs from the
 * stated one.
 */
import { createHash } from 'node:crypto'
import {
  createScanner,
  decodeMessage,
  type MessageLimits,
  limitsDefault,
  MessageProblem,
  type MessageSource,
  type XmlTag,
} from '../../iso20022/index.ts'
import {
  readAttribute,
  childElements,
  craftField,
  type Element,
  entryFacts,
  type ListFileReader,
  type Format,
  isDocumentType,
  isWalletType,
  joinParts,
  type ListEntry,
  listedNames,
  readOfacBirthCountry,
  distinctTexts,
  readAmericanDay,
  readIsoTime,
  type SanctionsList,
  childText,
  walletField,
} from './entry.ts'
import { ofacAdvanced } from './ofac-advanced.ts'

/** The largest list has some 20,000 records and 120 MiB. Its names stay in memory until they are written. */
const entriesMax = 200_000
const elementsMax = 20_000
const limits: MessageLimits = { ...limitsDefault, bytesMax: 512 * 1024 * 1024 }

type ReadState = {
  /** Undefined: before the root element. */
  file: { readonly format: Format; readonly reader: ListFileReader; readonly groups: ReadonlySet<string> } | undefined
  /** The group of the current records, with a slash. Empty outside of groups. */
  group: string
  depth: number
  elements: number
  /** The open elements of the current record, the record first. Empty: no record is open. */
  readonly open: Element[]
  readonly entries: Map<string, ListEntry>
}

const noAttributes: ReadonlyMap<string, string> = new Map()

/** Reads a list. Throws a `MessageProblem` if the file is not a complete list. */
export async function readSanctionsList(source: MessageSource): Promise<SanctionsList> {
  const hash = createHash('sha256')
  const reading: ReadState = {
    file: undefined,
    group: '',
    depth: 0,
    elements: 0,
    open: [],
    entries: new Map(),
  }
  const scanner = createScanner(
    {
      open: (tag) => openElement(reading, tag, () => scanner.where().line),
      text: (text) => {
        const element = reading.open.at(-1)
        if (element) element.text += text
      },
      close: () => closeElement(reading, scanner.where().line),
    },
    limits,
  )
  async function* hashed(): MessageSource {
    for await (const bytes of source) {
      hash.update(bytes)
      yield bytes
    }
  }
  for await (const text of decodeMessage(hashed(), limits, scanner.where)) scanner.write(text)
  scanner.end()
  return finishList(reading, scanner.where().line, hash.digest('hex'))
}

function refuse(message: string, line: number, path = '', code: MessageProblem['code'] = 'not_in_schema'): never {
  throw new MessageProblem(code, message, { path, line })
}

type ReadPosition = () => number

function begin(tag: XmlTag, where: ReadPosition): NonNullable<ReadState['file']> {
  const format = formats.find(({ root }) => root === tag.local)
  if (format === undefined)
    refuse(`the file is none of ${formats.map(({ root }) => root).join(', ')}`, where(), tag.local, 'unknown_message')
  const reader = format.begin(tag.attributes ?? noAttributes, (message) => refuse(message, where(), tag.local))
  const paths = Object.keys(reader.records).filter((path) => path.includes('/'))
  return { format, reader, groups: new Set(paths.map((path) => path.slice(0, path.indexOf('/')))) }
}

/** Finds the reader of a record. Undefined: the element is unknown there. */
function findReader({ file, group }: ReadState, name: string): ListFileReader['records'][string] | undefined {
  const records = file?.reader.records ?? {}
  return [`${group}${name}`, `${group}*`].filter((path) => Object.hasOwn(records, path)).map((path) => records[path])[0]
}

function openElement(reading: ReadState, tag: XmlTag, where: ReadPosition): void {
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
    if (findReader(reading, tag.local) === undefined)
      refuse(`${tag.local} is not part of this list`, where(), tag.local)
    reading.elements = 0
  }
  reading.elements += 1
  if (reading.elements > elementsMax)
    refuse(`a record has more than ${elementsMax} elements`, where(), tag.local, 'too_large')
  const element: Element = { name: tag.local, attributes: tag.attributes ?? noAttributes, children: [], text: '' }
  parent?.children.push(element)
  open.push(element)
}

function closeElement(reading: ReadState, line: number): void {
  reading.depth -= 1
  if (reading.depth === 1 && reading.open.length === 0) reading.group = ''
  const { open, entries } = reading
  const element = open.pop()
  if (element === undefined || open.length > 0) return
  const entry = findReader(reading, element.name)?.(element)
  if (entry === undefined) return
  if (entry.id === '') refuse('a record has no key', line, element.name)
  if (entry.names.length === 0) refuse(`the record ${entry.id} has no name`, line, element.name)
  if (entries.has(entry.id)) refuse(`the record ${entry.id} stands in the list twice`, line, element.name)
  if (entries.size >= entriesMax) refuse(`more than ${entriesMax} records`, line, element.name, 'too_large')
  entries.set(entry.id, entry)
}

function finishList({ file, entries }: ReadState, line: number, hash: string): SanctionsList {
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

// The formats: UN consolidated list, EU consolidated list (FSD 1.1), and OFAC's SDN.XML and SDN_ADVANCED.XML. Each states
// where its records are and what they mean. Unknown elements among records are refused, so that a record is never left out.

const unParts = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']

const readUn =
  (kind: 'person' | 'organisation') =>
  (record: Element): ListEntry => {
    const prefix = kind === 'person' ? 'INDIVIDUAL' : 'ENTITY'
    const aliases = childElements(record, `${prefix}_ALIAS`).flatMap((alias) =>
      childText(alias, 'ALIAS_NAME')
        .split(';')
        .map((text) => ({ text: joinParts(text), isWeak: /^low$/i.test(childText(alias, 'QUALITY')) })),
    )
    const births = [
      ...childElements(record, `${prefix}_DATE_OF_BIRTH`).map(readUnBirth),
      ...childElements(record, `${prefix}_ALIAS`).map((alias) => childText(alias, 'DATE_OF_BIRTH')),
    ]
    const valuesOf = (name: string, ...parts: readonly string[]) =>
      childElements(record, `${prefix}_${name}`).map((each) => parts.map((part) => childText(each, part)))
    const id = childText(record, 'DATAID')
    return {
      id,
      reference: childText(record, 'REFERENCE_NUMBER') || id,
      kind,
      names: listedNames([
        { text: joinParts(...unParts.map((part) => childText(record, part))), isWeak: false },
        { text: joinParts(childText(record, 'NAME_ORIGINAL_SCRIPT')), isWeak: false },
        ...aliases,
      ]),
      births: distinctTexts(births),
      programmes: distinctTexts([childText(record, 'UN_LIST_TYPE')]),
      ...entryFacts({
        countries: [
          ...childElements(record, 'NATIONALITY').flatMap((each) =>
            childElements(each, 'VALUE').map(({ text }) => text),
          ),
          ...valuesOf('PLACE_OF_BIRTH', 'COUNTRY').flat(),
          ...valuesOf('ALIAS', 'COUNTRY_OF_BIRTH').flat(),
          ...valuesOf('ADDRESS', 'COUNTRY').flat(),
        ],
        documents: childElements(record, `${prefix}_DOCUMENT`).map((each) => ({
          type: childText(each, 'TYPE_OF_DOCUMENT') || childText(each, 'TYPE_OF_DOCUMENT2'),
          number: childText(each, 'NUMBER'),
          country: childText(each, 'ISSUING_COUNTRY') || childText(each, 'COUNTRY_OF_ISSUE'),
        })),
        addresses: valuesOf('ADDRESS', 'STREET', 'CITY', 'STATE_PROVINCE', 'ZIP_CODE', 'COUNTRY'),
      }),
    }
  }

/** Reads a date, a year or a period of years, with `circa` if it is approximate. Some births are in the note. */
function readUnBirth(birth: Element): string {
  const [from, to] = [childText(birth, 'FROM_YEAR'), childText(birth, 'TO_YEAR')]
  const period = from === '' || to === '' ? from || to : `${from} to ${to}`
  const text = childText(birth, 'DATE') || childText(birth, 'YEAR') || period || childText(birth, 'NOTE')
  return text !== '' && childText(birth, 'TYPE_OF_DATE') === 'APPROXIMATELY' ? `circa ${text}` : text
}

function readEu(record: Element): ListEntry {
  const [subject] = childElements(record, 'subjectType')
  const code = subject === undefined ? '' : readAttribute(subject, 'code')
  const id = readAttribute(record, 'logicalId')
  return {
    id,
    reference: readAttribute(record, 'euReferenceNumber') || id,
    kind: code === 'person' ? 'person' : 'organisation',
    names: listedNames(
      childElements(record, 'nameAlias').map((alias) => ({
        text:
          joinParts(readAttribute(alias, 'wholeName')) ||
          joinParts(...['firstName', 'middleName', 'lastName'].map((part) => readAttribute(alias, part))),
        isWeak: readAttribute(alias, 'strong') === 'false',
      })),
    ),
    births: distinctTexts(childElements(record, 'birthdate').map(readEuBirth)),
    programmes: distinctTexts(childElements(record, 'regulation').map((one) => readAttribute(one, 'programme'))),
    ...entryFacts({
      countries: ['citizenship', 'birthdate', 'address'].flatMap((name) => childElements(record, name).map(euCountry)),
      documents: childElements(record, 'identification').map((each) => ({
        type: readAttribute(each, 'identificationTypeDescription') || readAttribute(each, 'identificationTypeCode'),
        number: readAttribute(each, 'number'),
        country: euCountry(each),
      })),
      addresses: childElements(record, 'address').map((each) => [
        ...['street', 'poBox', 'zipCode', 'city', 'region', 'place'].map((part) => readAttribute(each, part)),
        euCountry(each),
      ]),
    }),
  }
}

/** Reads a country. The list writes 00 for an unknown country. */
const euCountry = (element: Element): string => {
  const code = readAttribute(element, 'countryIso2Code')
  return code === '00' ? '' : code
}

function readEuBirth(birth: Element): string {
  const [from, to] = [readAttribute(birth, 'yearRangeFrom'), readAttribute(birth, 'yearRangeTo')]
  const period = from === '' || to === '' ? from || to : `${from} to ${to}`
  const text = readAttribute(birth, 'birthdate') || readAttribute(birth, 'year') || period
  return text !== '' && readAttribute(birth, 'circa') === 'true' ? `circa ${text}` : text
}

const ofacKinds: Readonly<Record<string, ListEntry['kind']>> = { Individual: 'person', Entity: 'organisation' }

const listItems = (record: Element, list: string, item: string): readonly Element[] =>
  childElements(record, list).flatMap((each) => childElements(each, item))

function readOfac(record: Element): ListEntry {
  const nameIn = (element: Element) => joinParts(childText(element, 'firstName'), childText(element, 'lastName'))
  const id = childText(record, 'uid')
  const aliases = listItems(record, 'akaList', 'aka').map((aka) => ({
    text: nameIn(aka),
    isWeak: childText(aka, 'category') === 'weak',
  }))
  return {
    id,
    reference: id,
    kind: ofacKinds[childText(record, 'sdnType')] ?? 'other',
    names: listedNames([{ text: nameIn(record), isWeak: false }, ...aliases]),
    births: distinctTexts(
      listItems(record, 'dateOfBirthList', 'dateOfBirthItem').map((birth) => childText(birth, 'dateOfBirth')),
    ),
    programmes: distinctTexts(
      childElements(record, 'programList').flatMap((list) =>
        childElements(list, 'program').map(({ text }) => text.trim()),
      ),
    ),
    ...walletField(
      listItems(record, 'idList', 'id')
        .filter((each) => isWalletType(childText(each, 'idType')))
        .map((each) => childText(each, 'idNumber')),
    ),
    ...craftField(
      childText(record, 'sdnType'),
      listItems(record, 'idList', 'id').map((each) => childText(each, 'idNumber')),
    ),
    ...entryFacts({
      countries: [
        ...listItems(record, 'nationalityList', 'nationality').map((each) => childText(each, 'country')),
        ...listItems(record, 'citizenshipList', 'citizenship').map((each) => childText(each, 'country')),
        ...listItems(record, 'placeOfBirthList', 'placeOfBirthItem').map((each) =>
          readOfacBirthCountry(childText(each, 'placeOfBirth')),
        ),
        ...listItems(record, 'addressList', 'address').map((each) => childText(each, 'country')),
      ],
      documents: listItems(record, 'idList', 'id')
        .filter((each) => isDocumentType(childText(each, 'idType')))
        .map((each) => ({
          type: childText(each, 'idType'),
          number: childText(each, 'idNumber'),
          country: childText(each, 'idCountry'),
        })),
      addresses: listItems(record, 'addressList', 'address').map((each) =>
        ['address1', 'address2', 'address3', 'city', 'stateOrProvince', 'postalCode', 'country'].map((part) =>
          childText(each, part),
        ),
      ),
    }),
  }
}

const notStated = () => undefined
const unchanged = (entries: readonly ListEntry[]) => entries

const un: Format = {
  source: 'un',
  root: 'CONSOLIDATED_LIST',
  begin: (root) => ({
    records: { 'INDIVIDUALS/INDIVIDUAL': readUn('person'), 'ENTITIES/ENTITY': readUn('organisation') },
    publishedAt: () => readIsoTime(root.get('dateGenerated') ?? ''),
    count: notStated,
    whole: unchanged,
  }),
}

const eu: Format = {
  source: 'eu',
  root: 'export',
  begin: (root) => ({
    records: { sanctionEntity: readEu },
    publishedAt: () => readIsoTime(root.get('generationDate') ?? ''),
    count: notStated,
    whole: unchanged,
  }),
}

const ofac: Format = {
  source: 'ofac',
  root: 'sdnList',
  begin: () => {
    let head: Element | undefined
    const headText = (name: string) => (head === undefined ? '' : childText(head, name))
    return {
      records: {
        // OFAC's schema misspells this name.
        publshInformation: (record) => {
          head = record
          return undefined
        },
        sdnEntry: readOfac,
      },
      publishedAt: () => readAmericanDay(headText('Publish_Date')),
      count: () => (/^\d+$/.test(headText('Record_Count')) ? Number(headText('Record_Count')) : undefined),
      whole: unchanged,
    }
  },
}

const formats: readonly Format[] = [un, eu, ofac, ofacAdvanced]
