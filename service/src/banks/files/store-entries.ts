/** All SQL of the entries of a bank. They belong to the operator's ledger. */
import type { Minor } from '../../kernel/index.ts'
import { columnOf, insertBy, type RowOf, sql, type Tx, unprepared } from '../../postgres/index.ts'

export type EntryKind = 'payout' | 'return' | 'credit' | 'reversal' | 'fee' | 'unknown' | 'waiting'

/** The account of entries: all statements name the operator's shard. */
export type AccountKey = {
  readonly operatorId: string
  readonly connector: string
  readonly account: string
  readonly currency: string
}

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  connector: 'text',
  account: 'text',
  currency: 'text',
  entryKey: 'text',
  amount: 'bigint',
  bookedOn: 'date',
  valueOn: 'date?',
  messageId: 'uuid',
  statementId: 'uuid?',
  position: 'bigint',
  isReversal: 'boolean',
  payments: 'bigint',
  codes: 'text',
  refs: 'json',
  counterparty: 'json',
  remittance: 'text?',
  returnReason: 'text?',
  kind: 'text',
  subjectId: 'uuid?',
  subjectPartnerId: 'uuid?',
  score: 'integer',
  matchedBy: 'json',
  status: 'text',
  createdAt: 'timestamptz',
  appliedAt: 'timestamptz?',
  booking: 'text?',
  endToEndId: 'text?',
  /** Kinds of messages that announced it, added up. */
  announced: 'integer',
} as const
export type NewEntry = RowOf<
  typeof types,
  { position: number; payments: number; kind: EntryKind; status: 'New' | 'Applied' }
>

const newEntries = insertBy<NewEntry>(types, [
  ['partnerId', 'connector', 'messageId', 'createdAt'],
  ['account', 'currency', 'statementId', 'bookedOn', 'valueOn'],
  ['isReversal', 'payments', 'codes', 'returnReason', 'subjectId', 'subjectPartnerId'],
  ['kind', 'score', 'matchedBy', 'status', 'appliedAt', 'announced'],
])

/** A key that another message has written is a unique violation: only one process receives the files of a bank. */
export function insertEntries(tx: Tx, rows: readonly NewEntry[]): void {
  tx.later(
    sql`/* rails.insertEntries */
    insert into rails.iso_entries (partner_id, id, connector, account, currency, entry_key, amount, booked_on, value_on,
      message_id, statement_id, position, is_reversal, payments, codes, refs, counterparty, remittance, return_reason, kind,
      subject_id, subject_partner_id, score, matched_by, status, created_at, applied_at, booking, end_to_end_id, announced)
    ${newEntries(tx, rows)}`,
    rows.length,
  )
}

/** Marks entries that the ledger has now. */
export async function applyEntries(tx: Tx, operatorId: string, ids: readonly string[], now: Date): Promise<void> {
  await tx.run(sql`/* rails.applyEntries */
    update rails.iso_entries set status = 'Applied', applied_at = ${now}
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[]) and status = 'New'`)
}

export type KnownEntry = {
  readonly id: string
  readonly entryKey: string
  readonly booking: string | null
  readonly amount: Minor
  readonly bookedOn: string
  readonly kind: EntryKind
  readonly payments: bigint
  readonly messageId: string
  readonly statementId: string | null
  readonly announced: number
  readonly refs: string
  readonly counterparty: string
  readonly remittance: string | null
  /** The key is an alias, under which a later message named it. */
  readonly isAlias: boolean
}

const knownColumns = sql`entry.id, entry.entry_key, entry.booking, entry.amount, entry.booked_on::text as booked_on, entry.kind,
  entry.payments, entry.message_id, entry.statement_id, entry.announced, entry.refs, entry.counterparty, entry.remittance, false as is_alias`

/** Entries by any key under which a message has named them. */
export function entriesByKeys(tx: Tx, of: AccountKey, keys: readonly string[]): Promise<readonly KnownEntry[]> {
  return tx.rows(
    unprepared(sql`/* rails.entriesByKeys */
    select ${knownColumns} from rails.iso_entries entry
    where entry.partner_id = ${of.operatorId} and entry.connector = ${of.connector} and entry.account = ${of.account}
      and entry.currency = ${of.currency} and entry.entry_key = any(${[...keys]}::text[])
    union all
    select entry.id, alias.entry_key, entry.booking, entry.amount, entry.booked_on::text, entry.kind, entry.payments,
      entry.message_id, entry.statement_id, entry.announced, entry.refs, entry.counterparty, entry.remittance, true
    from rails.iso_entry_aliases alias join rails.iso_entries entry on entry.partner_id = ${of.operatorId} and entry.id = alias.entry_id
    where alias.partner_id = ${of.operatorId} and alias.connector = ${of.connector} and alias.account = ${of.account}
      and alias.currency = ${of.currency} and alias.entry_key = any(${[...keys]}::text[])`),
  )
}

/** Entries that an earlier message has announced under the bank's reference and that are on no statement yet. */
export function announcedOf(
  tx: Tx,
  of: AccountKey,
  bookings: readonly string[],
  messageId: string,
): Promise<readonly KnownEntry[]> {
  return tx.rows(
    unprepared(sql`/* rails.announcedOf */
    select ${knownColumns} from rails.iso_entries entry
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and statement_id is null
      and message_id <> ${messageId} and position('#' in entry_key) = 0`),
  )
}

/** The part of a reference's bookings on one day: a bank may use the reference again on another day. */
export type DayOfBooking = { readonly booking: string; readonly bookedOn: string }

/** The sums of bookings whose payments are known one by one. */
export function sumsOfBookings(
  tx: Tx,
  of: AccountKey,
  bookings: readonly string[],
): Promise<readonly (DayOfBooking & { readonly amount: Minor; readonly payments: bigint })[]> {
  return tx.rows(
    unprepared(sql`/* rails.sumsOfBookings */
    select booking, booked_on::text as booked_on, sum(amount)::bigint as amount, count(*) as payments
    from rails.iso_entries
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and position('#' in entry_key) > 0
    group by booking, booked_on`),
  )
}

/** Records that another message reports known entries. A statement is kept; kinds of announcements are added up. */
export type Seen = { readonly statementId: string | null; readonly announced: number }

export function seeEntries(tx: Tx, operatorId: string, ids: readonly string[], { statementId, announced }: Seen): void {
  tx.later(sql`/* rails.seeEntries */
    update rails.iso_entries set statement_id = coalesce(statement_id, ${statementId}::uuid),
      announced = announced | ${announced}::smallint
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[])`)
}

export function seeBookings(
  tx: Tx,
  of: AccountKey,
  days: readonly DayOfBooking[],
  { statementId, announced }: Seen,
): void {
  const column = columnOf(days)
  tx.later(
    unprepared(sql`/* rails.seeBookings */
    update rails.iso_entries entry set statement_id = coalesce(statement_id, ${statementId}::uuid),
      announced = announced | ${announced}::smallint
    from unnest(${column('booking')}::text[], ${column('bookedOn')}::date[]) as given (booking, booked_on)
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and entry.booking = given.booking and entry.booked_on = given.booked_on
      and position('#' in entry_key) > 0`),
  )
}

/** Deletes sums whose payments are known now: the payments count instead. */
export function deleteWaiting(tx: Tx, operatorId: string, ids: readonly string[]): void {
  tx.later(
    sql`/* rails.deleteWaiting */
    delete from rails.iso_entries
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[]) and kind = 'waiting'`,
    ids.length,
  )
}

export type Waiting = {
  readonly id: string
  readonly account: string
  readonly currency: string
  readonly amount: Minor
  readonly payments: bigint
  readonly codes: string
  readonly bookedOn: string
  readonly isReversal: boolean
}

export function overdueWaiting(
  tx: Tx,
  operatorId: string,
  connector: string,
  before: Date,
  rowsMax: number,
): Promise<readonly Waiting[]> {
  return tx.rows(sql`/* rails.overdueWaiting */
    select id, account, currency, amount, payments, codes, booked_on, is_reversal from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and kind = 'waiting' and created_at <= ${before}
    order by created_at limit ${rowsMax} for update`)
}

export function endWaiting(tx: Tx, operatorId: string, ids: readonly string[], matchedBy: string): void {
  tx.later(
    sql`/* rails.endWaiting */
    update rails.iso_entries set kind = 'unknown', matched_by = ${matchedBy}
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[]) and kind = 'waiting'`,
    ids.length,
  )
}

export type WaitingReversal = Pick<
  NewEntry,
  'id' | 'account' | 'currency' | 'amount' | 'refs' | 'counterparty' | 'remittance'
>

/** Reversals whose credit was not known when they were read, oldest first. */
export function waitingReversals(
  tx: Tx,
  operatorId: string,
  connector: string,
  rowsMax: number,
): Promise<readonly WaitingReversal[]> {
  return tx.rows(sql`/* rails.waitingReversals */
    select id, account, currency, amount, refs, counterparty, remittance from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and kind = 'waiting' and is_reversal and amount < 0
    order by created_at, id limit ${rowsMax} for update`)
}

export type Original = {
  readonly id: string
  readonly booking: string | null
  readonly endToEndId: string | null
  readonly amount: Minor
  /** True if it is reversed already. */
  readonly isReversed: boolean
}

const originalOf = (operatorId: string) => sql`id, booking, end_to_end_id, amount, exists (
      select 1 from rails.iso_entries reversal
      where reversal.partner_id = ${operatorId} and reversal.subject_id = credit.id and reversal.kind = 'reversal') as is_reversed`

/** Credits that a reversal may be about, by the bank's reference. */
export function creditsByBooking(tx: Tx, of: AccountKey, bookings: readonly string[]): Promise<readonly Original[]> {
  return tx.rows(
    unprepared(sql`/* rails.creditsByBooking */
    select ${originalOf(of.operatorId)} from rails.iso_entries credit
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and amount > 0
      and kind in ('credit', 'unknown')
    order by booked_on desc, id`),
  )
}

export function creditsByEndToEnd(tx: Tx, of: AccountKey, ids: readonly string[]): Promise<readonly Original[]> {
  return tx.rows(
    unprepared(sql`/* rails.creditsByEndToEnd */
    select ${originalOf(of.operatorId)} from rails.iso_entries credit
    where partner_id = ${of.operatorId} and connector = ${of.connector} and end_to_end_id = any(${[...ids]}::text[])
      and account = ${of.account} and currency = ${of.currency} and amount > 0 and kind in ('credit', 'unknown')
    order by created_at, id`),
  )
}

/** Debits that were booked for an instruction in addition to its own, and that nothing has reversed. */
export function doubledDebits(
  tx: Tx,
  operatorId: string,
  instructionIds: readonly string[],
): Promise<readonly { readonly id: string; readonly subjectId: string; readonly isReversed: boolean }[]> {
  return tx.rows(
    unprepared(sql`/* rails.doubledDebits */
    select id, subject_id, exists (select 1 from rails.iso_entries reversal
        where reversal.partner_id = ${operatorId} and reversal.subject_id = debit.id and reversal.kind = 'reversal')
      as is_reversed
    from rails.iso_entries debit
    where partner_id = ${operatorId} and subject_id = any(${[...instructionIds]}::uuid[]) and kind = 'unknown' and amount < 0`),
  )
}

/** Replaces an entry that waited for its details. */
export function replaceWaiting(
  tx: Tx,
  operatorId: string,
  rows: readonly Pick<
    NewEntry,
    'id' | 'kind' | 'subjectId' | 'subjectPartnerId' | 'score' | 'matchedBy' | 'refs' | 'counterparty' | 'remittance'
  >[],
): void {
  const column = columnOf(rows)
  tx.later(
    unprepared(sql`/* rails.replaceWaiting */
    update rails.iso_entries entry set kind = given.kind, subject_id = given.subject_id,
      subject_partner_id = given.subject_partner_id, score = given.score, matched_by = given.matched_by, refs = given.refs,
      counterparty = given.counterparty, remittance = given.remittance
    from unnest(${column('id')}::uuid[], ${column('kind')}::text[], ${column('subjectId')}::uuid[],
        ${column('subjectPartnerId')}::uuid[], ${column('score')}::integer[], ${column('matchedBy')}::text[],
        ${column('refs')}::text[], ${column('counterparty')}::text[], ${column('remittance')}::text[])
      as given (id, kind, subject_id, subject_partner_id, score, matched_by, refs, counterparty, remittance)
    where entry.partner_id = ${operatorId} and entry.id = given.id and entry.kind = 'waiting'`),
    rows.length,
  )
}
