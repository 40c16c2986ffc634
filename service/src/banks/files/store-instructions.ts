/** All SQL of instructions for a file-based bank until they are in a file, and of the files. */
import type { AccountType, ErrorKey } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import {
  columnValues,
  dueWork,
  insertBy,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { InstructionKey, PayerData } from '../../rails/index.ts'
import type { Scheme } from './deps.ts'
import type { FileKind } from './ids.ts'

export type StoredAnswer = InstructionKey & {
  readonly status: string
  readonly schemeApplied: Scheme
  readonly dueAt: Date
  readonly createdAt: Date
  /** True if the bank has the file of the payment. */
  readonly isDelivered: boolean
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly reasonCode: string | null
}

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  connector: 'text',
  endToEndId: 'text',
  currency: 'text',
  amount: 'bigint',
  creditorName: 'text',
  creditorAccount: 'text',
  creditorBic: 'text?',
  creditorAccountType: 'text?',
  creditorAddressJson: 'json?',
  remittance: 'text?',
  payerSealed: 'bytea?',
  schemeRequested: 'text',
  schemeApplied: 'text',
  schemeReason: 'text?',
  status: 'text',
  attempt: 'integer',
  dueAt: 'timestamptz',
  errorKey: 'text?',
  errorDetails: 'text?',
  reasonCode: 'text?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const
export type NewInstruction = RowOf<
  typeof types,
  {
    currency: Currency
    creditorAccountType: AccountType
    schemeRequested: Scheme
    schemeApplied: Scheme
    status: 'Refused' | 'Queued'
    errorKey: ErrorKey
  }
>

const newInstructions = insertBy<NewInstruction>(
  types,
  [
    ['partnerId', 'currency'],
    [
      'connector',
      'schemeRequested',
      'schemeApplied',
      'schemeReason',
      'status',
      'attempt',
      'dueAt',
      'errorKey',
      'errorDetails',
      'reasonCode',
      'createdAt',
      'updatedAt',
    ],
  ],
  ['partnerId', 'id'],
)

/** Inserts instructions and returns the new ones. Existing ones stay unchanged. */
export function insertInstructions(tx: Tx, rows: readonly NewInstruction[]): Promise<readonly StoredAnswer[]> {
  return tx.rows(
    unprepared(sql`/* rails.insertInstructions */
    insert into rails.iso_instructions (partner_id, id, connector, end_to_end_id, currency, amount, creditor_name,
      creditor_account, creditor_bic, creditor_account_type, creditor_address, remittance, payer_sealed, scheme_requested, scheme_applied, scheme_reason, status, attempt, due_at,
      error_key, error_details, reason_code, created_at, updated_at)
    ${newInstructions(tx, rows)}
    on conflict (partner_id, id) do nothing
    returning partner_id, id, status, scheme_applied, due_at, created_at, false as is_delivered, error_key, error_details,
      reason_code`),
  )
}

export function listAnswers(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* rails.listAnswers */
    select instruction.partner_id, instruction.id, instruction.status, instruction.scheme_applied, instruction.due_at,
      instruction.created_at, coalesce(file.state = 'Delivered', false) as is_delivered, instruction.error_key,
      instruction.error_details, instruction.reason_code
    from rails.iso_instructions instruction left join rails.iso_files file on file.id = instruction.file_id
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`instruction.partner_id`,
    )} and instruction.id = any(${keys.map((key) => key.id)}::uuid[]) and instruction.connector = ${connector}`)
}

/** Locks instant payments that the bank may have: it cannot have refused a file that was not staged. */
export function lockInstantsAtBank(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly (InstructionKey & { readonly creditorBic: string | null })[]> {
  return tx.rows(
    unprepared(sql`/* rails.lockInstantsAtBank */
    select instruction.partner_id, instruction.id, instruction.creditor_bic from rails.iso_instructions instruction
      join rails.iso_files file on file.id = instruction.file_id
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`instruction.partner_id`,
    )} and instruction.id = any(${keys.map((key) => key.id)}::uuid[]) and instruction.connector = ${connector}
      and instruction.scheme_applied = 'Instant' and instruction.status in ('Filed', 'Accepted')
      and instruction.entry_id is null and file.state <> 'Made'
    order by instruction.partner_id, instruction.id for update of instruction`),
  )
}

/** Requeues payments. Their old files stay unchanged: the next attempt is another instruction for the bank. */
export async function requeueAsCreditTransfer(
  tx: Tx,
  rows: readonly (InstructionKey & { readonly schemeReason: string })[],
  { dueAt, now }: { readonly dueAt: Date; readonly now: Date },
): Promise<void> {
  const column = columnValues(rows)
  await tx.run(
    unprepared(sql`/* rails.requeueAsCreditTransfer */
    update rails.iso_instructions instruction set status = 'Queued', scheme_applied = 'CreditTransfer',
      scheme_reason = given.scheme_reason, attempt = instruction.attempt + 1, due_at = ${dueAt}, file_id = null,
      batch_id = null, missing_since = null, updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('schemeReason')}::text[]) as given (id, scheme_reason)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id`),
  )
}

// The SQL of instructions that wait for a file.

export type OutgoingPayment = InstructionKey & {
  readonly endToEndId: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  /** Absent or null: unknown. */
  readonly creditorAccountType?: AccountType | null
  /** `PayeeAddress` as JSON. Absent or null: the payee has none. */
  readonly creditorAddressJson?: string | null
  readonly remittance: string | null
  /** Absent: the file does not name a payer. */
  readonly payer?: PayerData
  readonly schemeApplied: Scheme
  readonly attempt: number
}
/** A stored payment, with its payer sealed. */
export type SealedPayment = Omit<OutgoingPayment, 'payer'> & { readonly payerSealed: Uint8Array | null }
const paymentColumns = sql`partner_id, id, end_to_end_id, currency, amount, creditor_name, creditor_account, creditor_bic, creditor_account_type,
  creditor_address as creditor_address_json, remittance, payer_sealed, scheme_applied, attempt`

export type DuePayment = InstructionKey & { readonly dueAt: Date }

/** Lists payments of all partners that wait for a file of a scheme, oldest first. */
export function queuedPayments(
  tx: Tx,
  {
    connector,
    scheme,
    currencies,
  }: { readonly connector: string; readonly scheme: Scheme; readonly currencies: readonly Currency[] },
  now: Date,
  paymentsMax: number,
): Promise<readonly DuePayment[]> {
  return tx.rows<DuePayment>(
    dueWork('finds payments that wait for a file of a bank, without a lock', (whose) =>
      unprepared(sql`/* rails.queuedPayments */
        select partner_id, id, due_at from rails.iso_instructions
        where connector = ${connector} and scheme_applied = ${scheme} and status = 'Queued' and due_at <= ${now}
          and currency = any(${[...currencies]}::text[]) and ${whose()}
        order by due_at, id limit ${paymentsMax}`),
    ),
  )
}

/** Reads when the next payment is due for a file. */
export const filesDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next payment is due for a file of a bank',
    (whose) => sql`/* rails.filesDue */
      select min(due_at) as due_at from rails.iso_instructions
      where connector = ${connector} and status = 'Queued' and due_at > ${after} and ${whose()}`,
  )

/** Locks payments that still wait. Of two processes that write files at the same time, each locks some of them. */
export function lockQueued(
  tx: Tx,
  connector: string,
  scheme: Scheme,
  keys: readonly InstructionKey[],
): Promise<readonly SealedPayment[]> {
  const column = columnValues(keys)
  return tx.rows<SealedPayment>(
    unprepared(sql`/* rails.lockQueued */
    select ${paymentColumns} from rails.iso_instructions
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[]) and connector = ${connector}
      and scheme_applied = ${scheme} and status = 'Queued'
    order by id for update skip locked`),
  )
}

export type BatchAssignment = InstructionKey & { readonly batchId: string }

export function assignInstructionsToFile(tx: Tx, rows: readonly BatchAssignment[], fileId: string, now: Date): void {
  const column = columnValues(rows)
  tx.later(
    unprepared(sql`/* rails.assignInstructionsToFile */
    update rails.iso_instructions instruction set status = 'Filed', file_id = ${fileId}, batch_id = given.batch_id,
      updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('batchId')}::text[]) as given (id, batch_id)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id
      and instruction.status = 'Queued'`),
    rows.length,
  )
}

/** Lists the payments of a file, by its batches. */
export function paymentsOfBatches(
  tx: Tx,
  connector: string,
  batchIds: readonly string[],
): Promise<readonly (SealedPayment & { readonly batchId: string })[]> {
  return tx.rows(
    dueWork('reads the payments of a file of a bank, by the index of its batches', (whose) =>
      unprepared(sql`/* rails.paymentsOfBatches */
        select ${paymentColumns}, batch_id from rails.iso_instructions
        where connector = ${connector} and batch_id = any(${[...batchIds]}::text[]) and ${whose()}`),
    ),
  )
}

export type QueuedCount = { readonly scheme: Scheme; readonly payments: bigint }

/** Counts payments that wait for a file or for the bank to open. */
export async function countQueued(tx: Tx, connector: string): Promise<ReadonlyMap<Scheme, number>> {
  const rows = await tx.rows<QueuedCount>(
    dueWork(
      'counts the payments that wait for a file of a bank, for a metric, by the index of queued payments',
      (whose) => sql`/* rails.countQueued */
        select scheme_applied as scheme, count(*) as payments from rails.iso_instructions
        where connector = ${connector} and status = 'Queued' and ${whose()} group by scheme_applied`,
    ),
  )
  const counts = new Map<Scheme, number>()
  for (const { scheme, payments } of rows) counts.set(scheme, (counts.get(scheme) ?? 0) + Number(payments))
  return counts
}

// The SQL of files for a bank. A file has payments of many partners, so its table has no partner.

export type FileState = 'Made' | 'Staged' | 'Delivered'

/** Figures computed from the payments of a file. */
export type FileFigures = {
  readonly sha256: string
  readonly bytes: bigint
  readonly payments: bigint
  readonly controlSum: string
}
export type OutgoingFile = FileFigures & {
  readonly id: string
  readonly kind: FileKind
  readonly messageId: string
  /** The name of the message, such as `pain.001.001.09`, for recalls of its payments. */
  readonly messageName: string
  readonly name: string
  readonly state: FileState
  readonly stagedName: string | null
  /** The lease of the last attempt. */
  readonly leaseId: string | null
  readonly madeAt: Date
}

const fileColumns = sql`id, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state, staged_name, lease_id, made_at`

export function insertFile(tx: Tx, connector: string, file: OutgoingFile): void {
  tx.later(sql`/* rails.insertFile */
    insert into rails.iso_files (id, connector, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state, made_at)
    values (${file.id}, ${connector}, ${file.kind}, ${file.messageId}, ${file.messageName}, ${file.name}, ${file.sha256}, ${file.bytes},
      ${file.payments}, ${file.controlSum}, ${file.state}, ${file.madeAt})`)
}

export async function filesByIds(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, OutgoingFile>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.rows<OutgoingFile>(sql`/* rails.filesByIds */
    select ${fileColumns} from rails.iso_files where id = any(${[...ids]}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Lists files that are not delivered or leased, oldest first, without a lock. */
export function undeliveredFiles(
  tx: Tx,
  connector: string,
  now: Date,
  filesMax: number,
): Promise<readonly OutgoingFile[]> {
  return tx.rows<OutgoingFile>(sql`/* rails.undeliveredFiles */
    select ${fileColumns} from rails.iso_files
    where connector = ${connector} and state <> 'Delivered' and (leased_until is null or leased_until <= ${now})
    order by made_at, id limit ${filesMax}`)
}

/** Reads when the next file is due for delivery. */
export const deliveriesDue = (connector: string, after: Date): Sql => sql`/* rails.deliveriesDue */
  select min(coalesce(leased_until, made_at)) as due_at from rails.iso_files
  where connector = ${connector} and state <> 'Delivered' and coalesce(leased_until, made_at) > ${after}`

export type FileLease = { readonly leaseId: string; readonly leasedUntil: Date; readonly now: Date }

/** Leases a file; undefined if another process has it. */
export function claimFile(
  tx: Tx,
  id: string,
  { leaseId, leasedUntil, now }: FileLease,
): Promise<OutgoingFile | undefined> {
  return tx.row<OutgoingFile>(sql`/* rails.claimFile */
    update rails.iso_files set lease_id = ${leaseId}, leased_until = ${leasedUntil}, attempts = attempts + 1
    where id = ${id} and state <> 'Delivered' and (leased_until is null or leased_until <= ${now})
    returning ${fileColumns}`)
}

type LeasedFileKey = { readonly id: string; readonly leaseId: string }

/** Stores new contents of a file that the bank does not have. Returns 1, or 0 if the lease was lost. */
export function rebuildFile(
  tx: Tx,
  { id, leaseId, messageName }: LeasedFileKey & Pick<OutgoingFile, 'messageName'>,
  madeAt: Date,
  contents: FileFigures,
): Promise<number> {
  return tx.run(sql`/* rails.rebuildFile */
    update rails.iso_files set made_at = ${madeAt}, message_name = ${messageName}, sha256 = ${contents.sha256}, bytes = ${contents.bytes},
      payments = ${contents.payments}, control_sum = ${contents.controlSum}
    where id = ${id} and lease_id = ${leaseId} and state = 'Made'`)
}

/** Marks a file as staged. Returns 1, or 0 if the lease was lost. */
export function markStaged(tx: Tx, { id, leaseId }: LeasedFileKey, stagedName: string): Promise<number> {
  return tx.run(sql`/* rails.markStaged */
    update rails.iso_files set state = 'Staged', staged_name = ${stagedName}
    where id = ${id} and lease_id = ${leaseId} and state = 'Made'`)
}

/** Marks a staged file as lost before its rename. Returns 1, or 0 if the lease was lost. */
export function unmarkStaged(tx: Tx, { id, leaseId }: LeasedFileKey, stagedName: string): Promise<number> {
  return tx.run(sql`/* rails.unmarkStaged */
    update rails.iso_files set state = 'Made', staged_name = null
    where id = ${id} and lease_id = ${leaseId} and state = 'Staged' and staged_name = ${stagedName}`)
}

/** Marks a file as delivered. Any process that saw the renamed file may do so. */
export function markDelivered(tx: Tx, id: string, stagedName: string, now: Date): Promise<number> {
  return tx.run(sql`/* rails.markDelivered */
    update rails.iso_files set state = 'Delivered', delivered_at = ${now}, leased_until = null, problem = null
    where id = ${id} and state = 'Staged' and staged_name = ${stagedName}`)
}

/** Postpones the next delivery of the file to `at`. */
export async function postponeFile(tx: Tx, { id, leaseId }: LeasedFileKey, at: Date, problem: string): Promise<void> {
  await tx.run(sql`/* rails.postponeFile */
    update rails.iso_files set leased_until = ${at}, problem = ${problem}
    where id = ${id} and lease_id = ${leaseId} and state <> 'Delivered'`)
}

/** Ends all leases, at the start of the only process. */
export async function releaseFileLeases(tx: Tx): Promise<void> {
  await tx.run(sql`/* rails.releaseFileLeases */
    update rails.iso_files set leased_until = null where state <> 'Delivered' and leased_until is not null`)
}

/** Returns when the oldest undelivered file was created. */
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

/** Lists files, newest first. */
export function newestFiles(tx: Tx, connector: string, filesMax: number): Promise<readonly ListedFile[]> {
  return tx.rows<ListedFile>(sql`/* rails.newestFiles */
    select connector, id, kind, message_id, name, sha256, payments, control_sum, state, made_at, delivered_at, attempts,
      problem, bank_status
    from rails.iso_files where connector = ${connector} order by made_at desc limit ${filesMax}`)
}
