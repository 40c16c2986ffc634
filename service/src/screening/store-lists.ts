/** All SQL of lists. The tables belong to no partner: a list applies to all. */
import { insertBy, sql, type Tx } from '../postgres/index.ts'
import type { ListSource } from './lists/entry.ts'

export type ListRow = {
  readonly generation: number
  readonly source: ListSource
  readonly publishedAt: Date
  readonly hash: string
  readonly loadedAt: Date
  readonly loadedBy: string
  readonly entries: number
  readonly names: number
  readonly added: number
  readonly changed: number
  readonly removed: number
}

const columns = sql`generation, source, published_at, hash, loaded_at, loaded_by, entries, names, added, changed, removed`

/** Locks the lists: no other process loads one until the transaction ends. */
export async function lockLists(tx: Tx): Promise<void> {
  await tx.run(sql`/* screening.lockLists */ lock table screening.lists in share row exclusive mode`)
}

/** The list of each source, by its newest generation. */
export function currentLists(tx: Tx): Promise<readonly ListRow[]> {
  return tx.rows<ListRow>(sql`/* screening.currentLists */
    select distinct on (source) ${columns} from screening.lists order by source, generation desc`)
}

/** The newest generation of all lists; 0: no list was loaded. */
export async function currentGeneration(tx: Tx): Promise<number> {
  const row = await tx.row<{ generation: number }>(sql`/* screening.currentGeneration */
    select generation from screening.lists order by generation desc limit 1`)
  return row?.generation ?? 0
}

export async function insertList(tx: Tx, row: ListRow): Promise<void> {
  await tx.run(sql`/* screening.insertList */
    insert into screening.lists (${columns})
    values (${row.generation}, ${row.source}, ${row.publishedAt}, ${row.hash}, ${row.loadedAt}, ${row.loadedBy},
      ${row.entries}, ${row.names}, ${row.added}, ${row.changed}, ${row.removed})`)
}

export type KnownEntry = {
  readonly digest: string
  /** MD5 of the detail: tells without reading it whether it says anything else. */
  readonly detailHash: string
}

/** The entries of a source, by their ids. */
export async function knownEntries(tx: Tx, source: ListSource): Promise<ReadonlyMap<string, KnownEntry>> {
  const rows = await tx.rows<KnownEntry & { entryId: string }>(sql`/* screening.knownEntries */
    select entry_id, digest, md5(detail) as detail_hash from screening.entries
    where source = ${source} and until_generation is null`)
  return new Map(rows.map(({ entryId, ...row }) => [entryId, row]))
}

/** The details of these entries of a source, by their ids. */
export async function detailsOf(
  tx: Tx,
  source: ListSource,
  entryIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (entryIds.length === 0) return new Map()
  const rows = await tx.rows<{ entryId: string; detail: string }>(sql`/* screening.detailsOf */
    select entry_id, detail from screening.entries
    where source = ${source} and until_generation is null and entry_id = any(${entryIds}::text[])`)
  return new Map(rows.map(({ entryId, detail }) => [entryId, detail]))
}

export async function endEntries(
  tx: Tx,
  source: ListSource,
  entryIds: readonly string[],
  generation: number,
): Promise<void> {
  await tx.run(sql`/* screening.endEntries */
    update screening.entries set until_generation = ${generation}
    where source = ${source} and until_generation is null and entry_id = any(${entryIds}::text[])`)
}

export type NewEntry = { readonly entryId: string; readonly digest: string; readonly detail: string }

const newEntries = insertBy<NewEntry & { readonly source: string; readonly fromGeneration: number }>(
  { source: 'text', entryId: 'text', fromGeneration: 'integer', digest: 'text', detail: 'text' },
  [['source', 'fromGeneration']],
)

export async function insertEntries(
  tx: Tx,
  source: ListSource,
  fromGeneration: number,
  entries: readonly NewEntry[],
): Promise<void> {
  const rows = entries.map((entry) => ({ ...entry, source, fromGeneration }))
  await tx.run(sql`/* screening.insertEntries */
    insert into screening.entries (source, entry_id, from_generation, digest, detail) ${newEntries(tx, rows)}`)
}

/** The rules for countries at a generation, each with the generation that wrote it. */
export function countryEntriesAt(
  tx: Tx,
  generation: number,
): Promise<readonly (NewEntry & { readonly fromGeneration: number })[]> {
  return tx.rows(sql`/* screening.countryEntriesAt */
    select entry_id, digest, detail, from_generation from screening.entries
    where source = 'countries' and from_generation <= ${generation}
      and (until_generation is null or until_generation > ${generation})
    order by entry_id`)
}

export type EntryRow = NewEntry & { readonly source: ListSource }

/** A page of the entries of the lists at a generation, after one of them. */
export function entriesAt(
  tx: Tx,
  generation: number,
  after: Pick<EntryRow, 'source' | 'entryId'> | undefined,
  rowsMax: number,
): Promise<readonly EntryRow[]> {
  return tx.rows<EntryRow>(sql`/* screening.entriesAt */
    select source, entry_id, digest, detail from screening.entries
    where from_generation <= ${generation} and (until_generation is null or until_generation > ${generation})
      and (source, entry_id) > (${after?.source ?? ''}, ${after?.entryId ?? ''})
    order by source, entry_id limit ${rowsMax}`)
}
