/** Loads lists, and caches the index of their names. */
import { createHash } from 'node:crypto'
import { setImmediate as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { type Clock, secondMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import {
  isPepSource,
  type ListedFacts,
  type ListEntry,
  type PepSource,
  type SanctionsList,
  walletKey,
} from './lists/entry.ts'
import { createNameIndex, type IndexedName, type Match, type NameIndex } from './names/index-of-names.ts'
import { nameWords } from './names/words.ts'
import type { IndexedEntry } from './rules.ts'
import { type CraftIndex, createCraftIndex, type IndexedCraft } from './vessels.ts'
import * as store from './store-lists.ts'

export type LoadedList = store.ListRow & {
  /** True if this file is the loaded list of its source, and this version of the service reads nothing new in it. */
  readonly isRepetition: boolean
}

/** An entry for comparisons, with details for the person who decides. */
export type SearchedEntry = IndexedEntry & Pick<ListEntry, 'reference' | 'kind' | 'births' | 'programmes'> & ListedFacts

/** The names of all lists at a generation. */
export type Snapshot = {
  readonly generation: number
  readonly index: NameIndex<SearchedEntry>
  /** The names of politically exposed persons, for customers and their owners only. */
  readonly peps: NameIndex<SearchedEntry>
  /** Finds the rule for a country by its id. */
  readonly countryEntry: (entryId: string) => SearchedEntry | undefined
  /** Finds the entries that list an address on a chain. */
  readonly entriesWithWallet: (account: string) => readonly SearchedEntry[]
  /** Finds listed vessels and aircraft in a text. */
  readonly craftsIn: CraftIndex<SearchedEntry>
  /** Finds listed persons and organisations by their whole names in a text. Empty unless SCREENED_TEXTS includes names. */
  readonly namesIn: (text: string) => readonly Match<SearchedEntry>[]
  /** Returns the digest of an entry. Undefined: the lists do not have the entry. */
  readonly digestOf: (entry: Pick<IndexedEntry, 'source' | 'entryId'>) => string | undefined
}

export type Lists = {
  /**
   * Replaces the whole list of its source. `also` joins the transaction of a new list. Refuses: validation_failed
   * (older than the loaded list, or half of the records are missing).
   */
  readonly load: (list: SanctionsList, staff: string, also?: (tx: Tx) => Promise<void>) => Promise<LoadedList>
  /** Empties a list of politically exposed persons. Its open hits stay until people decide. Refuses: not_found. */
  readonly remove: (tx: Tx, source: PepSource, staff: string) => Promise<LoadedList>
  /** Reads the current list of each source. */
  readonly current: (tx: Tx) => Promise<readonly store.ListRow[]>
  readonly generation: (tx: Tx) => Promise<number>
  /** Returns the newest names. Reads and indexes them if a list was loaded since the last call. Undefined: no list was loaded. */
  readonly snapshot: () => Promise<Snapshot | undefined>
  /** Returns names that are at most five seconds old. Most calls do not need a statement. */
  readonly recent: () => Promise<Snapshot | undefined>
  /** Returns the names that this process read last, which may be outdated. */
  readonly latest: () => Snapshot | undefined
  /** Passes each entry of the lists at a generation to `take`, in pages. */
  readonly eachEntry: (generation: number, take: EntryHandler) => Promise<void>
}

export type EntryHandler = (row: IndexedEntry, said: EntryDetail) => void

const rowsPerPage = 1000

type EntryDetail = Omit<ListEntry, 'id'>
const hashed = (kind: 'sha256' | 'md5', text: string): string => createHash(kind).update(text).digest('hex')

/** `digest` covers the fields on which a decision depends. Another spelling of an address does not change it. */
type WrittenEntry = store.NewEntry & { readonly detailHash: string }
const toNewEntry = ({ id: entryId, ...rest }: ListEntry): WrittenEntry => {
  const { addresses: _addresses, ...asked } = rest
  const detail = JSON.stringify(rest)
  return { entryId, detail, digest: hashed('sha256', JSON.stringify(asked)), detailHash: hashed('md5', detail) }
}

/**
 * Reports whether decisions about the entry stay valid: only its addresses differ, or an earlier version read the same entry without countries
 * and with fewer dates of birth.
 */
function isSameEntry(before: string, after: string): boolean {
  const { addresses: _before, births: birthsBefore, ...old } = ownJson<EntryDetail>(before)
  const { addresses: _after, births, countries, documents, ...rest } = ownJson<EntryDetail>(after)
  const isEarlierVersion = old.countries === undefined
  const now = isEarlierVersion ? rest : { ...rest, countries, documents }
  const hasBirths = isEarlierVersion
    ? birthsBefore.every((birth) => births.some((each) => each.includes(birth)))
    : JSON.stringify(birthsBefore) === JSON.stringify(births)
  return hasBirths && isDeepStrictEqual(old, now)
}

export type ListsDeps = {
  readonly db: Database
  readonly clock: Clock
  /** SCREENED_TEXTS: whether texts of payments are searched for people and organisations. Default: false. */
  readonly textNames?: boolean
}

const recentMs = 5 * secondMs

export function createLists({ db, clock, textNames = false }: ListsDeps): Lists {
  let latest: Snapshot | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let reading: { readonly generation: number; readonly snapshot: Promise<Snapshot> } | undefined
  /** Reads the lists. Concurrent callers share a read. */
  const read = async (generation: number): Promise<Snapshot> => {
    if (reading?.generation !== generation) reading = { generation, snapshot: readSnapshot(db, generation, textNames) }
    try {
      return await reading.snapshot
    } finally {
      if (reading?.generation === generation) reading = undefined
    }
  }
  const snapshot = async () => {
    askedAt = clock.now().getTime()
    const generation = await store.currentGeneration(db)
    if (generation > (latest?.generation ?? 0)) {
      const found = await read(generation)
      if (found.generation > (latest?.generation ?? 0)) latest = found
    }
    return latest
  }
  return {
    load: (list, staff, also) =>
      db.transaction(async (tx) => {
        await store.lockLists(tx)
        await refuseShortened(tx, list)
        const loaded = await replaceList(tx, clock, list, staff)
        if (!loaded.isRepetition) await also?.(tx)
        return loaded
      }),
    remove: async (tx, source, staff) => {
      await store.lockLists(tx)
      const before = (await store.currentLists(tx)).find((each) => each.source === source)
      if (before === undefined || before.entries === 0) throw new Refusal('not_found', 'No such list.')
      const { publishedAt } = before
      return replaceList(tx, clock, { source, publishedAt, hash: 'removed', entries: [] }, staff)
    },
    current: store.currentLists,
    generation: store.currentGeneration,
    snapshot,
    recent: async () => (clock.now().getTime() - askedAt < recentMs ? latest : snapshot()),
    latest: () => latest,
    eachEntry: (generation, take) => eachEntry(db, generation, take),
  }
}

/**
 * Refuses (validation_failed) a list of politically exposed persons that lost half of its records. The file does not state the number of
 * records, so only its length shows that it was cut between two records.
 */
async function refuseShortened(tx: Tx, { source, entries: { length } }: SanctionsList): Promise<void> {
  const before = (await store.currentLists(tx)).find((each) => each.source === source)
  if (before === undefined || !isPepSource(source) || length * 2 >= before.entries) return
  const detail = `The list has ${length} records, and the loaded list ${before.entries}: is the file complete?`
  throw new Refusal('validation_failed', detail)
}

/** Replaces the list of a source. The caller has locked the lists. Refuses: validation_failed (older than the loaded list). */
export async function replaceList(tx: Tx, clock: Clock, list: SanctionsList, staff: string): Promise<LoadedList> {
  const lists = await store.currentLists(tx)
  const last = lists.find(({ source }) => source === list.source)
  const isSame = last?.hash === list.hash
  if (!isSame && last !== undefined && list.publishedAt < last.publishedAt) {
    const [older, newer] = [list.publishedAt, last.publishedAt].map((time) => time.toISOString())
    throw new Refusal(
      'validation_failed',
      `The list was published at ${older}, but a list of ${newer} is already loaded.`,
    )
  }
  const generation = Math.max(0, ...lists.map((each) => each.generation)) + 1
  const before = await store.knownEntries(tx, list.source)
  const entries = list.entries.map(toNewEntry)
  const ids = new Set(entries.map(({ entryId }) => entryId))
  const removed = [...before.keys()].filter((id) => !ids.has(id))
  const written: store.NewEntry[] = []
  for (let from = 0; from < entries.length; from += rowsPerPage) {
    const page = entries.slice(from, from + rowsPerPage)
    written.push(...(await withKeptDigests(tx, list.source, page, before)))
  }
  // A newer version may read more fields of the same file.
  if (isSame && removed.length === 0 && written.length === 0) return { ...last, isRepetition: true }
  const rewritten = written.filter(({ entryId }) => before.has(entryId))
  const changed = rewritten.filter(({ entryId, digest }) => before.get(entryId)?.digest !== digest)
  await store.endEntries(tx, list.source, [...removed, ...rewritten.map(({ entryId }) => entryId)], generation)
  for (let from = 0; from < written.length; from += rowsPerPage)
    await store.insertEntries(tx, list.source, generation, written.slice(from, from + rowsPerPage))
  const row: store.ListRow = {
    generation,
    source: list.source,
    publishedAt: list.publishedAt,
    hash: list.hash,
    loadedAt: clock.now(),
    loadedBy: staff,
    entries: entries.length,
    names: list.entries.reduce((sum, { names }) => sum + names.length, 0),
    added: written.length - rewritten.length,
    changed: changed.length,
    removed: removed.length,
  }
  await store.insertList(tx, row)
  return { ...row, isRepetition: false }
}

/** Returns the entries to write. An entry whose decisions stay valid keeps the digest that its hits refer to. */
async function withKeptDigests(
  tx: Tx,
  source: SanctionsList['source'],
  page: readonly WrittenEntry[],
  before: ReadonlyMap<string, store.KnownEntry>,
): Promise<readonly store.NewEntry[]> {
  const differing = page.filter(({ entryId, detailHash }) => before.get(entryId)?.detailHash !== detailHash)
  const known = differing.filter(({ entryId, digest }) => (before.get(entryId)?.digest ?? digest) !== digest)
  const details = await store.entryDetails(
    tx,
    source,
    known.map(({ entryId }) => entryId),
  )
  return differing.map(({ detailHash: _hash, ...entry }) => {
    const detail = details.get(entry.entryId)
    const kept = before.get(entry.entryId)?.digest
    return detail !== undefined && kept !== undefined && isSameEntry(detail, entry.detail)
      ? { ...entry, digest: kept }
      : entry
  })
}

/** Reads entries in pages. Separate statements read a consistent state, because the entries of a generation never change. */
async function eachEntry(db: Database, generation: number, take: EntryHandler): Promise<void> {
  for (let page: readonly store.EntryRow[] = []; ;) {
    page = await store.listEntries(db, generation, page.at(-1), rowsPerPage)
    for (const { detail, ...row } of page) take(row, ownJson<EntryDetail>(detail))
    if (page.length < rowsPerPage) return
  }
}

async function readSnapshot(db: Database, generation: number, textNames: boolean): Promise<Snapshot> {
  const digests = new Map<string, string>()
  const names: IndexedName<SearchedEntry>[] = []
  const pepNames: IndexedName<SearchedEntry>[] = []
  const byWallet = new Map<string, SearchedEntry[]>()
  const countries = new Map<string, SearchedEntry>()
  const crafts: IndexedCraft<SearchedEntry>[] = []
  await eachEntry(db, generation, (row, said) => {
    digests.set(`${row.source} ${row.entryId}`, row.digest)
    const entry = searchedEntry(row, said)
    const into = isPepSource(row.source) ? pepNames : names
    for (const { text } of namesToCompare(said)) into.push({ entry, text, kind: said.kind })
    if (said.craft !== undefined) crafts.push({ entry, craft: said.craft, names: said.names })
    if (row.source === 'countries') countries.set(row.entryId, entry)
    for (const key of (said.wallets ?? []).map(walletKey)) byWallet.set(key, [...(byWallet.get(key) ?? []), entry])
  })
  const index = await createNameIndex(names, () => pause())
  return {
    ...{ generation, index, namesIn: textNames ? index.searchText : () => [] },
    peps: await createNameIndex(pepNames, () => pause()),
    countryEntry: (entryId) => countries.get(entryId),
    entriesWithWallet: (account) => byWallet.get(walletKey(account)) ?? [],
    craftsIn: createCraftIndex(crafts),
    digestOf: ({ source, entryId }) => digests.get(`${source} ${entryId}`),
  }
}

const searchedEntry = (
  row: IndexedEntry,
  { names: _names, wallets: _wallets, craft: _craft, ...facts }: EntryDetail,
): SearchedEntry => ({ ...row, ...facts })

/** Selects the names to compare: not weak names, which do not identify a person by themselves, and not vessels, aircraft and countries. */
export const namesToCompare = ({ names, kind }: Pick<ListEntry, 'names' | 'kind'>): ListEntry['names'] =>
  kind === 'other' || kind === 'country'
    ? []
    : names.filter(({ text, quality }) => quality !== 'weak' || nameWords(text).telling.length > 1)
