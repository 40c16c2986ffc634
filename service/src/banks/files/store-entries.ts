/** All SQL of the entries of a bank, which belong to the operator's ledger. */
import type { Currency, Minor, RowKey } from '../../kernel/index.ts'
import { columnValues, insertBy, type RowOf, sql, type Tx, unprepared } from '../../postgres/index.ts'

export type EntryKind = 'payout' | 'return' | 'credit' | 'reversal' | 'fee' | 'unknown' | 'waiting'

/** The account of entries. All statements run on the operator's shard. */
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
  /** The kinds of messages that announced the entry, as bits. */
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

/** Inserts entries. A known key is a unique violation, because only one process receives the files of a bank. */
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

/** Marks entries as applied to the ledger. */
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
  /** True if `entryKey` is an alias, which a later message used. */
  readonly isAlias: boolean
}

const knownColumns = sql`entry.id, entry.entry_key, entry.booking, entry.amount, entry.booked_on::text as booked_on, entry.kind,
  entry.payments, entry.message_id, entry.statement_id, entry.announced, entry.refs, entry.counterparty, entry.remittance, false as is_alias`

/** Lists entries by their keys and aliases. */
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

/** Lists entries that an earlier message has announced under the bank's reference and that are not on a statement yet. */
export function announcedEntries(
  tx: Tx,
  of: AccountKey,
  bookings: readonly string[],
  messageId: string,
): Promise<readonly KnownEntry[]> {
  return tx.rows(
    unprepared(sql`/* rails.announcedEntries */
    select ${knownColumns} from rails.iso_entries entry
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and statement_id is null
      and message_id <> ${messageId} and position('#' in entry_key) = 0`),
  )
}

/** The bookings of a reference on one day: a bank may reuse the reference on another day. */
export type BookingDay = { readonly booking: string; readonly bookedOn: string }

/** The known payments of a booking that one entry of an earlier message has reported. */
export type CountedGroup = BookingDay & {
  readonly messageId: string
  readonly position: bigint
  readonly statementId: string | null
  readonly firstId: string
  readonly amount: Minor
  readonly payments: bigint
}

/** Lists the known payments of bookings by the entry that reported them, oldest first. `taken`: ids to leave out. */
export function countedGroups(
  tx: Tx,
  of: AccountKey,
  { id }: Pick<MessageReading, 'id'>,
  { bookings, taken }: { readonly bookings: readonly string[]; readonly taken: readonly string[] },
): Promise<readonly CountedGroup[]> {
  return tx.rows(
    unprepared(sql`/* rails.countedGroups */
    select booking, booked_on::text as booked_on, message_id, position, statement_id, min(id::text)::uuid as first_id,
      sum(amount)::bigint as amount, count(*) as payments
    from rails.iso_entries
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and position('#' in entry_key) > 0
      and message_id <> ${id} and id <> all(${[...taken]}::uuid[])
    group by booking, booked_on, message_id, position, statement_id
    order by min(id::text)`),
  )
}

/** Data that another message adds to an entry: a statement, if it has none, and the kind of the announcement. */
export type EntrySighting = { readonly statementId: string | null; readonly announced: number }

export function recordEntrySightings(
  tx: Tx,
  operatorId: string,
  ids: readonly string[],
  { statementId, announced }: EntrySighting,
): void {
  tx.later(sql`/* rails.recordEntrySightings */
    update rails.iso_entries set statement_id = coalesce(statement_id, ${statementId}::uuid),
      announced = announced | ${announced}::smallint
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[])`)
}

export function recordGroupSightings(
  tx: Tx,
  of: AccountKey,
  groups: readonly CountedGroup[],
  mark: EntrySighting,
): void {
  const column = columnValues(groups)
  tx.later(
    unprepared(sql`/* rails.recordGroupSightings */
    update rails.iso_entries entry set statement_id = coalesce(statement_id, ${mark.statementId}::uuid),
      announced = announced | ${mark.announced}::smallint
    from unnest(${column('booking')}::text[], ${column('messageId')}::uuid[], ${column('position')}::bigint[])
      as given (booking, message_id, position)
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and entry.booking = given.booking and entry.message_id = given.message_id
      and entry.position = given.position and position('#' in entry_key) > 0`),
  )
}

/** Deletes sums that are replaced by their payments, which are now known. */
export function deleteWaiting(tx: Tx, operatorId: string, ids: readonly string[]): void {
  tx.later(
    sql`/* rails.deleteWaiting */
    delete from rails.iso_entries
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[]) and kind = 'waiting'`,
    ids.length,
  )
}

export type WaitingEntry = {
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
): Promise<readonly WaitingEntry[]> {
  return tx.rows(sql`/* rails.overdueWaiting */
    select id, account, currency, amount, payments, codes, booked_on, is_reversal from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and kind = 'waiting' and created_at <= ${before}
    order by created_at limit ${rowsMax} for update`)
}

export function markWaitingUnknown(tx: Tx, operatorId: string, ids: readonly string[], matchedBy: string): void {
  tx.later(
    sql`/* rails.markWaitingUnknown */
    update rails.iso_entries set kind = 'unknown', matched_by = ${matchedBy}
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[]) and kind = 'waiting'`,
    ids.length,
  )
}

export type WaitingReversal = Pick<
  NewEntry,
  'id' | 'account' | 'currency' | 'amount' | 'refs' | 'counterparty' | 'remittance'
>

/** Lists and locks reversals whose credit is still unknown, oldest first. */
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

export type ReversibleCredit = {
  readonly id: string
  readonly booking: string | null
  readonly endToEndId: string | null
  readonly amount: Minor
  /** True if the credit is already reversed. */
  readonly isReversed: boolean
}

const creditColumns = (operatorId: string) => sql`id, booking, end_to_end_id, amount, exists (
      select 1 from rails.iso_entries reversal
      where reversal.partner_id = ${operatorId} and reversal.subject_id = credit.id and reversal.kind = 'reversal') as is_reversed`

/** Lists credits that a reversal may be about, by the bank's reference. */
export function creditsByBooking(
  tx: Tx,
  of: AccountKey,
  bookings: readonly string[],
): Promise<readonly ReversibleCredit[]> {
  return tx.rows(
    unprepared(sql`/* rails.creditsByBooking */
    select ${creditColumns(of.operatorId)} from rails.iso_entries credit
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and booking = any(${[...bookings]}::text[]) and amount > 0
      and kind in ('credit', 'unknown')
    order by booked_on desc, id`),
  )
}

export function creditsByEndToEnd(
  tx: Tx,
  of: AccountKey,
  ids: readonly string[],
): Promise<readonly ReversibleCredit[]> {
  return tx.rows(
    unprepared(sql`/* rails.creditsByEndToEnd */
    select ${creditColumns(of.operatorId)} from rails.iso_entries credit
    where partner_id = ${of.operatorId} and connector = ${of.connector} and end_to_end_id = any(${[...ids]}::text[])
      and account = ${of.account} and currency = ${of.currency} and amount > 0 and kind in ('credit', 'unknown')
    order by created_at, id`),
  )
}

/** Lists the debits of instructions after the first of each. */
export function repeatedDebits(
  tx: Tx,
  operatorId: string,
  instructionIds: readonly string[],
): Promise<readonly { readonly id: string; readonly subjectId: string; readonly isReversed: boolean }[]> {
  return tx.rows(
    unprepared(sql`/* rails.repeatedDebits */
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
  const column = columnValues(rows)
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

// The SQL of entries that several messages report with different references.

/** The message that is being read. */
export type MessageReading = Pick<EntrySighting, 'announced'> & {
  /** The id in rails.iso_messages; `messageId` is that of the bank. */
  readonly id: string
  readonly messageId: string
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
}

export type EntryCandidate = KnownEntry & {
  readonly isReversal: boolean
  /** The bank's id of the message that first reported the entry, and the entry's position in it. */
  readonly messageName: string
  readonly position: bigint
  /** True if a message of the same kind has already reported the entry. */
  readonly isRepeated: boolean
}

/** The amounts, ids and days to search. `amounts` are those of payments or whole entries. Excludes entries of the message itself. */
export type SearchBounds = {
  readonly amounts: readonly Minor[]
  readonly endToEndIds: readonly string[]
  readonly from: string
  readonly to: string
}

/** Lists the values of `announced` that do not have the bit of a kind of message. */
const kindsWithout = (bit: number): readonly number[] => [0, 1, 2, 3].filter((kinds) => (kinds & bit) === 0)

const candidateColumns = sql`entry.id, entry.entry_key, entry.booking, entry.amount, entry.booked_on::text as booked_on, entry.kind,
  entry.payments, entry.message_id, entry.statement_id, entry.announced, entry.refs, entry.counterparty, entry.remittance,
  entry.is_reversal, false as is_alias, message.message_id as message_name, entry.position`

const wantedEntries = (
  of: AccountKey,
  { id }: MessageReading,
  { amounts, from, to }: SearchBounds,
) => sql`rails.iso_entries entry
  join rails.iso_messages message on message.id = entry.message_id
  where entry.partner_id = ${of.operatorId} and entry.connector = ${of.connector} and entry.account = ${of.account}
    and entry.currency = ${of.currency} and entry.amount = any(${[...amounts]}::bigint[])
    and entry.booked_on between ${from}::date and ${to}::date and entry.message_id <> ${id}`

/** Lists announced entries of these amounts that are not on a statement. */
export function unlistedAnnouncedEntries(
  tx: Tx,
  of: AccountKey,
  reading: MessageReading,
  wanted: SearchBounds,
): Promise<readonly EntryCandidate[]> {
  return tx.rows(
    unprepared(sql`/* rails.unlistedAnnouncedEntries */
    select ${candidateColumns}, false as is_repeated from ${wantedEntries(of, reading, wanted)} and entry.statement_id is null`),
  )
}

/**
 * Lists entries of these amounts that this kind of message has not reported, and reported ones with the same end-to-end
 * id. Entries of the previous version do not record the kinds of their messages.
 */
export function findUnannounced(
  tx: Tx,
  of: AccountKey,
  reading: MessageReading,
  wanted: SearchBounds,
): Promise<readonly EntryCandidate[]> {
  const kinds = kindsWithout(reading.announced)
  const entries = wantedEntries(of, reading, wanted)
  return tx.rows(
    unprepared(sql`/* rails.findUnannounced */
    select ${candidateColumns}, false as is_repeated from ${entries} and entry.statement_id is null
      and entry.announced = any(${kinds}::smallint[]) and (entry.announced <> 0 or message.kind <> ${reading.kind})
    union all
    select ${candidateColumns}, false from ${entries} and entry.statement_id is not null
      and entry.announced = any(${kinds}::smallint[])
    union all
    select ${candidateColumns}, true from ${entries} and entry.announced & ${reading.announced}::smallint <> 0
      and entry.end_to_end_id = any(${[...wanted.endToEndIds]}::text[])`),
  )
}

/** Lists entries of these amounts that messages of this and of another kind have reported. */
export function entriesReportedTwice(
  tx: Tx,
  of: AccountKey,
  reading: MessageReading,
  wanted: SearchBounds,
): Promise<readonly EntryCandidate[]> {
  const reported =
    reading.kind === 'camt.053'
      ? sql`entry.statement_id is not null and entry.announced <> 0`
      : sql`entry.announced & ${reading.announced}::smallint <> 0 and (entry.statement_id is not null or entry.announced <> ${reading.announced}::smallint)`
  return tx.rows(
    unprepared(sql`/* rails.entriesReportedTwice */
    select ${candidateColumns}, false as is_repeated from ${wantedEntries(of, reading, wanted)} and ${reported}`),
  )
}

/** The payments of an entry that another message has reported one by one. */
export type EntryGroup = {
  readonly messageId: string
  readonly position: bigint
  readonly messageName: string
  readonly bookedOn: string
  readonly amount: Minor
  readonly isReversal: boolean
  readonly ids: readonly string[]
  /** The references of one of its payments. */
  readonly refs: string
}

export function entryGroups(
  tx: Tx,
  of: AccountKey,
  reading: MessageReading,
  { amounts, from, to }: SearchBounds,
): Promise<readonly EntryGroup[]> {
  const unseen =
    reading.kind === 'camt.053'
      ? sql`entry.statement_id is null`
      : sql`entry.announced = any(${kindsWithout(reading.announced)}::smallint[])`
  return tx.rows(
    unprepared(sql`/* rails.entryGroups */
    select entry.message_id, entry.position, message.message_id as message_name, entry.booked_on::text as booked_on,
      sum(entry.amount)::bigint as amount, entry.is_reversal, array_agg(entry.id) as ids, min(entry.refs) as refs
    from rails.iso_entries entry join rails.iso_messages message on message.id = entry.message_id
    where entry.partner_id = ${of.operatorId} and entry.connector = ${of.connector} and entry.account = ${of.account}
      and entry.currency = ${of.currency} and entry.booked_on between ${from}::date and ${to}::date
      and entry.message_id <> ${reading.id} and ${unseen} and message.kind <> ${reading.kind}
    group by entry.message_id, message.message_id, entry.position, entry.booked_on, entry.is_reversal
    having sum(entry.amount) = any(${[...amounts]}::bigint[])`),
  )
}

export type EntryAlias = { readonly entryKey: string; readonly entryId: string }

const newAliases = insertBy<AliasRow>(
  { partnerId: 'uuid', connector: 'text', account: 'text', currency: 'text', entryKey: 'text', entryId: 'uuid' },
  [['partnerId', 'connector', 'account', 'currency']],
)
type AliasRow = EntryAlias & Pick<AccountKey, 'connector' | 'account' | 'currency'> & { readonly partnerId: string }

/** Stores further keys of known entries. */
export function insertAliases(tx: Tx, of: AccountKey, aliases: readonly EntryAlias[]): void {
  const { operatorId: partnerId, connector, account, currency } = of
  const rows = aliases.map((alias) => ({ ...alias, partnerId, connector, account, currency }))
  tx.later(sql`/* rails.insertAliases */
    insert into rails.iso_entry_aliases (partner_id, connector, account, currency, entry_key, entry_id)
    ${newAliases(tx, rows)} on conflict (partner_id, connector, account, currency, entry_key) do nothing`)
}

export type AbsentEntry = {
  readonly id: string
  readonly account: string
  readonly currency: string
  readonly amount: Minor
  readonly bookedOn: string
  /** The kinds of messages that announced the entry, as bits; 0: only a statement has listed it. */
  readonly announced: number
}

export type StatementCoverage = {
  /** The last day that the statements cover. */
  readonly until: string
  /** When the last statement was received. */
  readonly takenAt: Date
  /** Days of missing statements. */
  readonly missing: readonly { readonly first: string; readonly last: string }[]
}

/** Lists and locks entries that a statement should have and does not, and that do not have a case yet. */
export function absentEntries(
  tx: Tx,
  of: AccountKey,
  { until, takenAt, missing }: StatementCoverage,
  rowsMax: number,
): Promise<readonly AbsentEntry[]> {
  return tx.rows(sql`/* rails.absentEntries */
    select id, account, currency, amount, booked_on::text as booked_on, announced from rails.iso_entries
    where partner_id = ${of.operatorId} and connector = ${of.connector} and account = ${of.account}
      and currency = ${of.currency} and statement_id is null and absent_since is null and kind <> 'waiting'
      and booked_on <= ${until}::date and created_at <= ${takenAt}
      and not exists (select from unnest(${missing.map(({ first }) => first)}::date[],
        ${missing.map(({ last }) => last)}::date[]) as gap (first, last) where booked_on between gap.first and gap.last)
    order by created_at, id limit ${rowsMax} for update`)
}

export function markAbsent(tx: Tx, operatorId: string, ids: readonly string[], now: Date): void {
  tx.later(sql`/* rails.markAbsent */
    update rails.iso_entries set absent_since = ${now}
    where partner_id = ${operatorId} and id = any(${[...ids]}::uuid[])`)
}

/** Removes entries from replaced statements. Returns their number; `rowsMax` means that more may be left. */
export function removeFromStatements(
  tx: Tx,
  operatorId: string,
  statementIds: readonly string[],
  rowsMax: number,
): Promise<number> {
  return tx.run(sql`/* rails.removeFromStatements */
    update rails.iso_entries set statement_id = null
    where partner_id = ${operatorId} and id = any(array(
      select id from rails.iso_entries
      where partner_id = ${operatorId} and statement_id = any(${[...statementIds]}::uuid[]) limit ${rowsMax}))`)
}

/** An entry that can be cancelled. */
export type CancellableEntry = Pick<AbsentEntry, 'amount' | 'bookedOn'> & {
  readonly connector: string
  readonly currency: Currency
}

/** Locks an applied entry that its statement omits. Undefined: there is none, or it is cancelled (by any version). */
export function lockAbsent(tx: Tx, operatorId: string, id: string): Promise<CancellableEntry | undefined> {
  return tx.row<CancellableEntry>(sql`/* rails.lockAbsent */
    select connector, currency, amount, booked_on::text as booked_on from rails.iso_entries counted
    where partner_id = ${operatorId} and id = ${id} and statement_id is null and absent_since is not null
      and status = 'Applied' and (kind in ('credit', 'unknown') or amount < 0 and kind in ('payout', 'fee', 'reversal'))
      and not exists (select from rails.iso_entries back
        where back.partner_id = ${operatorId} and (back.kind = 'reversal' and back.subject_id = counted.id
          or counted.kind = 'payout' and back.subject_id = counted.subject_id and back.entry_key like 'cancelled|%'))
      and not exists (select from rails.iso_entries back
        where back.partner_id = ${operatorId} and back.connector = counted.connector and back.account = counted.account
          and back.currency = counted.currency and back.entry_key = 'cancelled|' || counted.id)
    for update`)
}

type Cancellation = {
  readonly id: string
  readonly entryId: string
  readonly kind: 'reversal' | 'return'
  readonly status: 'New' | 'Applied'
  /** Undefined: the entry belongs to the payments of a batch. */
  readonly subject: RowKey | undefined
  readonly matchedBy: string
  readonly now: Date
}

/** Inserts the reversal of an entry, with its references, so that a later reversal by the bank is recognised. */
export function insertCancellation(
  tx: Tx,
  operatorId: string,
  { id, entryId, kind, status, subject, matchedBy, now }: Cancellation,
): void {
  tx.later(sql`/* rails.insertCancellation */
    insert into rails.iso_entries (partner_id, id, connector, account, currency, entry_key, amount, booked_on, value_on,
      message_id, position, is_reversal, payments, codes, refs, counterparty, remittance, kind, subject_id,
      subject_partner_id, score, matched_by, status, applied_at, created_at, announced, absent_since)
    select partner_id, ${id}::uuid, connector, account, currency, 'cancelled|' || id, -amount, booked_on, value_on,
      message_id, position, true, payments, codes, refs, counterparty, remittance, ${kind}, ${subject?.id ?? null}::uuid,
      ${subject?.partnerId ?? null}::uuid, 100, ${matchedBy}, ${status}, ${status === 'Applied' ? now : null}::timestamptz,
      ${now}::timestamptz, 0, ${now}::timestamptz
    from rails.iso_entries where partner_id = ${operatorId} and id = ${entryId}`)
}
