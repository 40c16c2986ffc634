/**
 * OFAC's SDN_ADVANCED.XML: the Advanced Sanctions Data Model of the UN, version 3. Parties refer to values by number,
 * and the sanctions of a party come after all parties. The key of a party is the `uid` of SDN.XML. A dangling reference
 * is refused.
 */
import {
  attributeOf,
  childrenOf,
  craftOf,
  type Day,
  daysOf,
  type Element,
  type EntryKind,
  factsOf,
  type FileReader,
  type Format,
  isDocumentType,
  isWalletType,
  joined,
  type ListedDocument,
  type ListEntry,
  namesOf,
  ofacPlace,
  distinctTexts,
  readIsoTime,
  type Refuse,
  sdnPeriod,
  textOf,
  walletsOf,
} from './entry.ts'

const versionKnown = '3'
/** OFAC publishes its other lists in the same format; they do not update this one. */
const listRead = 'SDN List'

/** The sets whose values are kept. */
const sets = [
  ...(['List', 'PartyType', 'PartySubType', 'NamePartType', 'Script', 'FeatureType', 'SanctionsType'] as const),
  ...(['Country', 'IDRegDocType'] as const),
] as const
type SetName = (typeof sets)[number]

type References = {
  readonly add: (set: Element) => undefined
  /** Refuses a number that the set does not have. */
  readonly valueOf: (set: SetName, id: string) => Element
  /** The text of a value; empty if the set does not have it. For facts without which names are compared as well. */
  readonly textFor: (set: SetName, id: string) => string
}

/** A place of the file: its country, and its parts with the country last. */
type Place = { readonly country: string; readonly parts: readonly string[] }

/** The parts of the file that come before the parties: documents by identity, places by number. */
type Before = {
  readonly documents: Map<string, ListedDocument[]>
  readonly places: Map<string, Place>
}

export const ofacAdvanced: Format = { source: 'ofac', root: 'Sanctions', begin }

const notRead = () => undefined

function begin(attributes: ReadonlyMap<string, string>, refuse: Refuse): FileReader {
  const version = attributes.get('Version') ?? ''
  if (version !== versionKnown)
    refuse(`the version of the format is "${version}"; ${versionKnown} is the one that is known`)
  const references = createReferences(refuse)
  const listings = createListings(references, refuse)
  const before: Before = { documents: new Map(), places: new Map() }
  let issuedAt: Date | undefined
  return {
    records: {
      DateOfIssue: (record) => {
        const { year, month, day } = readDay(record, refuse)
        const two = (part: number | undefined) => String(part ?? '').padStart(2, '0')
        issuedAt = readIsoTime(`${year}-${two(month)}-${two(day)}`)
        return undefined
      },
      'ReferenceValueSets/*': references.add,
      'Locations/*': (location) => {
        const country = references.textFor(
          'Country',
          attributeOf(childrenOf(location, 'LocationCountry')[0], 'CountryID'),
        )
        const parts = childrenOf(location, 'LocationPart')
          .flatMap((part) => childrenOf(part, 'LocationPartValue'))
          .map((value) => textOf(value, 'Value'))
        before.places.set(attributeOf(location, 'ID'), { country, parts: [...parts, country] })
        return undefined
      },
      'IDRegDocuments/*': (document) => {
        const identity = attributeOf(document, 'IdentityID')
        const read: ListedDocument = {
          type: references.textFor('IDRegDocType', attributeOf(document, 'IDRegDocTypeID')),
          number: textOf(document, 'IDRegistrationNo'),
          country: references.textFor('Country', attributeOf(document, 'IssuedBy-CountryID')),
        }
        before.documents.set(identity, [...(before.documents.get(identity) ?? []), read])
        return undefined
      },
      'DistinctParties/DistinctParty': (party) => {
        const entry = readParty(party, references, before, refuse)
        listings.own(
          entry.id,
          childrenOf(party, 'Profile').map((profile) => attributeOf(profile, 'ID')),
        )
        return entry
      },
      'ProfileRelationships/*': notRead,
      'SanctionsEntries/SanctionsEntry': listings.add,
      'SanctionsEntryLinks/*': notRead,
    },
    publishedAt: () => issuedAt,
    count: () => undefined,
    whole: (entries) => entries.map(listings.complete),
  }
}

function createReferences(refuse: Refuse): References {
  const values = new Map<string, Element>()
  return {
    add: (set) => {
      for (const value of set.children)
        if (sets.some((name) => name === value.name)) values.set(`${value.name} ${attributeOf(value, 'ID')}`, value)
      return undefined
    },
    valueOf: (set, id) =>
      values.get(`${set} ${id}`) ?? refuse(`the file refers to ${set} "${id}" and does not have it`),
    textFor: (set, id) => values.get(`${set} ${id}`)?.text.trim() ?? '',
  }
}

type Listing = { isOnList: boolean; readonly programmes: string[] }

/** Collects the programmes of the parties, by profile: a few texts for each party. */
function createListings({ valueOf }: References, refuse: Refuse) {
  const byProfile = new Map<string, Listing>()
  const byEntry = new Map<string, Listing>()
  return {
    /** The profiles of a party. */
    own: (entryId: string, profileIds: readonly string[]): void => {
      const listing: Listing = { isOnList: false, programmes: [] }
      byEntry.set(entryId, listing)
      for (const id of profileIds) {
        if (byProfile.has(id)) refuse(`the profile "${id}" stands in the file twice`)
        byProfile.set(id, listing)
      }
    },
    add: (record: Element): undefined => {
      const id = attributeOf(record, 'ProfileID')
      const listing = byProfile.get(id) ?? refuse(`the file sanctions the profile "${id}" and does not have it`)
      if (valueOf('List', attributeOf(record, 'ListID')).text.trim() === listRead) listing.isOnList = true
      const isProgramme = (measure: Element) =>
        valueOf('SanctionsType', attributeOf(measure, 'SanctionsTypeID')).text.trim() === 'Program'
      const measures = childrenOf(record, 'SanctionsMeasure').filter(isProgramme)
      listing.programmes.push(...measures.map((measure) => textOf(measure, 'Comment')))
    },
    complete: (entry: ListEntry): ListEntry => {
      const listing = byEntry.get(entry.id)
      if (listing?.isOnList !== true) refuse(`the party ${entry.id} is not on the ${listRead}`)
      return { ...entry, programmes: distinctTexts(listing.programmes) }
    },
  }
}

function readParty(party: Element, references: References, before: Before, refuse: Refuse): ListEntry {
  const id = attributeOf(party, 'FixedRef')
  const profiles = childrenOf(party, 'Profile')
  const identities = primaryFirst(profiles.flatMap((profile) => childrenOf(profile, 'Identity')))
  const kinds = profiles.map((profile) => kindOf(attributeOf(profile, 'PartySubTypeID'), references))
  const documents = identities.flatMap((identity) => before.documents.get(attributeOf(identity, 'ID')) ?? [])
  return {
    id,
    reference: id,
    // If there are two kinds, the one that names are compared with.
    kind: kinds.find((kind) => kind !== 'other') ?? 'other',
    names: namesOf(identities.flatMap((identity) => readNames(identity, references, refuse))),
    births: distinctTexts(profiles.flatMap((profile) => readBirths(profile, references, refuse))),
    programmes: [],
    ...walletsOf(profiles.flatMap((profile) => readWallets(profile, references))),
    ...readCraft(profiles, references, documents),
    ...readFacts(profiles, references, before.places, documents),
  }
}

function readFacts(
  profiles: readonly Element[],
  references: References,
  places: Before['places'],
  documents: readonly ListedDocument[],
) {
  const placesOf = (type: string): readonly Place[] =>
    profiles
      .flatMap((profile) => versionsOf(profile, references, (each) => each === type))
      .flatMap((version) => childrenOf(version, 'VersionLocation'))
      .flatMap((location) => places.get(attributeOf(location, 'LocationID')) ?? [])
  const births = profiles
    .flatMap((profile) => versionsOf(profile, references, (each) => each === 'Place of Birth'))
    .map((version) => ofacPlace(textOf(version, 'VersionDetail')))
  const addresses = placesOf('Location')
  return factsOf({
    countries: [
      ...['Nationality Country', 'Citizenship Country', 'Place of Birth']
        .flatMap(placesOf)
        .map(({ country }) => country),
      ...births,
      ...addresses.map(({ country }) => country),
    ],
    documents: documents.filter(({ type }) => isDocumentType(type)),
    addresses: addresses.map(({ parts }) => parts),
  })
}

const isTrue = (element: Element, name: string) => attributeOf(element, name) === 'true'

const primaryFirst = (elements: readonly Element[]): readonly Element[] => [
  ...elements.filter((element) => isTrue(element, 'Primary')),
  ...elements.filter((element) => !isTrue(element, 'Primary')),
]

/** An unknown type is compared: leaving it out would hide a name. */
function kindOf(subTypeId: string, { valueOf }: References): EntryKind {
  const type = valueOf('PartyType', attributeOf(valueOf('PartySubType', subTypeId), 'PartyTypeID')).text.trim()
  if (type === 'Individual') return 'person'
  return type === 'Transport' ? 'other' : 'organisation'
}

/** An entry with a profile that is not a vessel or aircraft is compared by its name (`kindOf`). */
function readCraft(
  profiles: readonly Element[],
  { valueOf }: References,
  documents: readonly ListedDocument[],
): Pick<ListEntry, 'craft'> {
  const types = profiles.map((profile) => valueOf('PartySubType', attributeOf(profile, 'PartySubTypeID')))
  const isTransport = (type: Element) =>
    valueOf('PartyType', attributeOf(type, 'PartyTypeID')).text.trim() === 'Transport'
  if (!types.every(isTransport)) return {}
  const numbers = documents.map(({ number }) => number)
  return types.map((type) => craftOf(type.text.trim(), numbers)).find(({ craft }) => craft !== undefined) ?? {}
}

type NamePart = { readonly text: string; readonly isLast: boolean }

/**
 * One name for each script. In Latin letters the last name comes last, as people read SDN.XML; others stay as
 * published.
 */
function readNames(identity: Element, { valueOf }: References, refuse: Refuse) {
  const groups = childrenOf(identity, 'NamePartGroups').flatMap((all) =>
    childrenOf(all, 'MasterNamePartGroup').flatMap((master) => childrenOf(master, 'NamePartGroup')),
  )
  const typeOf = new Map(groups.map((group) => [attributeOf(group, 'ID'), attributeOf(group, 'NamePartTypeID')]))
  const readPart = (value: Element): NamePart => {
    const group = attributeOf(value, 'NamePartGroupID')
    const type = typeOf.get(group) ?? refuse(`a name refers to the group "${group}" and its identity does not have it`)
    const isLatin = valueOf('Script', attributeOf(value, 'ScriptID')).text.trim() === 'Latin'
    return { text: value.text, isLast: isLatin && valueOf('NamePartType', type).text.trim() === 'Last Name' }
  }
  return primaryFirst(childrenOf(identity, 'Alias')).flatMap((alias) =>
    childrenOf(alias, 'DocumentedName').map((name) => {
      const parts = childrenOf(name, 'DocumentedNamePart')
        .flatMap((part) => childrenOf(part, 'NamePartValue'))
        .map(readPart)
      const inOrder = [...parts.filter(({ isLast }) => !isLast), ...parts.filter(({ isLast }) => isLast)]
      return { text: joined(...inOrder.map(({ text }) => text)), isWeak: isTrue(alias, 'LowQuality') }
    }),
  )
}

/** The versions of the features of these types. */
const versionsOf = (profile: Element, { valueOf }: References, isType: (type: string) => boolean): readonly Element[] =>
  childrenOf(profile, 'Feature')
    .filter((feature) => isType(valueOf('FeatureType', attributeOf(feature, 'FeatureTypeID')).text.trim()))
    .flatMap((feature) => childrenOf(feature, 'FeatureVersion'))

const readWallets = (profile: Element, references: References): readonly string[] =>
  versionsOf(profile, references, isWalletType).map((version) => textOf(version, 'VersionDetail'))

function readBirths(profile: Element, references: References, refuse: Refuse): readonly string[] {
  return versionsOf(profile, references, (type) => type === 'Birthdate')
    .flatMap((version) => childrenOf(version, 'DatePeriod'))
    .map((period) => readPeriod(period, refuse))
}

/** Reads a period from the first possible day to the last one. */
function readPeriod(period: Element, refuse: Refuse): string {
  const bounds = ['Start', 'End'].flatMap((side) => childrenOf(period, side))
  const days = bounds.flatMap(({ children }) => children).map((day) => readDay(day, refuse))
  const first = days[0] ?? refuse('a period has no day')
  const last = days.at(-1) ?? first
  const lastMonth = last.month ?? 12
  const text = sdnPeriod(
    { year: first.year, month: first.month ?? 1, day: first.day ?? 1 },
    { year: last.year, month: lastMonth, day: last.day ?? daysOf(last.year, lastMonth) },
  )
  return bounds.some((bound) => isTrue(bound, 'Approximate')) ? `circa ${text}` : text
}

type PartialDay = Pick<Day, 'year'> & { readonly month: number | undefined; readonly day: number | undefined }

/** Month and day may be missing. */
function readDay(element: Element, refuse: Refuse): PartialDay {
  const part = (name: string, max: number): number | undefined => {
    const text = textOf(element, name)
    if (text === '') return undefined
    const number = /^\d{1,4}$/.test(text) ? Number(text) : 0
    return number >= 1 && number <= max ? number : refuse(`${name} is "${text}"`)
  }
  const year = part('Year', 9999) ?? refuse(`${element.name} has no year`)
  return { year, month: part('Month', 12), day: part('Day', 31) }
}
