/** All SQL of incoming messages and of the lease of a bank's folder. Messages do not belong to partners. */
import {
  acrossPartners,
  columnValues,
  dueWork,
  erasePersonal,
  type RetainedTable,
  ofPartners,
  type PersonalColumns,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { PayeeResult } from '../../iso20022/index.ts'
import type { Currency, Minor } from '../../kernel/index.ts'
import type { InstructionKey } from '../../rails/index.ts'
import type { FileKind } from './ids.ts'

export async function addIncoming(tx: Tx, connector: string): Promise<void> {
  await tx.run(sql`/* rails.addIncoming */
    insert into rails.iso_incoming (connector) values (${connector}) on conflict (connector) do nothing`)
}

/** Takes or renews the lease. Returns 1, or 0 if another process has it. */
export function takeLease(
  tx: Tx,
  connector: string,
  { leaseId, now, until }: { readonly leaseId: string; readonly now: Date; readonly until: Date },
): Promise<number> {
  return tx.run(sql`/* rails.takeLease */
    update rails.iso_incoming set lease_id = ${leaseId}, leased_until = ${until}
    where connector = ${connector} and (lease_id is null or lease_id = ${leaseId} or leased_until <= ${now})`)
}

export async function releaseLease(tx: Tx, connector: string, leaseId: string): Promise<void> {
  await tx.run(sql`/* rails.releaseLease */
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

/** Inserts a message. Returns 0 if its id exists. */
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

/** Lists messages with the same bytes; processed ones come first. */
export function messagesByHash(tx: Tx, connector: string, sha256: string): Promise<readonly KnownMessage[]> {
  return tx.rows(sql`/* rails.messagesByHash */
    select id, kind, message_id, file_name, sha256, state, entries, received_at, finished_at from rails.iso_messages
    where connector = ${connector} and sha256 = ${sha256} and state <> 'Repeated' order by state = 'Aside', received_at, id limit 50`)
}

/** Finds the processed message with the bank's id. */
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

/** Reads the position up to which the entries of a message are stored; undefined unless it is being processed. */
export async function messagePosition(tx: Tx, id: string): Promise<number | undefined> {
  const row = await tx.row<{ entries: bigint }>(sql`/* rails.messagePosition */
    select entries from rails.iso_messages where id = ${id} and state = 'Taking'`)
  return row && Number(row.entries)
}

export function setMessagePosition(tx: Tx, id: string, entries: number): void {
  tx.later(
    sql`/* rails.setMessagePosition */
    update rails.iso_messages set entries = ${entries} where id = ${id} and state = 'Taking'`,
    1,
  )
}

export function markMessageProcessed(tx: Tx, id: string, now: Date): void {
  tx.later(
    sql`/* rails.markMessageProcessed */
    update rails.iso_messages set state = 'Taken', taken_at = ${now} where id = ${id} and state = 'Taking'`,
    1,
  )
}

export type QuarantinedFile = Pick<
  MessageRow,
  'id' | 'connector' | 'kind' | 'messageId' | 'fileName' | 'sha256' | 'receivedAt'
> & {
  readonly releasedAt: Date | null
}

/** Locks a quarantined file. */
export function lockQuarantinedFile(tx: Tx, id: string): Promise<QuarantinedFile | undefined> {
  return tx.row<QuarantinedFile>(sql`/* rails.lockQuarantinedFile */
    select id, connector, kind, message_id, file_name, sha256, received_at, released_at from rails.iso_messages
    where id = ${id} and state = 'Aside' for update`)
}

export async function releaseQuarantinedFile(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(
    sql`/* rails.releaseQuarantinedFile */ update rails.iso_messages set released_at = ${now} where id = ${id}`,
  )
}

/** Lists released files that are not processed yet. */
export function releasedFiles(tx: Tx, connector: string): Promise<readonly QuarantinedFile[]> {
  return tx.rows<QuarantinedFile>(sql`/* rails.releasedFiles */
    select id, connector, kind, message_id, file_name, sha256, received_at, released_at from rails.iso_messages
    where connector = ${connector} and released_at is not null and state = 'Aside' and taken_at is null
    order by received_at, id limit 100`)
}

/** Marks a released file as processed. Its entries belong to the message that was created from it. */
export async function endReleased(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.endReleased */ update rails.iso_messages set taken_at = ${now} where id = ${id}`)
}

/** Marks a file that is in our archive and no longer at the bank. */
export async function markMessageArchived(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* rails.markMessageArchived */
    update rails.iso_messages set finished_at = ${now} where id = ${id}`)
}

// The SQL of a bank's reports about our instructions, files and recalls.

export type InstructionStatus = 'Refused' | 'Queued' | 'Filed' | 'Accepted' | 'Settled' | 'Rejected' | 'Returned'
export type SentPayment = InstructionKey & {
  readonly endToEndId: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly schemeApplied: string
  readonly status: InstructionStatus
  readonly attempt: number
  readonly batchId: string | null
  readonly fileId: string | null
  readonly entryId: string | null
  readonly createdAt: Date
  readonly settledAt: Date | null
  readonly missingSince: Date | null
  /** The result of the bank's payee check. Null: not reported. */
  readonly payeeCheck: PayeeResult | null
}

const columns = sql`partner_id, id, end_to_end_id, currency, amount, creditor_name, creditor_account, scheme_applied, status,
  attempt, batch_id, file_id, entry_id, created_at, settled_at, missing_since, payee_check`

/** The references of a payment in a message. `id`: of the instruction, if the InstrId is ours. */
export type PaymentReferences = { readonly id: string | undefined; readonly endToEndId: string | null | undefined }

/** Finds payments by their InstrIds, or else all with the end-to-end id. */
export async function sentPaymentsByReferences(
  tx: Tx,
  connector: string,
  names: readonly PaymentReferences[],
): Promise<readonly SentPayment[]> {
  const byId = await sentWith(tx, connector, 'id', new Set(names.flatMap(({ id }) => id ?? [])))
  const known = new Set(byId.map(({ id }) => id))
  const others = names.filter(({ id = '' }) => !known.has(id)).flatMap(({ endToEndId }) => endToEndId ?? [])
  const byEndToEnd = await sentWith(tx, connector, 'endToEndId', new Set(others))
  return [...byId, ...byEndToEnd.filter(({ id }) => !known.has(id))]
}

async function sentWith(
  tx: Tx,
  connector: string,
  name: 'id' | 'endToEndId',
  texts: ReadonlySet<string>,
): Promise<readonly SentPayment[]> {
  if (texts.size === 0) return []
  const list = [...texts]
  return tx.rows(
    acrossPartners(
      'a bank reports payments by their references, and does not know the partner',
      unprepared(sql`/* rails.sentWith */
      select ${columns} from rails.iso_instructions
      where ${name === 'id' ? sql`id = any(${list}::uuid[])` : sql`end_to_end_id = any(${list}::text[])`}
        and connector = ${connector}`),
    ),
  )
}

export function sentPaymentsByBatches(
  tx: Tx,
  connector: string,
  batchIds: readonly string[],
): Promise<readonly SentPayment[]> {
  return tx.rows(
    acrossPartners(
      'a bank books the payments of a batch as one sum, and a batch has payments of many partners',
      unprepared(sql`/* rails.sentPaymentsByBatches */
      select ${columns} from rails.iso_instructions where connector = ${connector} and batch_id = any(${[...batchIds]}::text[])`),
    ),
  )
}

export function sentPaymentsByFiles(
  tx: Tx,
  connector: string,
  fileIds: readonly string[],
): Promise<readonly SentPayment[]> {
  return tx.rows(
    acrossPartners(
      'a bank books the payments of a message as one sum, and a message has payments of many partners',
      unprepared(sql`/* rails.sentPaymentsByFiles */
      select ${columns} from rails.iso_instructions where connector = ${connector} and file_id = any(${[...fileIds]}::uuid[])`),
    ),
  )
}

/** Lists payments of a file after the cursor. */
export function sentPaymentsOfFile(
  tx: Tx,
  connector: string,
  fileId: string,
  batchId: string | null,
  after: string,
  rowsMax: number,
): Promise<readonly SentPayment[]> {
  return tx.rows(
    acrossPartners(
      'a bank reports the status of a whole file, which has payments of many partners',
      unprepared(sql`/* rails.sentPaymentsOfFile */
      select ${columns} from rails.iso_instructions
      where connector = ${connector} and file_id = ${fileId} and (${batchId}::text is null or batch_id = ${batchId})
        and id > ${after} order by id limit ${rowsMax}`),
    ),
  )
}

/** Locks payments in the order of their ids and reads them. */
export function lockSentPayments(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly SentPayment[]> {
  return tx.rows(
    unprepared(sql`/* rails.lockSentPayments */
    select ${columns} from rails.iso_instructions
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and connector = ${connector} order by partner_id, id for update`),
  )
}

export type PaymentChange = InstructionKey & {
  readonly status: InstructionStatus
  readonly entryId: string | null
  readonly settledAt: Date | null
  readonly errorKey: string | null
  readonly errorDetails: string | null
  readonly reasonCode: string | null
}

/** Records a report of the bank: the payment is no longer missing. */
export function updateSentPayments(tx: Tx, rows: readonly PaymentChange[], now: Date): void {
  const column = columnValues(rows)
  tx.later(
    unprepared(sql`/* rails.updateSentPayments */
    update rails.iso_instructions instruction set status = given.status, entry_id = given.entry_id,
      settled_at = given.settled_at, error_key = coalesce(given.error_key, instruction.error_key),
      error_details = coalesce(given.error_details, instruction.error_details),
      reason_code = coalesce(given.reason_code, instruction.reason_code), missing_since = null, updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('status')}::text[], ${column('entryId')}::uuid[],
        ${column('settledAt')}::timestamptz[], ${column('errorKey')}::text[], ${column('errorDetails')}::text[],
        ${column('reasonCode')}::text[])
      as given (id, status, entry_id, settled_at, error_key, error_details, reason_code)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id`),
    rows.length,
  )
}

export type PayeeCheckResult = InstructionKey & { readonly payee: PayeeResult }

/** Records results of payee checks. They are reports of the bank, so that the payments are not missing. */
export function recordPayeeChecks(tx: Tx, rows: readonly PayeeCheckResult[], now: Date): void {
  const column = columnValues(rows)
  tx.later(
    unprepared(sql`/* rails.recordPayeeChecks */
    update rails.iso_instructions instruction set payee_check = given.payee, missing_since = null, updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('payee')}::text[]) as given (id, payee)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id`),
    rows.length,
  )
}

export type OurFile = {
  readonly id: string
  readonly kind: FileKind
  readonly messageId: string
  readonly bankStatus: string | null
}
export function filesByMessageIds(tx: Tx, connector: string, ids: readonly string[]): Promise<readonly OurFile[]> {
  return tx.rows(
    unprepared(sql`/* rails.filesByMessageIds */
    select id, kind, message_id, bank_status from rails.iso_files
    where connector = ${connector} and message_id = any(${[...ids]}::text[])`),
  )
}

export function setBankStatus(tx: Tx, fileId: string, status: string): void {
  tx.later(sql`/* rails.setBankStatus */ update rails.iso_files set bank_status = ${status} where id = ${fileId}`)
}

/** Lists open instructions of these amounts: candidates for an entry without references. */
export function openPaymentsByAmounts(
  tx: Tx,
  connector: string,
  amounts: readonly Minor[],
  rowsMax: number,
): Promise<readonly SentPayment[]> {
  return tx.rows(
    acrossPartners(
      'a debit without references may be an open payment of any partner',
      unprepared(sql`/* rails.openPaymentsByAmounts */
      select ${columns} from rails.iso_instructions
      where connector = ${connector} and status in ('Filed', 'Accepted') and amount = any(${[...amounts]}::bigint[])
      order by updated_at limit ${rowsMax}`),
    ),
  )
}

/** Lists payments that the bank has not reported since `before`. */
export function paymentsUnreportedSince(
  tx: Tx,
  connector: string,
  before: Date,
  rowsMax: number,
): Promise<readonly SentPayment[]> {
  return tx.rows(
    dueWork(
      'finds payments that a bank has not reported, by the index of open payments',
      (whose) => sql`/* rails.paymentsUnreportedSince */
        select ${columns} from rails.iso_instructions
        where connector = ${connector} and status in ('Filed', 'Accepted') and updated_at <= ${before}
          and missing_since is null and ${whose()} order by updated_at limit ${rowsMax}`,
    ),
  )
}

/** Marks payments without a report as missing, and returns their keys. */
export function markMissing(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
  before: Date,
  now: Date,
): Promise<readonly InstructionKey[]> {
  return tx.rows(
    unprepared(sql`/* rails.markMissing */
    update rails.iso_instructions set missing_since = ${now}
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and connector = ${connector} and status in ('Filed', 'Accepted') and updated_at <= ${before} and missing_since is null
    returning partner_id, id`),
  )
}

export type RecallRow = InstructionKey & { readonly instructionId: string; readonly fileId: string | null }

/** Finds recalls by their ids, instructions or files, newest first. */
export function recallsByIds(
  tx: Tx,
  connector: string,
  named: {
    readonly ids: readonly string[]
    readonly instructionIds: readonly string[]
    readonly fileIds: readonly string[]
  },
): Promise<readonly RecallRow[]> {
  const { ids, instructionIds, fileIds } = named
  return tx.rows(
    acrossPartners(
      'a bank answers recalls, and does not know the partner',
      unprepared(sql`/* rails.recallsByIds */
      select partner_id, id, instruction_id, file_id from rails.iso_recalls
      where connector = ${connector} and (id = any(${[...ids]}::uuid[]) or instruction_id = any(${[...instructionIds]}::uuid[])
        or file_id = any(${[...fileIds]}::uuid[]))
      order by created_at desc, id desc`),
    ),
  )
}

export type RecallAnswerChange = InstructionKey & {
  readonly status: 'Pending' | 'Accepted' | 'Refused'
  readonly answerCode: string | null
  readonly answerDetails: string | null
}

/** Stores answers and returns the changed recalls. A late answer does not change the recall of a returned payment. */
export function answerRecalls(
  tx: Tx,
  rows: readonly RecallAnswerChange[],
  now: Date,
): Promise<readonly (InstructionKey & Pick<RecallRow, 'instructionId'>)[]> {
  const column = columnValues(rows)
  return tx.rows(
    unprepared(sql`/* rails.answerRecalls */
    update rails.iso_recalls recall set status = given.status, answer_code = given.answer_code,
      answer_details = given.answer_details, updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('status')}::text[], ${column('answerCode')}::text[],
        ${column('answerDetails')}::text[]) as given (id, status, answer_code, answer_details)
    where ${ofPartners(column('partnerId'), sql`recall.partner_id`)} and recall.id = given.id
      and (recall.status in ('Queued', 'Sent', 'Pending') or recall.status <> 'Returned' and given.status <> 'Pending')
    returning recall.partner_id, recall.id, recall.instruction_id`),
  )
}

/** Ends the recalls of returned payments. */
export function endRecalls(tx: Tx, keys: readonly InstructionKey[], now: Date): void {
  tx.later(
    unprepared(sql`/* rails.endRecalls */
    update rails.iso_recalls set status = 'Returned', updated_at = ${now}
    where ${ofPartners(keys.map((key) => key.partnerId))} and instruction_id = any(${keys.map((key) => key.id)}::uuid[])`),
  )
}

/** Adds the confirming entry to unacknowledged settlement reports. Returns their ids. */
export function linkNotifications(
  tx: Tx,
  rows: readonly { readonly partnerId: string; readonly id: string; readonly entryId: string }[],
): Promise<readonly { readonly id: string }[]> {
  const column = columnValues(rows)
  return tx.rows(
    unprepared(sql`/* rails.linkNotifications */
    update rails.iso_notifications notification set entry_id = given.entry_id
    from unnest(${column('id')}::uuid[], ${column('entryId')}::uuid[]) as given (id, entry_id)
    where ${ofPartners(column('partnerId'), sql`notification.partner_id`)} and notification.id = given.id
    returning notification.id`),
  )
}

// Personal columns of instructions to a bank, of recalls and of the bank's entries.

const personalInstructions: readonly PersonalColumns[] = [
  {
    table: 'rails.iso_instructions',
    by: 'id',
    erased: {
      creditor_name: '',
      creditor_account: '',
      creditor_bic: null,
      creditor_address: null,
      remittance: null,
      error_details: null,
      payer_sealed: null,
    },
  },
  // A file of recalls rebuilt later lacks the text, but the bank has had that file for years.
  { table: 'rails.iso_recalls', by: 'instruction_id', erased: { details: null, answer_details: null } },
]

/** Erases the parties and texts of ended payments and their recalls. `ids` are those of the instructions. */
export async function eraseInstructions(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  for (const columns of personalInstructions) await erasePersonal(tx, columns, partnerId, ids)
}

const noParty = JSON.stringify({ name: null, account: null, bic: null, country: null, address: null })

/** Erases the parties and texts of booked entries. References and amounts stay. */
export const keptIsoEntries: RetainedTable = {
  table: 'rails.iso_entries',
  isOver: ({ endedBefore }) => sql`status = 'Applied' and kind <> 'waiting' and created_at < ${endedBefore}`,
  personal: [{ table: 'rails.iso_entries', by: 'id', erased: { counterparty: noParty, remittance: null } }],
}
