/** All SQL of internal transfers. */
import type { ErrorKey } from '@partner-payments/wire'
import type { Currency } from '../../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  erasePersonal,
  insertBy,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { InstructionKey } from '../../rails/index.ts'

export type NextStep = 'credit' | 'settle'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  customerId: 'uuid?',
  endToEndId: 'text',
  reference: 'text?',
  amount: 'bigint',
  currency: 'text',
  creditorName: 'text',
  creditorAccount: 'text',
  remittance: 'text?',
  timesReceived: 'integer',
  accepted: 'boolean',
  errorKey: 'text?',
  errorDetails: 'text?',
  reasonCode: 'text?',
  nextStep: 'text?',
  dueAt: 'timestamptz?',
  receivedAt: 'timestamptz',
} as const
export type NewTransfer = RowOf<typeof types, { currency: Currency; errorKey: ErrorKey; nextStep: NextStep }>
type AnswerField = 'accepted' | 'errorKey' | 'errorDetails' | 'reasonCode'
export type AnswerRow = Pick<NewTransfer, keyof InstructionKey | AnswerField>
export type TransferRow = Omit<NewTransfer, AnswerField | 'timesReceived' | 'nextStep' | 'dueAt' | 'receivedAt'>

const newTransfers = insertBy<NewTransfer>(
  types,
  [
    ['partnerId', 'customerId', 'currency', 'creditorName', 'creditorAccount'],
    ['timesReceived', 'accepted', 'errorKey', 'errorDetails', 'reasonCode', 'nextStep', 'dueAt', 'receivedAt'],
  ],
  ['partnerId', 'id'],
)

/** Inserts each instruction once. A repeated instruction keeps its first answer. */
export function receiveTransfers(tx: Tx, rows: readonly NewTransfer[]): Promise<readonly AnswerRow[]> {
  return tx.rows(
    unprepared(sql`/* rails.receiveTransfers */
    insert into rails.internal_transfers (partner_id, id, customer_id, end_to_end_id, reference, amount, currency,
      creditor_name, creditor_account, remittance, times_received, accepted, error_key, error_details, reason_code,
      next_step, due_at, received_at)
    ${newTransfers(tx, rows)}
    on conflict (partner_id, id) do update
      set times_received = internal_transfers.times_received + excluded.times_received
    returning partner_id, id, accepted, error_key, error_details, reason_code`),
  )
}

export function answersByIds(tx: Tx, keys: readonly InstructionKey[]): Promise<readonly AnswerRow[]> {
  return tx.rows(sql`/* rails.answersByIds */
    select partner_id, id, accepted, error_key, error_details, reason_code from rails.internal_transfers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])`)
}

export type DueTransfer = TransferRow & { readonly nextStep: NextStep }

/** Lists transfers of all partners whose next step is due, oldest first. */
export function dueTransfers(tx: Tx, now: Date, rowsMax: number): Promise<readonly DueTransfer[]> {
  return tx.rows(
    dueWork(
      'reads due steps of internal transfers in order of time',
      (whose) => sql`/* rails.dueTransfers */
      select partner_id, id, customer_id, end_to_end_id, reference, amount, currency, creditor_name, creditor_account,
        remittance, next_step
      from rails.internal_transfers where due_at <= ${now} and ${whose()} order by due_at, id limit ${rowsMax}`,
    ),
  )
}

export const transfersDue = (after: Date): Sql =>
  dueWork(
    'reads when the next step of an internal transfer is due',
    (whose) => sql`/* rails.transfersDue */
      select due_at from rails.internal_transfers where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Reads when the oldest step became due. */
export async function oldestDue(tx: Tx, now: Date): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest internal transfer, for a metric',
      sql`/* rails.oldestDue */ select due_at from rails.internal_transfers
        where due_at <= ${now} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}

/** Completes a step of transfers. The settlement follows the credit, and is the last step. */
export async function endStep(tx: Tx, keys: readonly InstructionKey[], step: NextStep, now: Date): Promise<void> {
  const next = step === 'credit' ? sql`next_step = 'settle', due_at = ${now}` : sql`next_step = null, due_at = null`
  await tx.run(sql`/* rails.endStep */
    update rails.internal_transfers set ${next}
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and next_step = ${step}`)
}

/** Erases the parties and texts of finished payments. `ids`: the ids of the instructions. */
export async function eraseInternalTransfers(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  await erasePersonal(
    tx,
    {
      table: 'rails.internal_transfers',
      by: 'id',
      erased: { creditor_name: '', creditor_account: '', remittance: null, error_details: null },
    },
    partnerId,
    ids,
  )
}
