/** All SQL of the audit log. No statement changes or deletes a record, a link or a head. */
import { type RecordKind, recordKinds } from '@partner-payments/wire'
import { nilId, present } from '../kernel/index.ts'
import { dueWork, insertBy, noSql, ofOnePartner, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'

export type RecordRow = { readonly partnerId: string; readonly id: string; readonly content: string }
const newRecords = insertBy<RecordRow>({ partnerId: 'uuid', id: 'uuid', content: 'json' }, [['partnerId']])

/** Inserts records with the commit. Takes no lock for which another transaction waits. */
export function insertRecords(tx: Tx, rows: readonly RecordRow[]): void {
  tx.later(sql`/* audit.insertRecords */
    insert into audit.records (partner_id, id, content) ${newRecords(tx, rows)}`)
}

export type SubjectRow = { readonly partnerId: string; readonly subject: string; readonly recordId: string }

/** Stores the subject of a record, with the commit. */
export function insertSubject(tx: Tx, { partnerId, subject, recordId }: SubjectRow): void {
  tx.later(sql`/* audit.insertSubject */
    insert into audit.subjects (partner_id, subject, record_id) values (${partnerId}, ${subject}, ${recordId})`)
}

/** Lists the records about any of the subjects, newest first, older than the cursor if given. */
export function recordsAbout(
  tx: Tx,
  partnerId: string,
  subjects: readonly string[],
  beforeId: string | null,
  rowsMax: number,
): Promise<readonly RecordRow[]> {
  return tx.rows(
    unprepared(sql`/* audit.recordsAbout */
      select record.partner_id, record.id, record.content
      from audit.subjects as about join audit.records as record
        on record.partner_id = ${partnerId} and record.id = about.record_id
      where about.partner_id = ${partnerId} and about.subject = any(${subjects}::text[])
        ${beforeId === null ? noSql : sql`and about.record_id < ${beforeId}`}
      order by about.record_id desc limit ${rowsMax}`),
  )
}

export type ActRow = {
  readonly partnerId: string
  readonly recordId: string
  readonly kind: RecordKind
  readonly action: string
  readonly actorId: string | null
}
const newActs = insertBy<ActRow>(
  { partnerId: 'uuid', recordId: 'uuid', kind: 'text', action: 'text', actorId: 'text?' },
  [['partnerId', 'kind', 'action', 'actorId']],
)

/** Inserts index entries with the commit. */
export function insertActs(tx: Tx, rows: readonly ActRow[]): void {
  tx.later(sql`/* audit.insertActs */
    insert into audit.acts (partner_id, record_id, kind, action, actor_id) ${newActs(tx, rows)}`)
}

export type ThingRow = { readonly partnerId: string; readonly thing: string; readonly recordId: string }
const newThings = insertBy<ThingRow>({ partnerId: 'uuid', thing: 'text', recordId: 'uuid' }, [['partnerId']])

export function insertThings(tx: Tx, rows: readonly ThingRow[]): void {
  if (rows.length === 0) return
  tx.later(sql`/* audit.insertThings */
    insert into audit.things (partner_id, thing, record_id) ${newThings(tx, rows)}`)
}

/** Filters, all of which a record must match. Null for an absent filter. */
export type RecordFilter = {
  readonly kind: RecordKind | null
  readonly actorId: string | null
  readonly action: string | null
  readonly thing: string | null
}

type IdRange = { readonly from: string; readonly before: string | null }

/** Lists records of a range of ids, newest first. */
export function listRecords(
  tx: Tx,
  partnerId: string,
  between: IdRange,
  filter: RecordFilter,
  rowsMax: number,
): Promise<readonly RecordRow[]> {
  const found = selectIds(partnerId, between, filter, rowsMax)
  return tx.rows(
    unprepared(sql`/* audit.listRecords */
      select record.partner_id, record.id, record.content
      from (select ${found}) as found join audit.records as record
        on record.partner_id = ${partnerId} and record.id = found.record_id
      order by record.id desc limit ${rowsMax}`),
  )
}

const within = (id: Sql, { from, before }: IdRange): Sql =>
  sql`and ${id} >= ${from} ${before === null ? noSql : sql`and ${id} < ${before}`}`

const isSame = (name: Sql, value: string | null): Sql => (value === null ? noSql : sql`and ${name} = ${value}`)

/** Creates the text after `select` that finds the ids of matching records, newest first, by an index. */
function selectIds(partnerId: string, between: IdRange, filter: RecordFilter, rowsMax: number): Sql {
  const { kind, actorId, action, thing } = filter
  const isAct = sql`${isSame(sql`act.actor_id`, actorId)} ${isSame(sql`act.action`, action)}`
  // One lookup for each record, because of the limit. A merge of both indexes would read every newer act of the partner.
  const about = sql`cross join lateral (select act.kind from audit.acts as act
        where act.partner_id = ${partnerId} and act.record_id = about.record_id ${isSame(sql`act.kind`, kind)} ${isAct}
        limit 1) as known
      where about.partner_id = ${partnerId} ${within(sql`about.record_id`, between)}`
  const newest = sql`order by about.record_id desc limit ${rowsMax}`
  // Reads of a customer are among its records for an export of its data.
  if (thing !== null && kind === 'Read')
    return sql`about.record_id from audit.subjects as about ${about} and about.subject = ${thing} ${newest}`
  if (thing !== null)
    return sql`about.record_id from audit.things as about ${about} and about.thing = ${thing} ${newest}`
  if (kind === null && actorId === null && action === null)
    return sql`id as record_id from audit.records where partner_id = ${partnerId} ${within(sql`id`, between)}
      order by id desc limit ${rowsMax}`
  const actsOf = (one: RecordKind | null): Sql =>
    sql`act.record_id from audit.acts as act where act.partner_id = ${partnerId}
      ${within(sql`act.record_id`, between)} ${isSame(sql`act.kind`, one)} ${isAct}
      order by act.record_id desc limit ${rowsMax}`
  // Kind, act, and person with an act have an index by time; that of a person begins with the kind.
  if (kind !== null || actorId === null || action !== null) return actsOf(kind)
  const [first = noSql, ...more] = recordKinds.map((each) => actsOf(each))
  const others = more.reduce((some, page) => sql`${some} union all (select ${page})`, noSql)
  return sql`kinds.record_id from ((select ${first}) ${others}) as kinds`
}

/** Finds the record of the request that created an object: the oldest act about it, if it is a creation. */
export function creationRecord(tx: Tx, partnerId: string, thing: string): Promise<RecordRow | undefined> {
  return tx.row(
    unprepared(sql`/* audit.creationRecord */
      select record.partner_id, record.id, record.content from (
        select act.record_id from audit.things as about join audit.acts as act
          on act.partner_id = ${partnerId} and act.record_id = about.record_id and act.kind = 'Act'
        where about.partner_id = ${partnerId} and about.thing = ${thing} order by about.record_id limit 1) as first
      join audit.records as record on record.partner_id = ${partnerId} and record.id = first.record_id
      where record.content::jsonb -> 'details' ->> 'made' = 'true'`),
  )
}

/**
 * Returns those of the given partners that have a record before an id. The list is not empty; on a sharded database it
 * has exactly one partner.
 */
export async function listPartnersWithRecords(
  tx: Tx,
  partnerIds: readonly string[],
  before: string,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    unprepared(sql`/* audit.listPartnersWithRecords */
      select given.owner_id as partner_id from unnest(${[...partnerIds]}::uuid[]) as given (owner_id)
      where (select record.id from audit.records as record
        where record.partner_id = given.owner_id and ${ofOnePartner(partnerIds, sql`record.partner_id`)}
          and record.id < ${before}
        order by record.id limit 1) is not null`),
  )
  return rows.map(({ partnerId }) => partnerId)
}

/**
 * Returns the oldest records after an id and before another, in order: their ids, and their concatenated leaves.
 * PostgreSQL computes the leaves (`leafOf` of wire), so that no content is sent.
 */
export async function readUnchainedLeaves(
  tx: Tx,
  partnerId: string,
  { after, before }: { readonly after: string; readonly before: string },
  rowsMax: number,
): Promise<{ readonly ids: readonly string[]; readonly leaves: Buffer }> {
  const row = await tx.row<{ ids: readonly string[] | null; leaves: Buffer | null }>(
    unprepared(sql`/* audit.readUnchainedLeaves */
      select array_agg(id order by id) as ids, string_agg(leaf, ''::bytea order by id) as leaves from (
        select id, sha256('\\x00'::bytea || convert_to(content, 'UTF8')) as leaf from audit.records
        where partner_id = ${partnerId} and id > ${after} and id < ${before} order by id limit ${rowsMax}) as behind`),
  )
  return { ids: row?.ids ?? [], leaves: row?.leaves ?? Buffer.alloc(0) }
}

/** Lists records in a range of ids that no link contains, because they appeared after the loop had passed their ids. */
export function listUnlinkedRecords(
  tx: Tx,
  partnerId: string,
  { from, before }: { readonly from: string; readonly before: string },
  rowsMax: number,
): Promise<readonly RecordRow[]> {
  return tx.rows(
    unprepared(sql`/* audit.listUnlinkedRecords */
      select partner_id, id, content from audit.records as record
      where partner_id = ${partnerId} and id >= ${from} and id < ${before} and not exists (
        select 1 from (
          select unnest(coalesce(record_ids, array[record_id])) as id from audit.links
          where partner_id = ${partnerId} and record_id >= ${from} and record_id < ${before}) as linked
        where linked.id = record.id)
      order by id limit ${rowsMax}`),
  )
}

export async function recordContents(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.rows<{ id: string; content: string }>(
    unprepared(sql`/* audit.recordContents */
      select id, content from audit.records where partner_id = ${partnerId} and id = any(${ids}::uuid[])`),
  )
  return new Map(rows.map(({ id, content }) => [id, content]))
}

export type ChainRow = {
  readonly sequence: bigint
  readonly recordId: string
  readonly hash: Buffer
  readonly headSequence: bigint
}

export function readChain(tx: Tx, partnerId: string): Promise<ChainRow | undefined> {
  return tx.row(sql`/* audit.readChain */
    select sequence, record_id, hash, head_sequence from audit.chains where partner_id = ${partnerId}`)
}

export async function listChainedPartners(tx: Tx): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    dueWork('finds partners without a chain', (whose) =>
      unprepared(sql`/* audit.listChainedPartners */ select partner_id from audit.chains where ${whose()}`),
    ),
  )
  return rows.map(({ partnerId }) => partnerId)
}

/**
 * Finds partners with records to chain or a period to sign, whose chain ends before `periodStart`. The subquery with a
 * limit forces one index lookup for each partner.
 */
export async function listPartnersWithWork(
  tx: Tx,
  { before, periodStart }: { readonly before: string; readonly periodStart: string },
): Promise<readonly string[]> {
  const rows = await tx.rows<{ partnerId: string }>(
    dueWork('finds the audit logs with records to chain or a day to sign', (whose) =>
      unprepared(sql`/* audit.listPartnersWithWork */
        select chain.partner_id from audit.chains as chain
        where ${whose(sql`chain.partner_id`)} and (
          chain.sequence > chain.head_sequence and chain.record_id < ${periodStart}
          or (select record.id from audit.records as record
            where record.partner_id = chain.partner_id and record.id > chain.record_id and record.id < ${before}
            order by record.id limit 1) is not null)`),
    ),
  )
  return rows.map(({ partnerId }) => partnerId)
}

/** Locks a chain. Undefined if another process has locked it, or if there is none. */
export function claimChain(tx: Tx, partnerId: string): Promise<ChainRow | undefined> {
  return tx.row(sql`/* audit.claimChain */
    select sequence, record_id, hash, head_sequence from audit.chains where partner_id = ${partnerId}
    for update skip locked`)
}

/** Locks the chain. Waits for a process that has locked it. */
export async function lockChain(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* audit.lockChain */ select from audit.chains where partner_id = ${partnerId} for update`)
}

export async function createChain(tx: Tx, partnerId: string, hash: Uint8Array): Promise<void> {
  await tx.run(sql`/* audit.createChain */
    insert into audit.chains (partner_id, sequence, record_id, hash, head_sequence)
    values (${partnerId}, 0, ${nilId}, ${hash}, 0) on conflict do nothing`)
}

export function saveChain(tx: Tx, partnerId: string, row: ChainRow): void {
  tx.later(
    sql`/* audit.saveChain */
    update audit.chains set sequence = ${row.sequence}, record_id = ${row.recordId}, hash = ${row.hash},
      head_sequence = ${row.headSequence} where partner_id = ${partnerId}`,
    1,
  )
}

/** Maximum number of records of one link. Chaining them takes some milliseconds. */
export const recordsPerLinkMax = 1_000
export const leafBytes = 32

/** A link chains consecutive records, or a single late one. */
export type LinkRow = {
  /** The sequence of its last record. */
  readonly sequence: bigint
  readonly hash: Buffer
  /** The ids of its records, in their order. */
  readonly ids: readonly string[]
  /** 32 bytes for each record, in the same order. */
  readonly leaves: Buffer
}

export const leafAt = (leaves: Buffer, index: number): Buffer =>
  leaves.subarray(index * leafBytes, (index + 1) * leafBytes)

/** Inserts a link. `record_id` is its last record, by which the link of any of its records is found. */
export function insertLink(tx: Tx, partnerId: string, { sequence, hash, ids, leaves }: LinkRow): void {
  tx.later(sql`/* audit.insertLink */
    insert into audit.links (partner_id, sequence, records, record_id, record_ids, leaf, hash)
    values (${partnerId}, ${sequence}, ${ids.length}, ${present(ids.at(-1), `no record in link ${sequence} of partner ${partnerId}`)},
      ${ids.length === 1 ? null : ids}::uuid[], ${leaves}, ${hash})`)
}

/** Lists links by the sequence of their last record, in order. */
export function listLinks(tx: Tx, partnerId: string, first: bigint, last: bigint): Promise<readonly LinkRow[]> {
  return tx.rows(
    unprepared(sql`/* audit.listLinks */
      select sequence, hash, coalesce(record_ids, array[record_id]) as ids, leaf as leaves from audit.links
      where partner_id = ${partnerId} and sequence between ${first} and ${last} order by sequence`),
  )
}

/** Reads the leaves of a range of sequences, in order. */
export async function listLeaves(tx: Tx, partnerId: string, first: bigint, last: bigint): Promise<readonly Buffer[]> {
  const rows = await tx.rows<{ sequence: bigint; records: number; leaves: Buffer }>(
    unprepared(sql`/* audit.listLeaves */
      select sequence, records, leaf as leaves from audit.links
      where partner_id = ${partnerId} and sequence between ${first} and ${last + BigInt(recordsPerLinkMax)}
        and sequence - records < ${last} order by sequence`),
  )
  return rows.flatMap(({ sequence, records, leaves }) =>
    Array.from({ length: records }, (_, index) => ({
      place: sequence - BigInt(records - 1 - index),
      leaf: leafAt(leaves, index),
    }))
      .filter(({ place }) => first <= place && place <= last)
      .map(({ leaf }) => leaf),
  )
}

/**
 * Reads records with their sequences in the chain. Null: not chained yet. The link of a record ends with it, or is the
 * next link with more than one record, because late records are chained alone.
 */
export function readSequencedRecords(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<readonly { readonly content: string; readonly sequence: bigint | null }[]> {
  return tx.rows(
    unprepared(sql`/* audit.readSequencedRecords */
      select content, coalesce(
        (select sequence from audit.links where partner_id = ${partnerId} and record_id = record.id),
        (select sequence - records + array_position(record_ids, record.id) from (
          select sequence, records, record_ids from audit.links
          where partner_id = ${partnerId} and record_id > record.id and record_ids is not null
          order by record_id limit 1) as stretch)) as sequence
      from audit.records as record
      where partner_id = ${partnerId} and id = any(${ids}::uuid[]) order by sequence nulls last`),
  )
}

export type HeadRow = {
  readonly partnerId: string
  readonly firstSequence: bigint
  readonly lastSequence: bigint
  readonly content: string
  readonly signature: Buffer
  readonly keyId: string
}
export type SignedHead = HeadRow & { readonly publicKey: string }

export function insertHead(tx: Tx, row: HeadRow): void {
  tx.later(sql`/* audit.insertHead */
    insert into audit.heads (partner_id, last_sequence, first_sequence, content, signature, key_id)
    values (${row.partnerId}, ${row.lastSequence}, ${row.firstSequence}, ${row.content}, ${row.signature}, ${row.keyId})`)
}

/** Lists heads, newest first, older than the cursor if given. */
export function listHeads(
  tx: Tx,
  partnerId: string,
  beforeSequence: bigint | null,
  rowsMax: number,
): Promise<readonly SignedHead[]> {
  return tx.rows(
    unprepared(sql`/* audit.listHeads */
      select head.partner_id, first_sequence, last_sequence, content, signature, key_id, public_key
      from audit.heads as head join audit.keys as signing
        on signing.partner_id = ${partnerId} and signing.id = head.key_id
      where head.partner_id = ${partnerId} ${beforeSequence === null ? noSql : sql`and last_sequence < ${beforeSequence}`}
      order by last_sequence desc limit ${rowsMax}`),
  )
}

export function findCoveringHead(tx: Tx, partnerId: string, sequence: bigint): Promise<SignedHead | undefined> {
  return tx.row(sql`/* audit.findCoveringHead */
    select head.partner_id, first_sequence, last_sequence, content, signature, key_id, public_key
    from audit.heads as head join audit.keys as signing
      on signing.partner_id = ${partnerId} and signing.id = head.key_id
    where head.partner_id = ${partnerId} and last_sequence >= ${sequence} and first_sequence <= ${sequence}
    order by last_sequence limit 1`)
}

export type SubtreeRow = {
  readonly partnerId: string
  readonly firstSequence: bigint
  readonly position: number
  readonly hash: Uint8Array
}
const newSubtrees = insertBy<SubtreeRow>(
  { partnerId: 'uuid', firstSequence: 'bigint', position: 'integer', hash: 'bytea' },
  [['partnerId', 'firstSequence']],
)

export function insertSubtrees(tx: Tx, rows: readonly SubtreeRow[]): void {
  tx.later(sql`/* audit.insertSubtrees */
    insert into audit.subtrees (partner_id, first_sequence, position, hash) ${newSubtrees(tx, rows)}`)
}

export function listSubtrees(
  tx: Tx,
  partnerId: string,
  firstSequence: bigint,
): Promise<readonly { readonly hash: Buffer }[]> {
  return tx.rows(sql`/* audit.listSubtrees */
    select hash from audit.subtrees where partner_id = ${partnerId} and first_sequence = ${firstSequence}
    order by position`)
}

export type KeyRow = { readonly id: string; readonly publicKey: string; readonly privateKeySealed: Buffer }

/** Reads the newest key of a partner, which signs its heads. */
export function signingKey(tx: Tx, partnerId: string): Promise<KeyRow | undefined> {
  return tx.row(sql`/* audit.signingKey */
    select id, public_key, private_key_sealed from audit.keys where partner_id = ${partnerId}
    order by id desc limit 1`)
}

export function keyById(tx: Tx, partnerId: string, id: string): Promise<KeyRow | undefined> {
  return tx.row(sql`/* audit.keyById */
    select id, public_key, private_key_sealed from audit.keys where partner_id = ${partnerId} and id = ${id}`)
}

export async function insertKey(tx: Tx, partnerId: string, key: KeyRow, now: Date): Promise<void> {
  await tx.run(sql`/* audit.insertKey */
    insert into audit.keys (partner_id, id, public_key, private_key_sealed, created_at)
    values (${partnerId}, ${key.id}, ${key.publicKey}, ${key.privateKeySealed}, ${now})`)
}
