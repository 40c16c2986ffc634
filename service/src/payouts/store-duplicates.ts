/** SQL of payouts that may repeat an earlier one, and of notes for colleagues. */
import { type Currency, firstIdOf, type Minor } from '../kernel/index.ts'
import { columnValues, insertBy, columnList, type RowOf, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { PayoutRow } from './store.ts'

export type RepeatedPayment = {
  readonly position: number
  /** Only earlier payouts count. Null: all. */
  readonly beforeId: string | null
  /** Account in lower case, as in the index. */
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** Letters and digits (ASCII) of the reference. Null: none. */
  readonly referenceKey: string | null
  /** Idempotency key of the payout itself. */
  readonly operation: string | null
  readonly key: string | null
  /** Prefix of the keys of its standing order. */
  readonly orderKeys: string | null
}

export type EarlierRow = Pick<
  PayoutRow,
  'id' | 'reference' | 'remittance' | 'amount' | 'currency' | 'creditorName' | 'status' | 'createdAt'
> & { readonly position: number }

/** Newest payouts of an account and amount that are compared: about three a day for a year. */
const comparedMax = 1_000

/** `since`: null if only a similar reference counts. */
type DuplicateBounds = { readonly since: Date | null; readonly sinceByReference: Date; readonly rowsEach: number }

/**
 * Finds the payouts that each payment may repeat, by the index payouts_by_account: with the same account and amount,
 * and a similar reference since one time, then the newest others since a later time. Only that index has the order of
 * `between`: with `=` PostgreSQL may choose the primary key, and read every payout of the partner.
 */
export async function earlierPayouts(
  tx: Tx,
  partnerId: string,
  payments: readonly RepeatedPayment[],
  { since, sinceByReference, rowsEach }: DuplicateBounds,
): Promise<readonly EarlierRow[]> {
  if (payments.length === 0) return []
  const column = columnValues(payments)
  return tx.rows<EarlierRow>(
    unprepared(sql`/* payouts.earlierPayouts */
    select given.position, found.id, found.reference, found.remittance, found.amount, found.currency, found.creditor_name,
      found.status, found.created_at
    from unnest(${column('position')}::integer[], ${column('beforeId')}::uuid[], ${column('account')}::text[], ${column('amount')}::bigint[],
        ${column('currency')}::text[], ${column('referenceKey')}::text[], ${column('operation')}::text[],
        ${column('key')}::text[], ${column('orderKeys')}::text[])
      as given (position, before_id, account, amount, currency, reference_key, operation, key, order_keys)
    cross join lateral (
      select id, reference, remittance, amount, currency, creditor_name, status, created_at,
        coalesce(lower(regexp_replace(remittance, '[^0-9A-Za-z]', '', 'g')) = given.reference_key, false) as is_similar
      from (select * from payouts.payouts as payout
        where payout.partner_id = ${partnerId} and lower(payout.creditor_account) = given.account
          and payout.amount between given.amount and given.amount and payout.id > ${firstIdOf(sinceByReference)}::uuid and (given.before_id is null or payout.id < given.before_id)
        order by payout.amount desc, payout.id desc limit ${comparedMax}) as compared
      where currency = given.currency and status in ('Pending', 'PendingApproval', 'Processing', 'Sent', 'Completed')
        and not coalesce(operation = given.operation
          and (idempotency_key = given.key or starts_with(idempotency_key, given.order_keys)), false)
        and created_at >= ${sinceByReference} and (created_at >= ${since}::timestamptz
          or lower(regexp_replace(remittance, '[^0-9A-Za-z]', '', 'g')) = given.reference_key)
      order by is_similar desc, id desc limit ${rowsEach}) as found
    order by given.position, found.is_similar desc, found.id desc`),
  )
}

/** Makes other requests of these partners that refuse duplicates wait until the transaction ends. */
export async function lockDuplicateTurns(tx: Tx, partnerIds: readonly string[]): Promise<void> {
  // In the same order, so that two batches cannot deadlock.
  for (const partnerId of [...new Set(partnerIds)].toSorted()) {
    await tx.run(sql`/* payouts.lockDuplicateTurns */
      insert into payouts.duplicate_turns (partner_id) values (${partnerId}) on conflict (partner_id) do nothing`)
    await tx.run(sql`/* payouts.lockDuplicateTurns */
      select 1 from payouts.duplicate_turns where partner_id = ${partnerId} for update`)
  }
}

// SQL of notes.

const noteColumns = {
  partnerId: 'uuid',
  payoutId: 'uuid',
  /** Null: it was deleted or erased. */
  note: 'text?',
  writtenBy: 'uuid',
  writtenByName: 'text',
  updatedAt: 'timestamptz',
} as const
export type NoteRow = RowOf<typeof noteColumns>
const newNotes = insertBy<NoteRow>(noteColumns, [])

/** Inserts the notes of new payouts. */
export function insertNotes(tx: Tx, rows: readonly NoteRow[]): void {
  tx.later(sql`/* payouts.insertNotes */ insert into payouts.notes (${columnList(noteColumns)}) ${newNotes(tx, rows)}`)
}

export async function putNote(tx: Tx, row: NoteRow): Promise<void> {
  await tx.run(sql`/* payouts.putNote */
    insert into payouts.notes (${columnList(noteColumns)}) ${newNotes(tx, [row])}
    on conflict (partner_id, payout_id) do update set note = excluded.note, written_by = excluded.written_by,
      written_by_name = excluded.written_by_name, updated_at = excluded.updated_at`)
}

/** Reads the notes of these payouts, in no particular order. */
export function readNotes(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<readonly NoteRow[]> {
  return tx.rows<NoteRow>(sql`/* payouts.readNotes */
    select ${columnList(noteColumns)} from payouts.notes where partner_id = ${partnerId} and payout_id = any(${[...payoutIds]}::uuid[])`)
}
