/** All SQL of notes that staff write about a partner, a customer or a payee. */
import { type KeptTable, noSql, sql, type Tx } from '../../postgres/index.ts'

export const notedKinds = ['partner', 'customer', 'payee'] as const
export type Noted = {
  readonly partnerId: string
  readonly kind: (typeof notedKinds)[number]
  readonly subjectId: string
}
export type Note = {
  readonly id: string
  readonly authorName: string
  readonly note: string
  readonly madeAt: Date
}

export async function insertNote(
  tx: Tx,
  { partnerId, kind, subjectId }: Noted,
  { id, authorId, authorName, note, madeAt }: Note & { readonly authorId: string },
): Promise<void> {
  await tx.run(sql`/* staff.insertNote */
    insert into staff.notes (partner_id, id, kind, subject_id, author_id, author_name, note, made_at)
    values (${partnerId}, ${id}, ${kind}, ${subjectId}, ${authorId}, ${authorName}, ${note}, ${madeAt})`)
}

/** Notes about a thing before one of them, newest first. */
export function notesOf(
  tx: Tx,
  { partnerId, kind, subjectId }: Noted,
  beforeId: string | undefined,
  rowsMax: number,
): Promise<readonly Note[]> {
  return tx.rows<Note>(sql`/* staff.notesOf */
    select id, author_name, note, made_at from staff.notes
    where partner_id = ${partnerId} and kind = ${kind} and subject_id = ${subjectId}
      ${beforeId === undefined ? noSql : sql`and id < ${beforeId}`}
    order by id desc limit ${rowsMax}`)
}

/** Deletes the notes about an erased customer, or about its payees. */
export async function eraseNotes(
  tx: Tx,
  partnerId: string,
  kind: Noted['kind'],
  subjectIds: readonly string[],
): Promise<void> {
  if (subjectIds.length === 0) return
  await tx.run(sql`/* staff.eraseNotes */
    delete from staff.notes where partner_id = ${partnerId} and kind = ${kind} and subject_id = any(${[...subjectIds]}::uuid[])`)
}

/** A note may name a person, and ends with the time of the records. */
export const keptNotes: KeptTable = {
  table: 'staff.notes',
  isOver: ({ endedBefore }) => sql`made_at < ${endedBefore}`,
}
