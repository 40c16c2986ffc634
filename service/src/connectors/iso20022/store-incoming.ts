/** All SQL of incoming messages: the lease of a bank's folder, and the messages. They belong to no partner. */
import { sql, type Tx } from '../../postgres/index.ts'

export async function addIncoming(tx: Tx, connector: string): Promise<void> {
  await tx.run(sql`/* rails.addIncoming */
    insert into rails.iso_incoming (connector) values (${connector}) on conflict (connector) do nothing`)
}

/** Returns 1 if the lease was free, has ended, or is already this one. */
export function takeLease(
  tx: Tx,
  connector: string,
  { leaseId, now, until }: { readonly leaseId: string; readonly now: Date; readonly until: Date },
): Promise<number> {
  return tx.run(sql`/* rails.takeLease */
    update rails.iso_incoming set lease_id = ${leaseId}, leased_until = ${until}
    where connector = ${connector} and (lease_id is null or lease_id = ${leaseId} or leased_until <= ${now})`)
}

export async function endLease(tx: Tx, connector: string, leaseId: string): Promise<void> {
  await tx.run(sql`/* rails.endLease */
    update rails.iso_incoming set lease_id = null, leased_until = null
    where connector = ${connector} and lease_id = ${leaseId}`)
}

/** Locks the lease and reads its owner. */
export async function lockLease(tx: Tx, connector: string): Promise<string | null> {
  const row = await tx.row<{ leaseId: string | null }>(sql`/* rails.lockLease */
    select lease_id from rails.iso_incoming where connector = ${connector} for update`)
  return row?.leaseId ?? null
}

export type MessageState = 'Taking' | 'Taken' | 'Repeated' | 'Aside'
export type MessageRow = {
  readonly id: string
  readonly connector: string
  readonly kind: string | null
  readonly messageId: string | null
  readonly fileName: string
  readonly sha256: string
  readonly bytes: number
  readonly state: MessageState
  readonly problem: string | null
  readonly receivedAt: Date
  readonly takenAt: Date | null
}

/** Returns 0 if a message of this id exists. */
export function insertMessage(tx: Tx, row: MessageRow): Promise<number> {
  return tx.run(sql`/* rails.insertMessage */
    insert into rails.iso_messages (id, connector, kind, message_id, file_name, sha256, bytes, state, entries, problem,
      received_at, taken_at)
    values (${row.id}, ${row.connector}, ${row.kind}, ${row.messageId}, ${row.fileName}, ${row.sha256}, ${row.bytes},
      ${row.state}, 0, ${row.problem}, ${row.receivedAt}, ${row.takenAt})
    on conflict (id) do nothing`)
}

export type KnownMessage = {
  readonly id: string
  readonly kind: string | null
  readonly messageId: string | null
  readonly fileName: string
  readonly sha256: string
  readonly state: MessageState
  readonly entries: bigint
  readonly receivedAt: Date
  readonly finishedAt: Date | null
}

/** Messages with the same bytes, first the one that was processed. */
export function messagesByHash(tx: Tx, connector: string, sha256: string): Promise<readonly KnownMessage[]> {
  return tx.rows(sql`/* rails.messagesByHash */
    select id, kind, message_id, file_name, sha256, state, entries, received_at, finished_at from rails.iso_messages
    where connector = ${connector} and sha256 = ${sha256} and state <> 'Repeated' order by state = 'Aside', received_at, id limit 50`)
}

/** The message of this id that counts. */
export function messageById(
  tx: Tx,
  connector: string,
  kind: string,
  messageId: string,
): Promise<KnownMessage | undefined> {
  return tx.row(sql`/* rails.messageById */
    select id, kind, message_id, file_name, sha256, state, entries, received_at, finished_at from rails.iso_messages
    where connector = ${connector} and kind = ${kind} and message_id = ${messageId} and state in ('Taking', 'Taken')`)
}

/** How much of a message is written while it is being processed. */
export async function positionOf(tx: Tx, id: string): Promise<number | undefined> {
  const row = await tx.row<{ entries: bigint }>(sql`/* rails.positionOf */
    select entries from rails.iso_messages where id = ${id} and state = 'Taking'`)
  return row && Number(row.entries)
}

export function moveMessage(tx: Tx, id: string, entries: number): void {
  tx.later(
    sql`/* rails.moveMessage */
    update rails.iso_messages set entries = ${entries} where id = ${id} and state = 'Taking'`,
    1,
  )
}

export function endMessage(tx: Tx, id: string, now: Date): void {
  tx.later(
    sql`/* rails.endMessage */
    update rails.iso_messages set state = 'Taken', taken_at = ${now} where id = ${id} and state = 'Taking'`,
    1,
  )
}

export type AsideRow = Pick<
  MessageRow,
  'id' | 'connector' | 'kind' | 'messageId' | 'fileName' | 'sha256' | 'receivedAt'
> & {
  readonly releasedAt: Date | null
}

/** A file that was quarantined, locked. */
export function lockAside(tx: Tx, id: string): Promise<AsideRow | undefined> {
  return tx.row<AsideRow>(sql`/* rails.lockAside */
    select id, connector, kind, message_id, file_name, sha256, received_at, released_at from rails.iso_messages
    where id = ${id} and state = 'Aside' for update`)
}

export async function releaseAside(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.releaseAside */ update rails.iso_messages set released_at = ${now} where id = ${id}`)
}

/** Files that were released and are not taken yet. */
export function releasedFiles(tx: Tx, connector: string): Promise<readonly AsideRow[]> {
  return tx.rows<AsideRow>(sql`/* rails.releasedFiles */
    select id, connector, kind, message_id, file_name, sha256, received_at, released_at from rails.iso_messages
    where connector = ${connector} and released_at is not null and state = 'Aside' and taken_at is null
    order by received_at, id limit 100`)
}

/** Marks a released file as taken: the message that was made of it counts. */
export async function endReleased(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.endReleased */ update rails.iso_messages set taken_at = ${now} where id = ${id}`)
}

/** Marks a file that is in our archive and no longer at the bank. */
export async function finishMessage(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.finishMessage */
    update rails.iso_messages set finished_at = ${now} where id = ${id}`)
}
