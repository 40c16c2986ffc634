/** Loads lists, and keeps the index of all their names. */
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
import { wordsOf } from './names/words.ts'
import type { IndexedEntry } from './rules.ts'
import { type CraftIndex, createCraftIndex, type IndexedCraft } from './vessels.ts'
import * as store from './store-lists.ts'

export type LoadedList = store.ListRow & {
  /** The file is the list that was loaded last from its source, and says nothing else to this version. */
  readonly isRepetition: boolean
}

/** An entry that names are compared with, and its details for a person. */
export type SearchedEntry = IndexedEntry & Pick<ListEntry, 'reference' | 'kind' | 'births' | 'programmes'> & ListedFacts

/** The names of all lists as they stood at a generation. */
export type Snapshot = {
  readonly generation: number
  readonly index: NameIndex<SearchedEntry>
  /** The names of politically exposed persons, which only customers and their owners are compared with. */
  readonly peps: NameIndex<SearchedEntry>
  /** The rule for a country, by its key. */
  readonly countryEntry: (entryId: string) => SearchedEntry | undefined
  /** The entries that name an address on a chain. */
  readonly entriesWithWallet: (account: string) => readonly SearchedEntry[]
  /** The listed vessels and aircraft that a text names. */
  readonly craftsIn: CraftIndex<SearchedEntry>
  /** The listed persons and organisations whose whole names stand in a text. None if SCREENED_TEXTS leaves names out. */
  readonly namesIn: (text: string) => readonly Match<SearchedEntry>[]
  /** Undefined: no list has the entry. */
  readonly digestOf: (entry: Pick<IndexedEntry, 'source' | 'entryId'>) => string | undefined
}

export type Lists = {
  /**
   * Replaces the whole list of its source. `also` joins the transaction of a new list. Refuses: validation_failed
   * (older than the loaded list; half of its records are gone).
   */
  readonly load: (list: SanctionsList, staff: string, also?: (tx: Tx) => Promise<void>) => Promise<LoadedList>
  /** Empties a list of politically exposed persons. Open hits on it stay until persons have decided. Refuses: not_found. */
  readonly remove: (tx: Tx, source: PepSource, staff: string) => Promise<LoadedList>
  /** The list of each source. */
  readonly current: (tx: Tx) => Promise<readonly store.ListRow[]>
  readonly generation: (tx: Tx) => Promise<number>
  /** The newest names. Reads and indexes them if a list was loaded since the last call. Undefined: no list was loaded. */
  readonly snapshot: () => Promise<Snapshot | undefined>
  /** The names as they were at most five seconds ago: most calls cost no statement. */
  readonly recent: () => Promise<Snapshot | undefined>
  /** The names that this process read last, which may be outdated. */
  readonly latest: () => Snapshot | undefined
  /** Gives each entry of the lists at a generation, in pages. */
  readonly eachEntry: (generation: number, take: TakeEntry) => Promise<void>
}

export type TakeEntry = (row: IndexedEntry, said: Detail) => void

const rowsPerPage = 1000

type Detail = Omit<ListEntry, 'id'>
const hashed = (kind: 'sha256' | 'md5', text: string): string => createHash(kind).update(text).digest('hex')

/** `digest`: of what a decision about the entry depends on. An address may be written otherwise, and the entry stays the same. */
type WrittenEntry = store.NewEntry & { readonly detailHash: string }
const toNewEntry = ({ id: entryId, ...rest }: ListEntry): WrittenEntry => {
  const { addresses: _addresses, ...asked } = rest
  const detail = JSON.stringify(rest)
  return { entryId, detail, digest: hashed('sha256', JSON.stringify(asked)), detailHash: hashed('md5', detail) }
}

/**
 * Reports whether decisions about the entry hold: only its addresses differ, or it was read by a version that read no countries and fewer
 * dates of birth, and the file says the same otherwise.
 */
function isSameEntry(before: string, after: string): boolean {
  const { addresses: _before, births: birthsBefore, ...old } = ownJson<Detail>(before)
  const { addresses: _after, births, countries, documents, ...rest } = ownJson<Detail>(after)
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
  /** SCREENED_TEXTS: names of persons and organisations are looked for in texts of payments. Default: they are not. */
  readonly textNames?: boolean
}

const recentMs = 5 * secondMs

export function createLists({ db, clock, textNames = false }: ListsDeps): Lists {
  let latest: Snapshot | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let reading: { readonly generation: number; readonly snapshot: Promise<Snapshot> } | undefined
  /** Concurrent callers share a read. */
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
 * Refuses (validation_failed) a list of politically exposed persons that lost half of its records. The file states no number of
 * records, so that only its length shows that it was cut between two of them.
 */
async function refuseShortened(tx: Tx, { source, entries: { length } }: SanctionsList): Promise<void> {
  const before = (await store.currentLists(tx)).find((each) => each.source === source)
  if (before === undefined || !isPepSource(source) || length * 2 >= before.entries) return
  const detail = `The list has ${length} records, and the loaded one ${before.entries}: is the file whole?`
  throw new Refusal('validation_failed', detail)
}

/** Replaces the list of a source. The caller has locked the lists. Refuses: validation_failed (older than the loaded list). */
export async function replaceList(tx: Tx, clock: Clock, list: SanctionsList, staff: string): Promise<LoadedList> {
  const lists = await store.currentLists(tx)
  const last = lists.find(({ source }) => source === list.source)
  const isSame = last?.hash === list.hash
  if (!isSame && last !== undefined && list.publishedAt < last.publishedAt) {
    const [older, newer] = [list.publishedAt, last.publishedAt].map((time) => time.toISOString())
    throw new Refusal('validation_failed', `The list is of ${older}; that of ${newer} is loaded already.`)
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
  // A version that reads more of a file than the one that loaded it finds more in the same file.
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

/** Returns the entries to write. One about which decisions hold keeps the digest by which hits know it. */
async function withKeptDigests(
  tx: Tx,
  source: SanctionsList['source'],
  page: readonly WrittenEntry[],
  before: ReadonlyMap<string, store.KnownEntry>,
): Promise<readonly store.NewEntry[]> {
  const differing = page.filter(({ entryId, detailHash }) => before.get(entryId)?.detailHash !== detailHash)
  const known = differing.filter(({ entryId, digest }) => (before.get(entryId)?.digest ?? digest) !== digest)
  const details = await store.detailsOf(
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

/** Entries of a generation never change, so that pages in statements of their own read one state. */
async function eachEntry(db: Database, generation: number, take: TakeEntry): Promise<void> {
  for (let page: readonly store.EntryRow[] = []; ;) {
    page = await store.entriesAt(db, generation, page.at(-1), rowsPerPage)
    for (const { detail, ...row } of page) take(row, ownJson<Detail>(detail))
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
    for (const { text } of comparedNames(said)) into.push({ entry, text, kind: said.kind })
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
  { names: _names, wallets: _wallets, craft: _craft, ...facts }: Detail,
): SearchedEntry => ({ ...row, ...facts })

/** The publisher says that a weak name of one word, such as `Abu Saleh`, identifies no person. Vessels, aircraft and countries are no names of parties. */
export const comparedNames = ({ names, kind }: Pick<ListEntry, 'names' | 'kind'>): ListEntry['names'] =>
  kind === 'other' || kind === 'country'
    ? []
    : names.filter(({ text, quality }) => quality !== 'weak' || wordsOf(text).telling.length > 1)
