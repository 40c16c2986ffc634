/**
 * Reads OFAC's SDN_ADVANCED.XML: the Advanced Sanctions Data Model of the UN, version 3. Parties refer to values by number,
 * and the sanctions of parties come after all parties. The key of a party is the `uid` of SDN.XML. Dangling references are
 * refused.
 */
import {
  readAttribute,
  childElements,
  craftField,
  type Day,
  daysInMonth,
  type Element,
  type EntryKind,
  entryFacts,
  type ListFileReader,
  type Format,
  isDocumentType,
  isWalletType,
  joinParts,
  type ListedDocument,
  type ListEntry,
  listedNames,
  readOfacBirthCountry,
  distinctTexts,
  readIsoTime,
  type Refuse,
  sdnPeriod,
  childText,
  walletField,
} from './entry.ts'

const versionKnown = '3'
/** The name of this list. OFAC publishes its other lists in the same format, and they must not replace this one. */
const listRead = 'SDN List'

/** The reference sets whose values are kept for look-ups. */
const sets = [
  ...(['List', 'PartyType', 'PartySubType', 'NamePartType', 'Script', 'FeatureType', 'SanctionsType'] as const),
  ...(['Country', 'IDRegDocType'] as const),
] as const
type SetName = (typeof sets)[number]

type References = {
  readonly add: (set: Element) => undefined
  /** Finds a value of a set. Refuses an unknown number. */
  readonly findValue: (set: SetName, id: string) => Element
  /** Returns the text of a value. Empty: unknown number. Only for data that comparisons do not need. */
  readonly textFor: (set: SetName, id: string) => string
}

/** A place: its country, and its parts with the country last. */
type Place = { readonly country: string; readonly parts: readonly string[] }

/** The data that comes before the parties: documents by identity, and places by number. */
type EarlierData = {
  readonly documents: Map<string, ListedDocument[]>
  readonly places: Map<string, Place>
}

export const ofacAdvanced: Format = { source: 'ofac', root: 'Sanctions', begin }

const notRead = () => undefined

function begin(attributes: ReadonlyMap<string, string>, refuse: Refuse): ListFileReader {
  const version = attributes.get('Version') ?? ''
  if (version !== versionKnown)
    refuse(`the version of the format is "${version}"; ${versionKnown} is the one that is known`)
  const references = createReferences(refuse)
  const listings = createListings(references, refuse)
  const before: EarlierData = { documents: new Map(), places: new Map() }
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
          readAttribute(childElements(location, 'LocationCountry')[0], 'CountryID'),
        )
        const parts = childElements(location, 'LocationPart')
          .flatMap((part) => childElements(part, 'LocationPartValue'))
          .map((value) => childText(value, 'Value'))
        before.places.set(readAttribute(location, 'ID'), { country, parts: [...parts, country] })
        return undefined
      },
      'IDRegDocuments/*': (document) => {
        const identity = readAttribute(document, 'IdentityID')
        const read: ListedDocument = {
          type: references.textFor('IDRegDocType', readAttribute(document, 'IDRegDocTypeID')),
          number: childText(document, 'IDRegistrationNo'),
          country: references.textFor('Country', readAttribute(document, 'IssuedBy-CountryID')),
        }
        before.documents.set(identity, [...(before.documents.get(identity) ?? []), read])
        return undefined
      },
      'DistinctParties/DistinctParty': (party) => {
        const entry = readParty(party, references, before, refuse)
        listings.own(
          entry.id,
          childElements(party, 'Profile').map((profile) => readAttribute(profile, 'ID')),
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
        if (sets.some((name) => name === value.name)) values.set(`${value.name} ${readAttribute(value, 'ID')}`, value)
      return undefined
    },
    findValue: (set, id) =>
      values.get(`${set} ${id}`) ?? refuse(`the file refers to ${set} "${id}" and does not have it`),
    textFor: (set, id) => values.get(`${set} ${id}`)?.text.trim() ?? '',
  }
}

type PartyListing = { isOnList: boolean; readonly programmes: string[] }

/** Collects the programmes of parties by profile: a few texts for each party. */
function createListings({ findValue }: References, refuse: Refuse) {
  const byProfile = new Map<string, PartyListing>()
  const byEntry = new Map<string, PartyListing>()
  return {
    /** Adds the profiles of a party. */
    own: (entryId: string, profileIds: readonly string[]): void => {
      const listing: PartyListing = { isOnList: false, programmes: [] }
      byEntry.set(entryId, listing)
      for (const id of profileIds) {
        if (byProfile.has(id)) refuse(`the profile "${id}" stands in the file twice`)
        byProfile.set(id, listing)
      }
    },
    add: (record: Element): undefined => {
      const id = readAttribute(record, 'ProfileID')
      const listing = byProfile.get(id) ?? refuse(`the file sanctions the profile "${id}" and does not have it`)
      if (findValue('List', readAttribute(record, 'ListID')).text.trim() === listRead) listing.isOnList = true
      const isProgramme = (measure: Element) =>
        findValue('SanctionsType', readAttribute(measure, 'SanctionsTypeID')).text.trim() === 'Program'
      const measures = childElements(record, 'SanctionsMeasure').filter(isProgramme)
      listing.programmes.push(...measures.map((measure) => childText(measure, 'Comment')))
    },
    complete: (entry: ListEntry): ListEntry => {
      const listing = byEntry.get(entry.id)
      if (listing?.isOnList !== true) refuse(`the party ${entry.id} is not on the ${listRead}`)
      return { ...entry, programmes: distinctTexts(listing.programmes) }
    },
  }
}

function readParty(party: Element, references: References, before: EarlierData, refuse: Refuse): ListEntry {
  const id = readAttribute(party, 'FixedRef')
  const profiles = childElements(party, 'Profile')
  const identities = primaryFirst(profiles.flatMap((profile) => childElements(profile, 'Identity')))
  const kinds = profiles.map((profile) => entryKind(readAttribute(profile, 'PartySubTypeID'), references))
  const documents = identities.flatMap((identity) => before.documents.get(readAttribute(identity, 'ID')) ?? [])
  return {
    id,
    reference: id,
    // If there are two kinds, the one whose names are compared.
    kind: kinds.find((kind) => kind !== 'other') ?? 'other',
    names: listedNames(identities.flatMap((identity) => readNames(identity, references, refuse))),
    births: distinctTexts(profiles.flatMap((profile) => readBirths(profile, references, refuse))),
    programmes: [],
    ...walletField(profiles.flatMap((profile) => readWallets(profile, references))),
    ...readCraft(profiles, references, documents),
    ...readFacts(profiles, references, before.places, documents),
  }
}

function readFacts(
  profiles: readonly Element[],
  references: References,
  places: EarlierData['places'],
  documents: readonly ListedDocument[],
) {
  const placesOf = (type: string): readonly Place[] =>
    profiles
      .flatMap((profile) => featureVersions(profile, references, (each) => each === type))
      .flatMap((version) => childElements(version, 'VersionLocation'))
      .flatMap((location) => places.get(readAttribute(location, 'LocationID')) ?? [])
  const births = profiles
    .flatMap((profile) => featureVersions(profile, references, (each) => each === 'Place of Birth'))
    .map((version) => readOfacBirthCountry(childText(version, 'VersionDetail')))
  const addresses = placesOf('Location')
  return entryFacts({
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

const isTrue = (element: Element, name: string) => readAttribute(element, name) === 'true'

const primaryFirst = (elements: readonly Element[]): readonly Element[] => [
  ...elements.filter((element) => isTrue(element, 'Primary')),
  ...elements.filter((element) => !isTrue(element, 'Primary')),
]

/** Returns the kind of an entry. The names of an unknown type are compared, because otherwise a name would be hidden. */
function entryKind(subTypeId: string, { findValue }: References): EntryKind {
  const type = findValue('PartyType', readAttribute(findValue('PartySubType', subTypeId), 'PartyTypeID')).text.trim()
  if (type === 'Individual') return 'person'
  return type === 'Transport' ? 'other' : 'organisation'
}

/** Reads a vessel or an aircraft. Only for entries whose profiles are all vessels or aircraft; others are compared by name (`entryKind`). */
function readCraft(
  profiles: readonly Element[],
  { findValue }: References,
  documents: readonly ListedDocument[],
): Pick<ListEntry, 'craft'> {
  const types = profiles.map((profile) => findValue('PartySubType', readAttribute(profile, 'PartySubTypeID')))
  const isTransport = (type: Element) =>
    findValue('PartyType', readAttribute(type, 'PartyTypeID')).text.trim() === 'Transport'
  if (!types.every(isTransport)) return {}
  const numbers = documents.map(({ number }) => number)
  return types.map((type) => craftField(type.text.trim(), numbers)).find(({ craft }) => craft !== undefined) ?? {}
}

type NamePart = { readonly text: string; readonly isLast: boolean }

/**
 * Reads one name for each script. In Latin letters the last name comes last, like in SDN.XML. Other scripts keep the published
 * order.
 */
function readNames(identity: Element, { findValue }: References, refuse: Refuse) {
  const groups = childElements(identity, 'NamePartGroups').flatMap((all) =>
    childElements(all, 'MasterNamePartGroup').flatMap((master) => childElements(master, 'NamePartGroup')),
  )
  const typeOf = new Map(groups.map((group) => [readAttribute(group, 'ID'), readAttribute(group, 'NamePartTypeID')]))
  const readPart = (value: Element): NamePart => {
    const group = readAttribute(value, 'NamePartGroupID')
    const type = typeOf.get(group) ?? refuse(`a name refers to the group "${group}" and its identity does not have it`)
    const isLatin = findValue('Script', readAttribute(value, 'ScriptID')).text.trim() === 'Latin'
    return { text: value.text, isLast: isLatin && findValue('NamePartType', type).text.trim() === 'Last Name' }
  }
  return primaryFirst(childElements(identity, 'Alias')).flatMap((alias) =>
    childElements(alias, 'DocumentedName').map((name) => {
      const parts = childElements(name, 'DocumentedNamePart')
        .flatMap((part) => childElements(part, 'NamePartValue'))
        .map(readPart)
      const inOrder = [...parts.filter(({ isLast }) => !isLast), ...parts.filter(({ isLast }) => isLast)]
      return { text: joinParts(...inOrder.map(({ text }) => text)), isWeak: isTrue(alias, 'LowQuality') }
    }),
  )
}

/** Lists the versions of features of these types. */
const featureVersions = (
  profile: Element,
  { findValue }: References,
  isType: (type: string) => boolean,
): readonly Element[] =>
  childElements(profile, 'Feature')
    .filter((feature) => isType(findValue('FeatureType', readAttribute(feature, 'FeatureTypeID')).text.trim()))
    .flatMap((feature) => childElements(feature, 'FeatureVersion'))

const readWallets = (profile: Element, references: References): readonly string[] =>
  featureVersions(profile, references, isWalletType).map((version) => childText(version, 'VersionDetail'))

function readBirths(profile: Element, references: References, refuse: Refuse): readonly string[] {
  return featureVersions(profile, references, (type) => type === 'Birthdate')
    .flatMap((version) => childElements(version, 'DatePeriod'))
    .map((period) => readPeriod(period, refuse))
}

/** Reads a period from the first possible day to the last one. */
function readPeriod(period: Element, refuse: Refuse): string {
  const bounds = ['Start', 'End'].flatMap((side) => childElements(period, side))
  const days = bounds.flatMap(({ children }) => children).map((day) => readDay(day, refuse))
  const first = days[0] ?? refuse('a period has no day')
  const last = days.at(-1) ?? first
  const lastMonth = last.month ?? 12
  const text = sdnPeriod(
    { year: first.year, month: first.month ?? 1, day: first.day ?? 1 },
    { year: last.year, month: lastMonth, day: last.day ?? daysInMonth(last.year, lastMonth) },
  )
  return bounds.some((bound) => isTrue(bound, 'Approximate')) ? `circa ${text}` : text
}

type PartialDay = Pick<Day, 'year'> & { readonly month: number | undefined; readonly day: number | undefined }

/** Reads a day. Month and day may be missing. */
function readDay(element: Element, refuse: Refuse): PartialDay {
  const part = (name: string, max: number): number | undefined => {
    const text = childText(element, name)
    if (text === '') return undefined
    const number = /^\d{1,4}$/.test(text) ? Number(text) : 0
    return number >= 1 && number <= max ? number : refuse(`${name} is "${text}"`)
  }
  const year = part('Year', 9999) ?? refuse(`${element.name} has no year`)
  return { year, month: part('Month', 12), day: part('Day', 31) }
}
