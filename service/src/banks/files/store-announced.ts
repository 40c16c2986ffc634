/** All SQL of entries that several messages report, each in its own words. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { insertBy, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { AccountKey, KnownEntry, Seen } from './store-entries.ts'

/** The message that is being read. */
export type Reading = Pick<Seen, 'announced'> & {
  /** The id in rails.iso_messages, and the one that the bank gave. */
  readonly id: string
  readonly messageId: string
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
}

export type Candidate = KnownEntry & {
  readonly isReversal: boolean
  /** The name of the message that reported it first, with its place there. */
  readonly messageName: string
  readonly position: bigint
  /** A message of this kind has reported it already. */
  readonly isRepeated: boolean
}

/** `amounts`: of payments, or of whole entries. The entries of the message itself are excluded. */
export type Wanted = {
  readonly amounts: readonly Minor[]
  readonly endToEndIds: readonly string[]
  readonly from: string
  readonly to: string
}

/** The values of `announced` for an entry that no message of the same kind has reported. */
const kindsWithout = (bit: number): readonly number[] => [0, 1, 2, 3].filter((kinds) => (kinds & bit) === 0)

const candidateColumns = sql`entry.id, entry.entry_key, entry.booking, entry.amount, entry.booked_on::text as booked_on, entry.kind,
  entry.payments, entry.message_id, entry.statement_id, entry.announced, entry.refs, entry.counterparty, entry.remittance,
  entry.is_reversal, false as is_alias, message.message_id as message_name, entry.position`

const wantedEntries = (of: AccountKey, { id }: Reading, { amounts, from, to }: Wanted) => sql`rails.iso_entries entry
  join rails.iso_messages message on message.id = entry.message_id
  where entry.partner_id = ${of.operatorId} and entry.connector = ${of.connector} and entry.account = ${of.account}
    and entry.currency = ${of.currency} and entry.amount = any(${[...amounts]}::bigint[])
    and entry.booked_on between ${from}::date and ${to}::date and entry.message_id <> ${id}`

/** Entries of these amounts that were announced and are on no statement. */
export function announcedUnlisted(
  tx: Tx,
  of: AccountKey,
  reading: Reading,
  wanted: Wanted,
): Promise<readonly Candidate[]> {
  return tx.rows(
    unprepared(sql`/* rails.announcedUnlisted */
    select ${candidateColumns}, false as is_repeated from ${wantedEntries(of, reading, wanted)} and entry.statement_id is null`),
  )
}

/**
 * Entries of these amounts that no message of this kind has reported; and those with the same end-to-end id that one
 * has. An entry of the previous version does not say which messages announced it.
 */
export function unannounced(tx: Tx, of: AccountKey, reading: Reading, wanted: Wanted): Promise<readonly Candidate[]> {
  const kinds = kindsWithout(reading.announced)
  const entries = wantedEntries(of, reading, wanted)
  return tx.rows(
    unprepared(sql`/* rails.unannounced */
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

/** Entries of these amounts that messages of this kind and of another one have reported. */
export function reportedTwice(tx: Tx, of: AccountKey, reading: Reading, wanted: Wanted): Promise<readonly Candidate[]> {
  const reported =
    reading.kind === 'camt.053'
      ? sql`entry.statement_id is not null and entry.announced <> 0`
      : sql`entry.announced & ${reading.announced}::smallint <> 0 and (entry.statement_id is not null or entry.announced <> ${reading.announced}::smallint)`
  return tx.rows(
    unprepared(sql`/* rails.reportedTwice */
    select ${candidateColumns}, false as is_repeated from ${wantedEntries(of, reading, wanted)} and ${reported}`),
  )
}

/** An entry whose payments another message has reported one by one. */
export type Group = {
  readonly messageName: string
  readonly bookedOn: string
  readonly amount: Minor
  readonly isReversal: boolean
  readonly ids: readonly string[]
  /** The references of one of its payments. */
  readonly refs: string
}

export function groupsOf(
  tx: Tx,
  of: AccountKey,
  reading: Reading,
  { amounts, from, to }: Wanted,
): Promise<readonly Group[]> {
  const unseen =
    reading.kind === 'camt.053'
      ? sql`entry.statement_id is null`
      : sql`entry.announced = any(${kindsWithout(reading.announced)}::smallint[])`
  return tx.rows(
    unprepared(sql`/* rails.groupsOf */
    select message.message_id as message_name, entry.booked_on::text as booked_on, sum(entry.amount)::bigint as amount,
      entry.is_reversal, array_agg(entry.id) as ids, min(entry.refs) as refs
    from rails.iso_entries entry join rails.iso_messages message on message.id = entry.message_id
    where entry.partner_id = ${of.operatorId} and entry.connector = ${of.connector} and entry.account = ${of.account}
      and entry.currency = ${of.currency} and entry.booked_on between ${from}::date and ${to}::date
      and entry.message_id <> ${reading.id} and ${unseen} and message.kind <> ${reading.kind}
    group by entry.message_id, message.message_id, entry.position, entry.booked_on, entry.is_reversal
    having sum(entry.amount) = any(${[...amounts]}::bigint[])`),
  )
}

export type Alias = { readonly entryKey: string; readonly entryId: string }

const newAliases = insertBy<AliasRow>(
  { partnerId: 'uuid', connector: 'text', account: 'text', currency: 'text', entryKey: 'text', entryId: 'uuid' },
  [['partnerId', 'connector', 'account', 'currency']],
)
type AliasRow = Alias & Pick<AccountKey, 'connector' | 'account' | 'currency'> & { readonly partnerId: string }

/** Stores these keys as further names of known entries. */
export function insertAliases(tx: Tx, of: AccountKey, aliases: readonly Alias[]): void {
  const { operatorId: partnerId, connector, account, currency } = of
  const rows = aliases.map((alias) => ({ ...alias, partnerId, connector, account, currency }))
  tx.later(sql`/* rails.insertAliases */
    insert into rails.iso_entry_aliases (partner_id, connector, account, currency, entry_key, entry_id)
    ${newAliases(tx, rows)} on conflict (partner_id, connector, account, currency, entry_key) do nothing`)
}

export type Absent = {
  readonly id: string
  readonly account: string
  readonly currency: string
  readonly amount: Minor
  readonly bookedOn: string
  /** Kinds of messages that announced it; 0: a statement has listed it. */
  readonly announced: number
}

export type Listed = {
  /** The last day that statements have listed. */
  readonly until: string
  /** When the last statement was received. */
  readonly takenAt: Date
  /** Days of missing statements. */
  readonly missing: readonly { readonly first: string; readonly last: string }[]
}

/** Entries of an account that statements should have listed, and that are on none and have no case. */
export function absentOf(
  tx: Tx,
  of: AccountKey,
  { until, takenAt, missing }: Listed,
  rowsMax: number,
): Promise<readonly Absent[]> {
  return tx.rows(sql`/* rails.absentOf */
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

/** Takes entries off replaced statements. Returns how many; as many as `rowsMax` if more may be left. */
export function takeOffStatements(
  tx: Tx,
  operatorId: string,
  statementIds: readonly string[],
  rowsMax: number,
): Promise<number> {
  return tx.run(sql`/* rails.takeOffStatements */
    update rails.iso_entries set statement_id = null
    where partner_id = ${operatorId} and id = any(array(
      select id from rails.iso_entries
      where partner_id = ${operatorId} and statement_id = any(${[...statementIds]}::uuid[]) limit ${rowsMax}))`)
}

/** An entry that a cancellation takes back. */
export type Absentee = Pick<Absent, 'amount' | 'bookedOn'> & { readonly connector: string; readonly currency: Currency }

/**
 * Locks a credit or a debit that counts and that its statement does not list. Undefined: there is no such one, or it was taken back. An
 * earlier version cancelled the debit of a payment under another key.
 */
export function lockAbsent(tx: Tx, operatorId: string, id: string): Promise<Absentee | undefined> {
  return tx.row<Absentee>(sql`/* rails.lockAbsent */
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
  /** Undefined: the payments of a batch. */
  readonly subject: { readonly partnerId: string; readonly id: string } | undefined
  readonly matchedBy: string
  readonly now: Date
}

/** Inserts the reversal of an entry, with its references: the bank's own reversal, if it comes later, is then known. */
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
