/** All SQL of recalls until they are in a file or letter. */
import { columnValues, dueWork, ofPartners, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { InstructionKey } from '../../rails/index.ts'
import type { OutgoingPayment } from './store-instructions.ts'

export type NewRecall = InstructionKey & {
  readonly connector: string
  readonly instructionId: string
  readonly reason: string
  /** Text for the payee's bank. */
  readonly details: string | null
  readonly requestedBy: string
  readonly now: Date
}

/** Inserts a recall. Returns 1, or 0 if the payment has an open or accepted recall. */
export function insertRecall(tx: Tx, row: NewRecall): Promise<number> {
  return tx.run(sql`/* rails.insertRecall */
    insert into rails.iso_recalls (partner_id, id, connector, instruction_id, reason, details, requested_by, status,
      created_at, updated_at)
    select ${row.partnerId}::uuid, ${row.id}::uuid, ${row.connector}, ${row.instructionId}::uuid, ${row.reason}, ${row.details},
      ${row.requestedBy}, 'Queued', ${row.now}::timestamptz, ${row.now}::timestamptz
    where not exists (select from rails.iso_recalls
      where partner_id = ${row.partnerId} and instruction_id = ${row.instructionId} and status in ('Accepted', 'Returned'))
    on conflict do nothing`)
}

/** A recall with its payment. `fileId` and `batchId` are those of the payment. */
export type RecalledPayment = Pick<
  OutgoingPayment,
  'partnerId' | 'id' | 'endToEndId' | 'currency' | 'amount' | 'schemeApplied' | 'attempt'
> & {
  readonly recallId: string
  readonly reason: string
  readonly details: string | null
  readonly fileId: string
  readonly batchId: string
}

const recallColumns = sql`recall.partner_id, instruction.id, recall.id as recall_id, recall.reason, recall.details, instruction.end_to_end_id,
  instruction.currency, instruction.amount, instruction.scheme_applied, instruction.attempt, instruction.file_id,
  instruction.batch_id`

/** Lists recalls of all partners that wait for a file, oldest first. */
export function queuedRecalls(tx: Tx, connector: string, recallsMax: number): Promise<readonly RecalledPayment[]> {
  return tx.rows<RecalledPayment>(
    dueWork('finds recalls that wait for a file of a bank, without a lock', (whose) =>
      unprepared(sql`/* rails.queuedRecalls */
        select ${recallColumns} from rails.iso_recalls recall
          join rails.iso_instructions instruction
            on instruction.partner_id = recall.partner_id and instruction.id = recall.instruction_id
        where recall.connector = ${connector} and recall.status = 'Queued' and instruction.file_id is not null
          and ${whose(sql`recall.partner_id`)}
        order by recall.created_at, recall.id limit ${recallsMax}`),
    ),
  )
}

/** Locks recalls that still wait. */
export function lockRecalls(tx: Tx, keys: readonly InstructionKey[]): Promise<readonly InstructionKey[]> {
  const column = columnValues(keys)
  return tx.rows<InstructionKey>(
    unprepared(sql`/* rails.lockRecalls */
    select partner_id, id from rails.iso_recalls
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[]) and status = 'Queued'
    order by id for update skip locked`),
  )
}

export function assignRecallsToFile(tx: Tx, keys: readonly InstructionKey[], fileId: string, now: Date): void {
  const column = columnValues(keys)
  tx.later(
    unprepared(sql`/* rails.assignRecallsToFile */
    update rails.iso_recalls set status = 'Sent', file_id = ${fileId}, updated_at = ${now}
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[]) and status = 'Queued'`),
    keys.length,
  )
}

export function recallsOfFile(tx: Tx, fileId: string): Promise<readonly RecalledPayment[]> {
  return tx.rows<RecalledPayment>(
    dueWork('reads the recalls of a file of a bank, by the index of its id', (whose) =>
      unprepared(sql`/* rails.recallsOfFile */
        select ${recallColumns} from rails.iso_recalls recall
          join rails.iso_instructions instruction
            on instruction.partner_id = recall.partner_id and instruction.id = recall.instruction_id
        where recall.file_id = ${fileId} and ${whose(sql`recall.partner_id`)}`),
    ),
  )
}

/** Lists recalls that wait for a letter and do not have a case yet. */
export function recallsWithoutCase(
  tx: Tx,
  connector: string,
  recallsMax: number,
): Promise<readonly (InstructionKey & { readonly instructionId: string; readonly reason: string })[]> {
  return tx.rows(
    dueWork('finds recalls that wait for a letter, by the index of waiting recalls', (whose) =>
      unprepared(sql`/* rails.recallsWithoutCase */
        select partner_id, id, instruction_id, reason from rails.iso_recalls
        where connector = ${connector} and status = 'Queued' and told_at is null and ${whose()}
        order by created_at, id limit ${recallsMax}`),
    ),
  )
}

export function markLetterCases(tx: Tx, keys: readonly InstructionKey[], now: Date): void {
  const column = columnValues(keys)
  tx.later(
    unprepared(sql`/* rails.markLetterCases */
    update rails.iso_recalls set told_at = ${now}
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[]) and status = 'Queued'`),
  )
}

/** Marks a recall as sent by letter. Returns false if it does not wait for a letter. */
export async function markSentByLetter(tx: Tx, { partnerId, id }: InstructionKey, now: Date): Promise<boolean> {
  const sent = await tx.run(sql`/* rails.markSentByLetter */
    update rails.iso_recalls set status = 'Sent', updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and status = 'Queued' and told_at is not null`)
  return sent === 1
}

/** A payment as an operator sees it. */
export type PaymentView = {
  readonly connector: string
  readonly endToEndId: string
  readonly currency: OutgoingPayment['currency']
  readonly amount: OutgoingPayment['amount']
  readonly schemeRequested: OutgoingPayment['schemeApplied']
  readonly schemeApplied: OutgoingPayment['schemeApplied']
  readonly schemeReason: string | null
  readonly status: string
  readonly attempt: number
  readonly dueAt: Date
  readonly fileId: string | null
  readonly batchId: string | null
  readonly errorKey: string | null
  readonly errorDetails: string | null
  readonly reasonCode: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly settledAt: Date | null
  readonly missingSince: Date | null
  /** The result of the bank's payee check. */
  readonly payeeCheck: string | null
}

export function paymentById(tx: Tx, { partnerId, id }: InstructionKey): Promise<PaymentView | undefined> {
  return tx.row<PaymentView>(sql`/* rails.paymentById */
    select connector, end_to_end_id, currency, amount, scheme_requested, scheme_applied, scheme_reason, status, attempt, due_at,
      file_id, batch_id, error_key, error_details, reason_code, created_at, updated_at, settled_at, missing_since,
      payee_check
    from rails.iso_instructions where partner_id = ${partnerId} and id = ${id}`)
}

export type RecallView = {
  readonly id: string
  readonly reason: string
  readonly requestedBy: string
  readonly status: string
  readonly fileId: string | null
  readonly answerCode: string | null
  readonly answerDetails: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const viewColumns = sql`id, reason, requested_by, status, file_id, answer_code, answer_details, created_at, updated_at`

/** Finds the newest recall of a payment. */
export function newestRecall(tx: Tx, { partnerId, id }: InstructionKey): Promise<RecallView | undefined> {
  return tx.row<RecallView>(sql`/* rails.newestRecall */
    select ${viewColumns} from rails.iso_recalls where partner_id = ${partnerId} and instruction_id = ${id}
    order by created_at desc, id desc limit 1`)
}

export function recallById(tx: Tx, { partnerId, id }: InstructionKey): Promise<RecallView | undefined> {
  return tx.row<RecallView>(sql`/* rails.recallById */
    select ${viewColumns} from rails.iso_recalls where partner_id = ${partnerId} and id = ${id}`)
}
