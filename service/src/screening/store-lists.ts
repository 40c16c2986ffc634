/** All SQL of lists. All partners share these tables. */
import { acrossPartners, insertBy, type RowOf, sql, type Tx } from '../postgres/index.ts'
import type { ListSource } from './lists/entry.ts'
import type { SubjectKey } from './rules.ts'

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

/** Locks the lists, so that no other process loads one until the transaction ends. */
export async function lockLists(tx: Tx): Promise<void> {
  await tx.run(sql`/* screening.lockLists */ lock table screening.lists in share row exclusive mode`)
}

/** Reads the current list of each source. */
export function currentLists(tx: Tx): Promise<readonly ListRow[]> {
  return tx.rows<ListRow>(sql`/* screening.currentLists */
    select distinct on (source) ${columns} from screening.lists order by source, generation desc`)
}

/** Reads the newest generation of all lists. 0: no list was loaded. */
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
  /** MD5 of the detail, to detect changes without reading it. */
  readonly detailHash: string
}

/** Reads the digests of a source's entries, by their ids. */
export async function knownEntries(tx: Tx, source: ListSource): Promise<ReadonlyMap<string, KnownEntry>> {
  const rows = await tx.rows<KnownEntry & { entryId: string }>(sql`/* screening.knownEntries */
    select entry_id, digest, md5(detail) as detail_hash from screening.entries
    where source = ${source} and until_generation is null`)
  return new Map(rows.map(({ entryId, ...row }) => [entryId, row]))
}

/** Reads the details of entries of a source, by their ids. */
export async function entryDetails(
  tx: Tx,
  source: ListSource,
  entryIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (entryIds.length === 0) return new Map()
  const rows = await tx.rows<{ entryId: string; detail: string }>(sql`/* screening.entryDetails */
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

/** Reads the rules for countries at a generation, each with the generation that wrote it. */
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

/** Lists a page of entries at a generation, after the cursor. */
export function listEntries(
  tx: Tx,
  generation: number,
  after: Pick<EntryRow, 'source' | 'entryId'> | undefined,
  rowsMax: number,
): Promise<readonly EntryRow[]> {
  return tx.rows<EntryRow>(sql`/* screening.listEntries */
    select source, entry_id, digest, detail from screening.entries
    where from_generation <= ${generation} and (until_generation is null or until_generation > ${generation})
      and (source, entry_id) > (${after?.source ?? ''}, ${after?.entryId ?? ''})
    order by source, entry_id limit ${rowsMax}`)
}

// The ages of open hits and unscreened names of all partners, for metrics.

/** Reads when the oldest open hit was opened. Null: none is open. */
export async function oldestOpenHit(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ openedAt: Date }>(
    acrossPartners(
      'reads the age of the oldest open hit, for a metric',
      sql`/* screening.oldestOpenHit */
        select opened_at from screening.hits where status = 'open' order by opened_at, id limit 1`,
    ),
  )
  return row?.openedAt ?? null
}

/** Reads when the oldest name without a comparison was written. Null: there is none. */
async function oldestWritten(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ changedAt: Date }>(
    acrossPartners(
      'reads since when a new name waits to be screened, for a metric',
      sql`/* screening.oldestWritten */
        select changed_at from screening.subjects where generation = 0 order by changed_at limit 1`,
    ),
  )
  return row?.changedAt ?? null
}

/** Reads the oldest list generation of all screened subjects. Null: no subject was screened. */
async function oldestGeneration(tx: Tx): Promise<number | null> {
  const row = await tx.row<{ generation: number }>(
    acrossPartners(
      'reads how far the names are behind the newest list, for a metric',
      sql`/* screening.oldestGeneration */
        select generation from screening.subjects where generation > 0 order by generation limit 1`,
    ),
  )
  return row?.generation ?? null
}

/** Reads when the first list after a generation was loaded. Null: there is none. */
async function loadedBehind(tx: Tx, generation: number): Promise<Date | null> {
  const row = await tx.row<{ loadedAt: Date }>(sql`/* screening.loadedBehind */
    select loaded_at from screening.lists where generation > ${generation} order by generation limit 1`)
  return row?.loadedAt ?? null
}

/**
 * Returns when the oldest unscreened name became due: when the name was written, but not before the first list was
 * loaded, or when the first list was loaded with which it was not compared. Null: no name is due.
 */
export async function oldestDueSubject(tx: Tx): Promise<Date | null> {
  const first = await loadedBehind(tx, 0)
  if (first === null) return null
  const written = await oldestWritten(tx)
  const generation = await oldestGeneration(tx)
  const behind = generation === null ? null : await loadedBehind(tx, generation)
  const since = [written === null || written > first ? written : first, behind].filter((time) => time !== null)
  return since.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null
}

// All SQL of the earlier names of subjects.

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  subjectKind: 'text',
  subjectId: 'uuid',
  role: 'text',
  nameSealed: 'bytea',
  replacedAt: 'timestamptz',
} as const
type EarlierName = RowOf<typeof types>

const newNames = insertBy<EarlierName>(types, [])

export async function insertEarlierNames(tx: Tx, rows: readonly EarlierName[]): Promise<void> {
  await tx.run(sql`/* screening.insertEarlierNames */
    insert into screening.earlier_names (partner_id, id, subject_kind, subject_id, role, name_sealed, replaced_at)
    ${newNames(tx, rows)}`)
}

/** Lists the earlier names of a subject, oldest first. */
export function listEarlierNames(tx: Tx, { partnerId, kind, id }: SubjectKey): Promise<readonly EarlierName[]> {
  return tx.rows<EarlierName>(sql`/* screening.listEarlierNames */
    select partner_id, id, subject_kind, subject_id, role, name_sealed, replaced_at from screening.earlier_names
    where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id} order by id`)
}
