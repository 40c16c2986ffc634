/**
 * The formats: UN consolidated list, EU consolidated list (FSD 1.1), and OFAC's SDN.XML and SDN_ADVANCED.XML. Each says
 * where its records are and what they mean. An unknown element among records is refused: a record is never left out.
 */
import {
  craftOf,
  factsOf,
  isDocumentType,
  isWalletType,
  type ListEntry,
  namesOf,
  ofacPlace,
  walletsOf,
} from './entry.ts'
import { attributeOf, childrenOf, type Element, joined, present, textOf } from './element.ts'
import type { Format } from './format.ts'
import { ofacAdvanced } from './ofac-advanced.ts'
import { readAmericanDay, readIsoTime } from './times.ts'

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
      births: present(births),
      programmes: present([textOf(record, 'UN_LIST_TYPE')]),
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
    births: present(childrenOf(record, 'birthdate').map(readEuBirth)),
    programmes: present(childrenOf(record, 'regulation').map((one) => attributeOf(one, 'programme'))),
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
    births: present(
      listedIn(record, 'dateOfBirthList', 'dateOfBirthItem').map((birth) => textOf(birth, 'dateOfBirth')),
    ),
    programmes: present(
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

export const formats: readonly Format[] = [un, eu, ofac, ofacAdvanced]
