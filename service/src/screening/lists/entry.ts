/** An entry of a list, independent of the published format, and the helpers of all readers. */
import countryCodes from 'i18n-iso-countries/index.js'

/** A list of politically exposed persons, with the name under which it was loaded. Its hits hold payments only if PEP_HITS says so. */
export type PepSource = `pep:${string}`
/** The source of a list. `countries`: the rules for countries, which staff maintain. */
export type ListSource = 'un' | 'eu' | 'ofac' | 'countries' | PepSource
const nameForm = /^[a-z0-9][a-z0-9_-]{0,39}$/
/** Returns the source of a list with this name. Undefined: the text is not a valid name. */
export const pepSource = (name: string): PepSource | undefined => (nameForm.test(name) ? `pep:${name}` : undefined)
export const isPepSource = (source: string): boolean => source.startsWith('pep:')

/** `other`: vessels and aircraft, for which the texts of payments are searched (vessels.ts). Names are not compared with `other` and `country`. */
export type EntryKind = 'person' | 'organisation' | 'other' | 'country'

/** A vessel or an aircraft. `imoNumbers`: seven digits each, with a valid check digit. */
export type Craft = { readonly kind: 'vessel' | 'aircraft'; readonly imoNumbers: readonly string[] }

/** `weak`: according to the publisher, the name alone does not identify anybody. */
export type ListedName = { readonly text: string; readonly quality: 'primary' | 'good' | 'weak' }

/** A document as published. `country`: as in `countries`. Empty: not stated. */
export type ListedDocument = Readonly<Record<'type' | 'number' | 'country', string>>

/** Further data of an entry. Fields are absent if an earlier version of the service read the entry. */
export type ListedFacts = {
  /** Countries of nationality, birth and addresses: ISO 3166-1 alpha-2, or the text if it does not name a present country. */
  readonly countries?: readonly string[]
  readonly documents?: readonly ListedDocument[]
  /** Addresses, each in one line. */
  readonly addresses?: readonly string[]
}

export type ListEntry = ListedFacts & {
  /** The publisher's key of the entry, which stays the same when the entry changes. */
  readonly id: string
  /** The reference of the entry on the publisher's pages, for the person who decides. */
  readonly reference: string
  readonly kind: EntryKind
  /** The primary name first. */
  readonly names: readonly ListedName[]
  /** Dates or years, as published. */
  readonly births: readonly string[]
  readonly programmes: readonly string[]
  /** Addresses on chains. Undefined if there are none, so that the digest equals that of earlier versions. */
  readonly wallets?: readonly string[]
  /** Only for vessels and aircraft. Their kind is `other`, as in earlier versions. */
  readonly craft?: Craft
}

/** Builds the fields of an entry, sorted, so that two formats of a list give the same entry. */
export const entryFacts = ({
  countries,
  documents,
  addresses,
}: {
  readonly countries: readonly string[]
  readonly documents: readonly ListedDocument[]
  readonly addresses: readonly (readonly string[])[]
}): Required<ListedFacts> => ({
  countries: distinctTexts(countries.map(readCountry)).toSorted(),
  documents: [
    ...new Map(
      documents
        .map(({ type, number, country }) => ({ type, number: joinParts(number), country: readCountry(country) }))
        .filter(({ number }) => number !== '')
        .map((document) => [`${document.number} ${document.type} ${document.country}`, document]),
    ),
  ]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, document]) => document),
  addresses: distinctTexts(
    addresses.map((parts) =>
      parts
        .filter((part) => part.trim() !== '')
        .map((part) => joinParts(part))
        .join(', '),
    ),
  ),
})

/** Normalizes an address for comparison. Only hexadecimal digits may have either case. */
export const walletKey = (address: string): string => {
  const plain = address.replaceAll(/\s/g, '')
  return /^0x[0-9a-f]+$/i.test(plain) ? plain.toLowerCase() : plain
}

/** Recognizes the types of addresses on chains, which OFAC names by currency: `Digital Currency Address - ETH`. */
export const isWalletType = (type: string): boolean => type.startsWith('Digital Currency Address')

/** Recognizes types of documents. OFAC also lists notes such as `Gender` and `Secondary sanctions risk:` among them. */
export const isDocumentType = (type: string): boolean =>
  !isWalletType(type) && !/gender|sanctions|risk|information|website|email|phone|transactions/i.test(type)

/** Reads the country of a place of birth, which OFAC writes last: `Cairo, Egypt`. */
export const readOfacBirthCountry = (place: string): string => place.split(',').at(-1) ?? ''

/** Builds the field of addresses on chains. */
export const walletField = (addresses: readonly string[]): Pick<ListEntry, 'wallets'> => {
  const wallets = distinctTexts(addresses)
  return wallets.length === 0 ? {} : { wallets }
}

/** Builds the field of a vessel or an aircraft. `numbers`: all texts that may be its IMO number. */
export function craftField(type: string, numbers: readonly string[]): Pick<ListEntry, 'craft'> {
  const kind = (['vessel', 'aircraft'] as const).find((each) => each === type.toLowerCase())
  if (kind === undefined) return {}
  return { craft: { kind, imoNumbers: distinctTexts(numbers.map((text) => readImoNumber(text) ?? '')) } }
}

export type SanctionsList = {
  readonly source: ListSource
  readonly publishedAt: Date
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly hash: string
  readonly entries: readonly ListEntry[]
}

/** Builds the names of an entry. The first name that is not weak is the primary one. A repeated name keeps its better quality. */
export function listedNames(
  found: readonly { readonly text: string; readonly isWeak: boolean }[],
): readonly ListedName[] {
  const strong = distinctTexts(found.filter(({ isWeak }) => !isWeak).map(({ text }) => text))
  const weak = distinctTexts(found.filter(({ isWeak }) => isWeak).map(({ text }) => text))
  return [
    ...strong.map((text, index): ListedName => ({ text, quality: index === 0 ? 'primary' : 'good' })),
    ...weak.filter((text) => !strong.includes(text)).map((text): ListedName => ({ text, quality: 'weak' })),
  ]
}

// IMO numbers, which identify a vessel for its whole life.

/** Checks the last digit (IMO Resolution A.1117(30)): the sum of the others, times 7 to 2, ends with it. */
export const isImoNumber = (text: string): boolean =>
  /^\d{7}$/.test(text) &&
  Array.from(text.slice(0, 6)).reduce((sum, digit, at) => sum + Number(digit) * (7 - at), 0) % 10 === Number(text[6])

/** Reads an IMO number as lists write it: `IMO 9187629`. Undefined: it is a different number. */
export function readImoNumber(text: string): string | undefined {
  const [, number] = /^IMO\s*(\d{7})$/i.exec(text.trim()) ?? []
  return number !== undefined && isImoNumber(number) ? number : undefined
}

// Names of countries as the publishers write them.

const displayed = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/^(?:the|possibly|formerly) /, '')
    .replaceAll('&', 'and')
    .replaceAll(/[^a-z]+/g, ' ')
    .trim()

/** Formal names of the UN, and names of OFAC that differ from the usual ones. */
const otherNames = [
  'AE UAE|BA Bosnia-Herzegovina|BO Bolivia (Plurinational State of)|BY Byelarus|CD Democratic Republic of the Congo',
  'CD Congo, Democratic Republic of the|CD DRC|CG Congo, Republic of the|CG Congo|CI Ivory Coast|CV Cape Verde|CZ Czech Republic',
  'FM Micronesia (Federated States of)|GB United Kingdom of Great Britain and Northern Ireland|GB England|GB Scotland|GB UK',
  'GM Gambia, The|HK China, Hong Kong Special Administrative Region|HK Hong Kong|IR Iran (Islamic Republic of)|KM Comoros Islands',
  "KN St Kitts and Nevis|KP Democratic People's Republic of Korea|KP Korea, North|KP DPRK|KR Republic of Korea|KR Korea, South",
  "LA Lao People's Democratic Republic|MD Republic of Moldova|MD Moldova|MK Macedonia|MK The former Yugoslav Republic of Macedonia",
  'MM Burma|MM Myanmar|MO Macao|PS Palestinian|PS State of Palestine|PS Palestinian Territories|PS Gaza|PS Gaza Strip|PS West Bank',
  'RU Russian Federation|RU The Russian Federation|SY Syrian Arab Republic|SZ Swaziland|TR Turkey|TZ United Republic of Tanzania',
  'US United States of America|US USA|VE Venezuela (Bolivarian Republic of)|VG British Virgin Islands|VN Viet Nam|CI Cote d Ivoire',
].flatMap((line) => line.split('|').map((said): readonly [string, string] => [plain(said.slice(3)), said.slice(0, 2)]))

const codes: ReadonlyMap<string, string> = new Map([
  ...Object.keys(countryCodes.getAlpha2Codes()).flatMap((code): readonly (readonly [string, string])[] => {
    const name = displayed.of(code)
    return name === undefined ? [] : [[plain(name), code]]
  }),
  ...otherNames,
])

/** Reads a country. A text that does not name a present country stays unchanged, so that it does not count as absent. */
const readCountry = (text: string): string => codes.get(plain(text)) ?? text.trim()

/** Reports whether the text is a country code, and not a text that `readCountry` did not recognize. */
export const isCountryCode = (text: string): boolean => /^[A-Z]{2}$/.test(text)

/** An element of a record, as a tree. Only one record is in memory at a time. */

export type Element = {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Element[]
  text: string
}

export const childElements = (element: Element, name: string): readonly Element[] =>
  element.children.filter((child) => child.name === name)

/** Returns the trimmed text of the first child with this name. Empty: there is none. */
export const childText = (element: Element, name: string): string => childElements(element, name)[0]?.text.trim() ?? ''

/** Returns an attribute. Empty: there is no such attribute, or no element. */
export const readAttribute = (element: Element | undefined, name: string): string =>
  element?.attributes.get(name)?.trim() ?? ''

/** Joins parts of a name in one line, without spaces for empty parts. */
export const joinParts = (...parts: readonly string[]): string => parts.join(' ').replace(/\s+/g, ' ').trim()

/** Removes duplicates and empty texts. */
export const distinctTexts = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.filter((text) => text !== '')),
]

// The format of a list: how its files begin, and what its records mean.

/** Refuses the file at the current line. */
export type Refuse = (message: string) => never

/**
 * Reads one file. It receives each complete record in the order of the file, and keeps the data that it needs from records that
 * are not entries.
 */
export type ListFileReader = {
  /**
   * Record readers by the path below the document: `INDIVIDUALS/INDIVIDUAL`; `Locations/*` is every element of a group.
   * Undefined: not an entry.
   */
  readonly records: Readonly<Record<string, (record: Element) => ListEntry | undefined>>
  /** Called after the last record, like the next two. Undefined: the file does not state when it was published. */
  readonly publishedAt: () => Date | undefined
  /** Returns the number of entries that the list states. Undefined: it does not state one. */
  readonly count: () => number | undefined
  /** Completes the entries with data from later records. */
  readonly whole: (entries: readonly ListEntry[]) => readonly ListEntry[]
}

export type Format = {
  readonly source: ListSource
  /** The name of the root element. */
  readonly root: string
  readonly begin: (attributes: ReadonlyMap<string, string>, refuse: Refuse) => ListFileReader
}

// Times and dates as the publishers write them.

const isoTime = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/

/** Reads a time of ISO 8601. Without a zone it is UTC. */
export function readIsoTime(text: string): Date | undefined {
  const [, day, time = '00:00:00', zone = 'Z'] = isoTime.exec(text.trim()) ?? []
  const read = new Date(`${day}T${time}${zone}`)
  return day === undefined || Number.isNaN(read.getTime()) ? undefined : read
}

/** Reads a day such as `12/31/2026`. */
export function readAmericanDay(text: string): Date | undefined {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text.trim()) ?? []
  return year === undefined ? undefined : readIsoTime(`${year}-${month}-${day}`)
}

/** A calendar day. Months count from 1. */
export type Day = { readonly year: number; readonly month: number; readonly day: number }

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Returns the number of days in a month. */
export const daysInMonth = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate()

const sdnDay = ({ year, month, day }: Day) => `${String(day).padStart(2, '0')} ${months[month - 1]} ${year}`

/** Converts a day of SDN.XML to `YYYY-MM-DD`. Undefined: another text, including a month or a period. */
export function readSdnDay(text: string): string | undefined {
  const [, day, name = '', year] = /^(\d\d) ([A-Z][a-z]{2}) (\d{4})$/.exec(text) ?? []
  const month = months.indexOf(name) + 1
  return month === 0 ? undefined : `${year}-${String(month).padStart(2, '0')}-${day}`
}

/** Writes a period like SDN.XML: `07 Oct 1954`, `Oct 1954`, `1954`, `1954 to 1956`, `07 Oct 1954 to 09 Jan 1955`. */
export function sdnPeriod(first: Day, last: Day): string {
  const isSameMonth = first.year === last.year && first.month === last.month
  if (isSameMonth && first.day === last.day) return sdnDay(first)
  if (first.month === 1 && first.day === 1 && last.month === 12 && last.day === 31)
    return first.year === last.year ? String(first.year) : `${first.year} to ${last.year}`
  if (isSameMonth && first.day === 1 && last.day === daysInMonth(last.year, last.month))
    return `${months[first.month - 1]} ${first.year}`
  return `${sdnDay(first)} to ${sdnDay(last)}`
}
