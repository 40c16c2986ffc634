/** An entry of a list, independent of the published format, and what the readers of all formats share. */
import countryCodes from 'i18n-iso-countries/index.js'

/** A list of politically exposed persons, by the name that it was loaded under. Its hits hold no payment unless PEP_HITS says so. */
export type PepSource = `pep:${string}`
/** `countries`: the rules for countries, which persons write. */
export type ListSource = 'un' | 'eu' | 'ofac' | 'countries' | PepSource
const nameForm = /^[a-z0-9][a-z0-9_-]{0,39}$/
/** Returns undefined if the text is not a name of such a list. */
export const pepSource = (name: string): PepSource | undefined => (nameForm.test(name) ? `pep:${name}` : undefined)
export const isPepSource = (source: string): boolean => source.startsWith('pep:')

/** `other`: vessels and aircraft, which texts of payments are compared with (vessels.ts). No name is compared with them, nor with a `country`. */
export type EntryKind = 'person' | 'organisation' | 'other' | 'country'

/** A vessel or an aircraft among `other`. `imoNumbers`: seven digits each, with a right check digit. */
export type Craft = { readonly kind: 'vessel' | 'aircraft'; readonly imoNumbers: readonly string[] }

/** `weak`: the publisher says that the name alone identifies no one. */
export type ListedName = { readonly text: string; readonly quality: 'primary' | 'good' | 'weak' }

/** A document as published. `country`: as in `countries`; empty: the list does not say it. */
export type ListedDocument = Readonly<Record<'type' | 'number' | 'country', string>>

/** The facts of an entry besides its names and births. Undefined: a version before read the entry. */
export type ListedFacts = {
  /** Countries of nationality, birth and addresses: ISO 3166-1 alpha-2, or the text if it names no country of today. */
  readonly countries?: readonly string[]
  readonly documents?: readonly ListedDocument[]
  /** Each in one line. */
  readonly addresses?: readonly string[]
}

export type ListEntry = ListedFacts & {
  /** The publisher's key of the entry: it stays when the entry changes. */
  readonly id: string
  /** Reference of the entry on the publisher's pages, for the person who decides. */
  readonly reference: string
  readonly kind: EntryKind
  /** The primary name first. */
  readonly names: readonly ListedName[]
  /** Dates or years, as published. */
  readonly births: readonly string[]
  readonly programmes: readonly string[]
  /** Addresses on chains. Undefined if the entry has none: then its digest is that of the versions before. */
  readonly wallets?: readonly string[]
  /** Undefined if the entry is neither a vessel nor an aircraft. Its kind is `other`, as versions before know it. */
  readonly craft?: Craft
}

/** The fields of an entry with these facts. Sorted, so that two formats of one list give the same. */
export const factsOf = ({
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
        .map(({ type, number, country }) => ({ type, number: joined(number), country: readCountry(country) }))
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
        .map((part) => joined(part))
        .join(', '),
    ),
  ),
})

/** An address in the form in which it is compared: only hexadecimal digits are written in either case. */
export const walletKey = (address: string): string => {
  const plain = address.replaceAll(/\s/g, '')
  return /^0x[0-9a-f]+$/i.test(plain) ? plain.toLowerCase() : plain
}

/** OFAC names the type of an address by its currency: `Digital Currency Address - ETH`. */
export const isWalletType = (type: string): boolean => type.startsWith('Digital Currency Address')

/** Among the documents of OFAC are notes (`Gender`, `Secondary sanctions risk:`): a document has a type of a number. */
export const isDocumentType = (type: string): boolean =>
  !isWalletType(type) && !/gender|sanctions|risk|information|website|email|phone|transactions/i.test(type)

/** The country of a place of birth, which OFAC writes last: `Cairo, Egypt`. */
export const ofacPlace = (place: string): string => place.split(',').at(-1) ?? ''

/** The field of an entry with these addresses. */
export const walletsOf = (addresses: readonly string[]): Pick<ListEntry, 'wallets'> => {
  const wallets = distinctTexts(addresses)
  return wallets.length === 0 ? {} : { wallets }
}

/** The field of an entry of this type; `numbers`: all texts that may be its IMO number. */
export function craftOf(type: string, numbers: readonly string[]): Pick<ListEntry, 'craft'> {
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

/** The first name that is not weak is the primary one. A repeated name counts once, by its better quality. */
export function namesOf(found: readonly { readonly text: string; readonly isWeak: boolean }[]): readonly ListedName[] {
  const strong = distinctTexts(found.filter(({ isWeak }) => !isWeak).map(({ text }) => text))
  const weak = distinctTexts(found.filter(({ isWeak }) => isWeak).map(({ text }) => text))
  return [
    ...strong.map((text, index): ListedName => ({ text, quality: index === 0 ? 'primary' : 'good' })),
    ...weak.filter((text) => !strong.includes(text)).map((text): ListedName => ({ text, quality: 'weak' })),
  ]
}

/** Pure: the number that the International Maritime Organization gives to a vessel for its life. */

/** Reports whether the last digit is the check digit (IMO Resolution A.1117(30)): the others, times 7 to 2, sum to it. */
export const isImoNumber = (text: string): boolean =>
  /^\d{7}$/.test(text) &&
  Array.from(text.slice(0, 6)).reduce((sum, digit, at) => sum + Number(digit) * (7 - at), 0) % 10 === Number(text[6])

/** Reads an IMO number as lists write it: `IMO 9187629`. Undefined: it is another number. */
export function readImoNumber(text: string): string | undefined {
  const [, number] = /^IMO\s*(\d{7})$/i.exec(text.trim()) ?? []
  return number !== undefined && isImoNumber(number) ? number : undefined
}

// Countries as the publishers write them.

const displayed = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/^(?:the|possibly|formerly) /, '')
    .replaceAll('&', 'and')
    .replaceAll(/[^a-z]+/g, ' ')
    .trim()

/** Formal names of the UN, and those of OFAC, where they differ from the usual ones. */
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

/** Reads a country. A text that names no country of today stays as it is, so that it is known that something is said. */
const readCountry = (text: string): string => codes.get(plain(text)) ?? text.trim()

/** Reports whether the text is a code, and not a text that `readCountry` did not know. */
export const isCountryCode = (text: string): boolean => /^[A-Z]{2}$/.test(text)

/** The elements of one record of a list as a tree. Only one record is in memory at a time. */

export type Element = {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Element[]
  text: string
}

export const childrenOf = (element: Element, name: string): readonly Element[] =>
  element.children.filter((child) => child.name === name)

/** The text of the first child of this name, without space around it; empty if there is none. */
export const textOf = (element: Element, name: string): string => childrenOf(element, name)[0]?.text.trim() ?? ''

/** Empty if there is no such attribute, or no element. */
export const attributeOf = (element: Element | undefined, name: string): string =>
  element?.attributes.get(name)?.trim() ?? ''

/** Parts of a name in one line. Empty parts leave no space. */
export const joined = (...parts: readonly string[]): string => parts.join(' ').replace(/\s+/g, ' ').trim()

/** Each text once, without empty ones. */
export const distinctTexts = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.filter((text) => text !== '')),
]

// Format of a list: the beginning of its files, and the meaning of its records.

/** Refuses the file at the current line. */
export type Refuse = (message: string) => never

/**
 * Reads one file. It gets each whole record, in the order of the file, and keeps what it needs of records that are not
 * entries.
 */
export type FileReader = {
  /**
   * Record readers by the path below the document: `INDIVIDUALS/INDIVIDUAL`; `Locations/*` is every element of a group.
   * Undefined: not an entry.
   */
  readonly records: Readonly<Record<string, (record: Element) => ListEntry | undefined>>
  /** Called after the last record, as the two below. Undefined: the file does not say when it was published. */
  readonly publishedAt: () => Date | undefined
  /** The number of entries that the list states. Undefined: it states none. */
  readonly count: () => number | undefined
  /** Completes the entries by later records. */
  readonly whole: (entries: readonly ListEntry[]) => readonly ListEntry[]
}

export type Format = {
  readonly source: ListSource
  /** The element of the document. */
  readonly root: string
  readonly begin: (attributes: ReadonlyMap<string, string>, refuse: Refuse) => FileReader
}

/** Times and dates as the publishers write them. */

const isoTime = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/

/** A time without a zone is UTC. */
export function readIsoTime(text: string): Date | undefined {
  const [, day, time = '00:00:00', zone = 'Z'] = isoTime.exec(text.trim()) ?? []
  const read = new Date(`${day}T${time}${zone}`)
  return day === undefined || Number.isNaN(read.getTime()) ? undefined : read
}

/** `12/31/2026`. */
export function readAmericanDay(text: string): Date | undefined {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text.trim()) ?? []
  return year === undefined ? undefined : readIsoTime(`${year}-${month}-${day}`)
}

/** A day of the calendar; months count from 1. */
export type Day = { readonly year: number; readonly month: number; readonly day: number }

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The number of days of a month. */
export const daysOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate()

const sdnDay = ({ year, month, day }: Day) => `${String(day).padStart(2, '0')} ${months[month - 1]} ${year}`

/** Reads a day as SDN.XML writes it, as `YYYY-MM-DD`. Undefined: another text, also a month or a period. */
export function readSdnDay(text: string): string | undefined {
  const [, day, name = '', year] = /^(\d\d) ([A-Z][a-z]{2}) (\d{4})$/.exec(text) ?? []
  const month = months.indexOf(name) + 1
  return month === 0 ? undefined : `${year}-${String(month).padStart(2, '0')}-${day}`
}

/** A period as SDN.XML writes it: `07 Oct 1954`, `Oct 1954`, `1954`, `1954 to 1956`, `07 Oct 1954 to 09 Jan 1955`. */
export function sdnPeriod(first: Day, last: Day): string {
  const isSameMonth = first.year === last.year && first.month === last.month
  if (isSameMonth && first.day === last.day) return sdnDay(first)
  if (first.month === 1 && first.day === 1 && last.month === 12 && last.day === 31)
    return first.year === last.year ? String(first.year) : `${first.year} to ${last.year}`
  if (isSameMonth && first.day === 1 && last.day === daysOf(last.year, last.month))
    return `${months[first.month - 1]} ${first.year}`
  return `${sdnDay(first)} to ${sdnDay(last)}`
}
