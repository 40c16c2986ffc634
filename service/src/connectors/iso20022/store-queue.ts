/** All SQL of instructions that wait for a file. */
import type { AccountType } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import { columnOf, dueWork, ofPartners, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { InstructionKey, PayerData } from '../../rails/index.ts'
import type { Scheme } from './deps.ts'

export type Payment = InstructionKey & {
  readonly endToEndId: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  /** Absent or null: it is not known. */
  readonly creditorAccountType?: AccountType | null
  readonly remittance: string | null
  /** Absent: the file names none. */
  readonly payer?: PayerData
  readonly schemeApplied: Scheme
  readonly attempt: number
}
/** As it is stored, with the payer sealed. */
export type Stored = Omit<Payment, 'payer'> & { readonly payerSealed: Uint8Array | null }
const facts = sql`partner_id, id, end_to_end_id, currency, amount, creditor_name, creditor_account, creditor_bic, creditor_account_type, remittance, payer_sealed,
  scheme_applied, attempt`

export type Queued = InstructionKey & { readonly dueAt: Date }

/** Payments that wait for a file of a scheme, oldest first: a due-work scan, which names no partner by design. */
export function queuedPayments(
  tx: Tx,
  connector: string,
  scheme: Scheme,
  now: Date,
  paymentsMax: number,
): Promise<readonly Queued[]> {
  return tx.rows<Queued>(
    dueWork('finds payments that wait for a file of a bank, without a lock', (whose) =>
      unprepared(sql`/* rails.queuedPayments */
        select partner_id, id, due_at from rails.iso_instructions
        where connector = ${connector} and scheme_applied = ${scheme} and status = 'Queued' and due_at <= ${now}
          and ${whose()}
        order by due_at, id limit ${paymentsMax}`),
    ),
  )
}

/** When the next payment is due for a file. */
export const filesDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next payment is due for a file of a bank',
    (whose) => sql`/* rails.filesDue */
      select min(due_at) as due_at from rails.iso_instructions
      where connector = ${connector} and status = 'Queued' and due_at > ${after} and ${whose()}`,
  )

/** Locks those that still wait. If two processes make files of the same payments, each gets some. */
export function lockQueued(
  tx: Tx,
  connector: string,
  scheme: Scheme,
  keys: readonly InstructionKey[],
): Promise<readonly Stored[]> {
  const column = columnOf(keys)
  return tx.rows<Stored>(
    unprepared(sql`/* rails.lockQueued */
    select ${facts} from rails.iso_instructions
    where ${ofPartners(column('partnerId'))} and id = any(${column('id')}::uuid[]) and connector = ${connector}
      and scheme_applied = ${scheme} and status = 'Queued'
    order by id for update skip locked`),
  )
}

export type Filing = InstructionKey & { readonly batchId: string }

export function fileInstructions(tx: Tx, rows: readonly Filing[], fileId: string, now: Date): void {
  const column = columnOf(rows)
  tx.later(
    unprepared(sql`/* rails.fileInstructions */
    update rails.iso_instructions instruction set status = 'Filed', file_id = ${fileId}, batch_id = given.batch_id,
      updated_at = ${now}
    from unnest(${column('id')}::uuid[], ${column('batchId')}::text[]) as given (id, batch_id)
    where ${ofPartners(column('partnerId'), sql`instruction.partner_id`)} and instruction.id = given.id
      and instruction.status = 'Queued'`),
    rows.length,
  )
}

/** The payments of a file, by its batches. */
export function paymentsOfBatches(
  tx: Tx,
  connector: string,
  batchIds: readonly string[],
): Promise<readonly (Stored & { readonly batchId: string })[]> {
  return tx.rows(
    dueWork('reads the payments of a file of a bank, by the index of its batches', (whose) =>
      unprepared(sql`/* rails.paymentsOfBatches */
        select ${facts}, batch_id from rails.iso_instructions
        where connector = ${connector} and batch_id = any(${[...batchIds]}::text[]) and ${whose()}`),
    ),
  )
}

export type QueuedCount = { readonly scheme: Scheme; readonly payments: bigint }

/** The number of payments that wait for a file, or for the opening of the bank. */
export async function countQueued(tx: Tx, connector: string): Promise<ReadonlyMap<Scheme, number>> {
  const rows = await tx.rows<QueuedCount>(
    dueWork(
      'counts the payments that wait for a file of a bank, for a metric, by the index of the waiting ones',
      (whose) => sql`/* rails.countQueued */
        select scheme_applied as scheme, count(*) as payments from rails.iso_instructions
        where connector = ${connector} and status = 'Queued' and ${whose()} group by scheme_applied`,
    ),
  )
  const counts = new Map<Scheme, number>()
  for (const { scheme, payments } of rows) counts.set(scheme, (counts.get(scheme) ?? 0) + Number(payments))
  return counts
}
