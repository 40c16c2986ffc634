/**
 * The three formats: UN consolidated list, EU consolidated list (FSD 1.1) and OFAC SDN.XML. Each says where its records stand and
 * what they mean. An element that is not known where records stand is refused: a record is never left out.
 */
import type { ListEntry, ListedName, ListSource } from './entry.ts'
import { attributeOf, childrenOf, type Element, joined, present, textOf } from './element.ts'

type ReadRecord = (record: Element) => ListEntry

export type Format = {
  readonly source: ListSource
  /** The element of the document. */
  readonly root: string
  /** Elements between the document and its records. */
  readonly groups: readonly string[]
  readonly records: Readonly<Record<string, ReadRecord>>
  /** Elements beside the records which are not entries; the head may have the time of publication. */
  readonly beside: readonly string[]
  /** When the list was published, by the attributes of the root and by what stands beside the records. Undefined: not said. */
  readonly publishedAt: (root: ReadonlyMap<string, string>, beside: readonly Element[]) => Date | undefined
  /** How many records the list says that it has. */
  readonly countOf: (beside: readonly Element[]) => number | undefined
}

const isoTime = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/

/** A time without a zone is UTC. */
function readIsoTime(text: string): Date | undefined {
  const [, day, time = '00:00:00', zone = 'Z'] = isoTime.exec(text.trim()) ?? []
  const read = new Date(`${day}T${time}${zone}`)
  return day === undefined || Number.isNaN(read.getTime()) ? undefined : read
}

/** `12/31/2026`. */
function readAmericanDay(text: string): Date | undefined {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text.trim()) ?? []
  return year === undefined ? undefined : readIsoTime(`${year}-${month}-${day}`)
}

/** The first name that is not weak is the primary one. A name that is said twice counts once, by its better quality. */
function namesOf(found: readonly { readonly text: string; readonly isWeak: boolean }[]): readonly ListedName[] {
  const strong = present(found.filter(({ isWeak }) => !isWeak).map(({ text }) => text))
  const weak = present(found.filter(({ isWeak }) => isWeak).map(({ text }) => text))
  return [
    ...strong.map((text, index): ListedName => ({ text, quality: index === 0 ? 'primary' : 'good' })),
    ...weak.filter((text) => !strong.includes(text)).map((text): ListedName => ({ text, quality: 'weak' })),
  ]
}

const unParts = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']

const readUn =
  (kind: 'person' | 'organisation'): ReadRecord =>
  (record) => {
    const prefix = kind === 'person' ? 'INDIVIDUAL' : 'ENTITY'
    const aliases = childrenOf(record, `${prefix}_ALIAS`).flatMap((alias) =>
      textOf(alias, 'ALIAS_NAME')
        .split(';')
        .map((text) => ({ text: joined(text), isWeak: /^low$/i.test(textOf(alias, 'QUALITY')) })),
    )
    const births = childrenOf(record, `${prefix}_DATE_OF_BIRTH`).map(
      (birth) => textOf(birth, 'DATE') || textOf(birth, 'YEAR'),
    )
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
      births: present(births),
      programmes: present([textOf(record, 'UN_LIST_TYPE')]),
    }
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
    births: present(
      childrenOf(record, 'birthdate').map((birth) => attributeOf(birth, 'birthdate') || attributeOf(birth, 'year')),
    ),
    programmes: present(childrenOf(record, 'regulation').map((one) => attributeOf(one, 'programme'))),
  }
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
    births: present(
      listedIn(record, 'dateOfBirthList', 'dateOfBirthItem').map((birth) => textOf(birth, 'dateOfBirth')),
    ),
    programmes: present(
      childrenOf(record, 'programList').flatMap((list) => childrenOf(list, 'program').map(({ text }) => text.trim())),
    ),
  }
}

const noCount = () => undefined

const ofacHead = (beside: readonly Element[], name: string): string => {
  const [head] = beside
  return head === undefined ? '' : textOf(head, name)
}

export const formats: readonly Format[] = [
  {
    source: 'un',
    root: 'CONSOLIDATED_LIST',
    groups: ['INDIVIDUALS', 'ENTITIES'],
    records: { INDIVIDUAL: readUn('person'), ENTITY: readUn('organisation') },
    beside: [],
    publishedAt: (root) => readIsoTime(root.get('dateGenerated') ?? ''),
    countOf: noCount,
  },
  {
    source: 'eu',
    root: 'export',
    groups: [],
    records: { sanctionEntity: readEu },
    beside: [],
    publishedAt: (root) => readIsoTime(root.get('generationDate') ?? ''),
    countOf: noCount,
  },
  {
    source: 'ofac',
    root: 'sdnList',
    groups: [],
    records: { sdnEntry: readOfac },
    // The name is misspelt in OFAC's schema.
    beside: ['publshInformation'],
    publishedAt: (_root, beside) => readAmericanDay(ofacHead(beside, 'Publish_Date')),
    countOf: (beside) => {
      const text = ofacHead(beside, 'Record_Count')
      return /^\d+$/.test(text) ? Number(text) : undefined
    },
  },
]
