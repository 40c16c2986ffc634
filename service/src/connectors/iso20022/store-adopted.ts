/**
 * All SQL of files that a bank has and that a restored database did not know. They name no partner, because their
 * messages do not.
 */
import { insertBy, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { OutgoingFile } from './store-files.ts'

type Key = { readonly id: string; readonly attempt: number }
export type Adopted = Key & { readonly fileId: string; readonly batchId: string }

export function insertAdoptedFile(tx: Tx, connector: string, file: OutgoingFile, now: Date): Promise<number> {
  return tx.run(sql`/* rails.insertAdoptedFile */
    insert into rails.iso_files (id, connector, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state,
      staged_name, made_at, delivered_at)
    values (${file.id}, ${connector}, ${file.kind}, ${file.messageId}, ${file.messageName}, ${file.name}, ${file.sha256}, ${file.bytes},
      ${file.payments}, ${file.controlSum}, ${file.state}, ${file.stagedName}, ${file.madeAt}, ${now})
    on conflict do nothing`)
}

const newAdopted = insertBy<Adopted & { readonly connector: string }>(
  { connector: 'text', id: 'uuid', attempt: 'integer', fileId: 'uuid', batchId: 'text' },
  [['connector']],
)

export async function insertAdopted(tx: Tx, connector: string, rows: readonly Adopted[]): Promise<void> {
  const adopted = newAdopted(
    tx,
    rows.map((row) => ({ ...row, connector })),
  )
  await tx.run(
    unprepared(sql`/* rails.insertAdopted */
    insert into rails.iso_adopted (connector, instruction_id, attempt, file_id, batch_id) ${adopted}
    on conflict do nothing`),
  )
}

/** The payments among these that the bank has. */
export function adoptedOf(tx: Tx, connector: string, ids: readonly string[]): Promise<readonly Adopted[]> {
  return tx.rows<Adopted>(sql`/* rails.adoptedOf */
    select instruction_id as id, attempt, file_id, batch_id from rails.iso_adopted
    where connector = ${connector} and instruction_id = any(${[...ids]}::uuid[])`)
}

/** Marks a file as delivered: the bank has it, and the database lost its record of the delivery. */
export function markPublished(tx: Tx, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* rails.markPublished */
    update rails.iso_files set state = 'Delivered', staged_name = coalesce(staged_name, name), delivered_at = ${now},
      leased_until = null, problem = null
    where id = ${id} and state <> 'Delivered'`)
}
