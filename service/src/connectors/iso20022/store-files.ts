/** All SQL of the files for a bank. They belong to the bank as a whole, so that their table names no partner. */
import { type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { FileKind } from './ids.ts'

export type FileState = 'Made' | 'Staged' | 'Delivered'

/** Figures that follow from the payments of a file. */
export type Contents = {
  readonly sha256: string
  readonly bytes: bigint
  readonly payments: bigint
  readonly controlSum: string
}
export type OutgoingFile = Contents & {
  readonly id: string
  readonly kind: FileKind
  readonly messageId: string
  /** `pain.001.001.09`: recalls of its payments name the message. */
  readonly messageName: string
  readonly name: string
  readonly state: FileState
  readonly stagedName: string | null
  /** The lease of the last attempt. */
  readonly leaseId: string | null
  readonly madeAt: Date
}

const facts = sql`id, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state, staged_name, lease_id, made_at`

export function insertFile(tx: Tx, connector: string, file: OutgoingFile): void {
  tx.later(sql`/* rails.insertFile */
    insert into rails.iso_files (id, connector, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state, made_at)
    values (${file.id}, ${connector}, ${file.kind}, ${file.messageId}, ${file.messageName}, ${file.name}, ${file.sha256}, ${file.bytes},
      ${file.payments}, ${file.controlSum}, ${file.state}, ${file.madeAt})`)
}

export async function filesByIds(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, OutgoingFile>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.rows<OutgoingFile>(sql`/* rails.filesByIds */
    select ${facts} from rails.iso_files where id = any(${[...ids]}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Files that no process delivers at the moment, oldest first, without a lock. */
export function undelivered(tx: Tx, connector: string, now: Date, filesMax: number): Promise<readonly OutgoingFile[]> {
  return tx.rows<OutgoingFile>(sql`/* rails.undelivered */
    select ${facts} from rails.iso_files
    where connector = ${connector} and state <> 'Delivered' and (leased_until is null or leased_until <= ${now})
    order by made_at, id limit ${filesMax}`)
}

/** When the next file is due at the bank. */
export const deliveriesDue = (connector: string, after: Date): Sql => sql`/* rails.deliveriesDue */
  select min(coalesce(leased_until, made_at)) as due_at from rails.iso_files
  where connector = ${connector} and state <> 'Delivered' and coalesce(leased_until, made_at) > ${after}`

export type Lease = { readonly leaseId: string; readonly leasedUntil: Date; readonly now: Date }

/** The file as it is under the lease, or undefined: another process has it. */
export function claimFile(tx: Tx, id: string, { leaseId, leasedUntil, now }: Lease): Promise<OutgoingFile | undefined> {
  return tx.row<OutgoingFile>(sql`/* rails.claimFile */
    update rails.iso_files set lease_id = ${leaseId}, leased_until = ${leasedUntil}, attempts = attempts + 1
    where id = ${id} and state <> 'Delivered' and (leased_until is null or leased_until <= ${now})
    returning ${facts}`)
}

type Held = { readonly id: string; readonly leaseId: string }

/**
 * Remakes a file of which nothing is at the bank, so that it may follow a changed configuration. Returns 1, or 0
 * without the lease.
 */
export function remake(
  tx: Tx,
  { id, leaseId, messageName }: Held & Pick<OutgoingFile, 'messageName'>,
  madeAt: Date,
  contents: Contents,
): Promise<number> {
  return tx.run(sql`/* rails.remake */
    update rails.iso_files set made_at = ${madeAt}, message_name = ${messageName}, sha256 = ${contents.sha256}, bytes = ${contents.bytes},
      payments = ${contents.payments}, control_sum = ${contents.controlSum}
    where id = ${id} and lease_id = ${leaseId} and state = 'Made'`)
}

/** Returns 1, or 0 if the lease was lost. */
export function markStaged(tx: Tx, { id, leaseId }: Held, stagedName: string): Promise<number> {
  return tx.run(sql`/* rails.markStaged */
    update rails.iso_files set state = 'Staged', staged_name = ${stagedName}
    where id = ${id} and lease_id = ${leaseId} and state = 'Made'`)
}

/** The staged file was lost before it was renamed. Returns 1, or 0 if the lease was lost. */
export function unmarkStaged(tx: Tx, { id, leaseId }: Held, stagedName: string): Promise<number> {
  return tx.run(sql`/* rails.unmarkStaged */
    update rails.iso_files set state = 'Made', staged_name = null
    where id = ${id} and lease_id = ${leaseId} and state = 'Staged' and staged_name = ${stagedName}`)
}

/** Marks a file as delivered. Any process that has seen the renamed file may do so. */
export function markDelivered(tx: Tx, id: string, stagedName: string, now: Date): Promise<number> {
  return tx.run(sql`/* rails.markDelivered */
    update rails.iso_files set state = 'Delivered', delivered_at = ${now}, leased_until = null, problem = null
    where id = ${id} and state = 'Staged' and staged_name = ${stagedName}`)
}

/** Makes the file due again at `at`. */
export async function postpone(tx: Tx, { id, leaseId }: Held, at: Date, problem: string): Promise<void> {
  await tx.run(sql`/* rails.postpone */
    update rails.iso_files set leased_until = ${at}, problem = ${problem}
    where id = ${id} and lease_id = ${leaseId} and state <> 'Delivered'`)
}

/** Ends all leases, at the start of the only process. */
export async function releaseFileLeases(tx: Tx): Promise<void> {
  await tx.run(sql`/* rails.releaseFileLeases */
    update rails.iso_files set leased_until = null where state <> 'Delivered' and leased_until is not null`)
}

/** When the oldest undelivered file was made. */
export async function oldestUndelivered(tx: Tx, connector: string): Promise<Date | null> {
  const row = await tx.row<{ madeAt: Date }>(sql`/* rails.oldestUndelivered */
    select made_at from rails.iso_files where connector = ${connector} and state <> 'Delivered' order by made_at limit 1`)
  return row?.madeAt ?? null
}

export type ListedFile = Pick<
  OutgoingFile,
  'id' | 'kind' | 'messageId' | 'name' | 'sha256' | 'payments' | 'controlSum' | 'state' | 'madeAt'
> & {
  readonly connector: string
  readonly deliveredAt: Date | null
  readonly attempts: number
  readonly problem: string | null
  readonly bankStatus: string | null
}

/** Newest first. */
export function newestFiles(tx: Tx, connector: string, filesMax: number): Promise<readonly ListedFile[]> {
  return tx.rows<ListedFile>(sql`/* rails.newestFiles */
    select connector, id, kind, message_id, name, sha256, payments, control_sum, state, made_at, delivered_at, attempts,
      problem, bank_status
    from rails.iso_files where connector = ${connector} order by made_at desc limit ${filesMax}`)
}
