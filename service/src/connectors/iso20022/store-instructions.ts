/** All SQL of the instructions for a file-based bank, until they are in a file. */
import type { AccountType, ErrorKey } from '@partner-payments/wire'
import type { Currency } from '../../kernel/index.ts'
import { columnOf, insertBy, ofPartners, type RowOf, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { InstructionKey } from '../../rails/index.ts'
import type { Scheme } from './deps.ts'

export type StoredAnswer = InstructionKey & {
  readonly status: string
  readonly schemeApplied: Scheme
  readonly dueAt: Date
  readonly createdAt: Date
  /** True if its file is at the bank. */
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

/** Returns the new ones. Existing ones stay unchanged. */
export function insertInstructions(tx: Tx, rows: readonly NewInstruction[]): Promise<readonly StoredAnswer[]> {
  return tx.rows(
    unprepared(sql`/* rails.insertInstructions */
    insert into rails.iso_instructions (partner_id, id, connector, end_to_end_id, currency, amount, creditor_name,
      creditor_account, creditor_bic, creditor_account_type, remittance, payer_sealed, scheme_requested, scheme_applied, scheme_reason, status, attempt, due_at,
      error_key, error_details, reason_code, created_at, updated_at)
    ${newInstructions(tx, rows)}
    on conflict (partner_id, id) do nothing
    returning partner_id, id, status, scheme_applied, due_at, created_at, false as is_delivered, error_key, error_details,
      reason_code`),
  )
}

export function answersOf(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<readonly StoredAnswer[]> {
  return tx.rows(sql`/* rails.answersOf */
    select instruction.partner_id, instruction.id, instruction.status, instruction.scheme_applied, instruction.due_at,
      instruction.created_at, coalesce(file.state = 'Delivered', false) as is_delivered, instruction.error_key,
      instruction.error_details, instruction.reason_code
    from rails.iso_instructions instruction left join rails.iso_files file on file.id = instruction.file_id
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`instruction.partner_id`,
    )} and instruction.id = any(${keys.map((key) => key.id)}::uuid[]) and instruction.connector = ${connector}`)
}

/** Instant payments that the bank may have. A file that is only made cannot have been refused. */
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

/**
 * Requeues payments. Their files stay unchanged: by its attempt, an instruction in a new file is another one for the
 * bank.
 */
export async function requeueAsCreditTransfer(
  tx: Tx,
  rows: readonly (InstructionKey & { readonly schemeReason: string })[],
  { dueAt, now }: { readonly dueAt: Date; readonly now: Date },
): Promise<void> {
  const column = columnOf(rows)
  await tx.run(
    unprepared(sql`/* rails.requeueAsCreditTransfer */
    update rails.iso_instructions instruction set status = 'Queued', scheme_applied = 'CreditTransfer',
      scheme_reason = given.scheme_reason, attempt = instruction.attempt + 1, due_at = ${dueAt}, file_id = null,
      batch_id = null, missing_since = null, updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('schemeReason')}::text[]) as given (id, scheme_reason)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id`),
  )
}
