/** Entry of a list about one person or organisation, independent of the published format. */
import { readCountry } from './country-codes.ts'
import { joined, present } from './element.ts'
import { readImoNumber } from './imo.ts'

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
  countries: present(countries.map(readCountry)).toSorted(),
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
  addresses: present(
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
  const wallets = present(addresses)
  return wallets.length === 0 ? {} : { wallets }
}

/** The field of an entry of this type; `numbers`: all texts that may be its IMO number. */
export function craftOf(type: string, numbers: readonly string[]): Pick<ListEntry, 'craft'> {
  const kind = (['vessel', 'aircraft'] as const).find((each) => each === type.toLowerCase())
  if (kind === undefined) return {}
  return { craft: { kind, imoNumbers: present(numbers.map((text) => readImoNumber(text) ?? '')) } }
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
  const strong = present(found.filter(({ isWeak }) => !isWeak).map(({ text }) => text))
  const weak = present(found.filter(({ isWeak }) => isWeak).map(({ text }) => text))
  return [
    ...strong.map((text, index): ListedName => ({ text, quality: index === 0 ? 'primary' : 'good' })),
    ...weak.filter((text) => !strong.includes(text)).map((text): ListedName => ({ text, quality: 'weak' })),
  ]
}
