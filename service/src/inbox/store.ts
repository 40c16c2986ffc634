/** All SQL of the inbox. */
import { ownJson } from '@partner-payments/wire'
import { dueWork, insertBy, noSql, type RowOf, type Sql, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { MailFrequency } from './kinds.ts'

export type StoredFacts = Readonly<Record<string, string | null>>

const factColumns = {
  partnerId: 'uuid',
  id: 'uuid',
  type: 'text',
  subject: 'text',
  occasion: 'text',
  facts: 'jsonb',
  occurredAt: 'timestamptz',
  dueAt: 'timestamptz',
} as const
type StoredFact = RowOf<typeof factColumns>
export type FactRow = Omit<StoredFact, 'facts' | 'dueAt'> & { readonly facts: StoredFacts }

const newFacts = insertBy<StoredFact>(factColumns, [['partnerId'], ['type', 'occurredAt', 'dueAt']])

export function insertFacts(tx: Tx, rows: readonly StoredFact[]): void {
  tx.later(sql`/* inbox.insertFacts */
    insert into inbox.facts (partner_id, id, type, subject, occasion, facts, occurred_at, due_at) ${newFacts(tx, rows)}`)
}

// Two queues: facts that become entries, and readers who get a mail.

type Queue = { readonly what: string; readonly table: Sql; readonly dueAt: Sql }
const facts: Queue = { what: 'fact for the inbox', table: sql`inbox.facts`, dueAt: sql`due_at` }
const mails: Queue = { what: 'mail of an inbox', table: sql`inbox.readers`, dueAt: sql`mail_due_at` }

const nextDue =
  ({ what, table, dueAt }: Queue) =>
  (after: Date): Sql =>
    dueWork(
      `reads when the next ${what} is due`,
      (whose) => sql`/* inbox.nextDue */
        select min(${dueAt}) as due_at from ${table} where ${dueAt} > ${after} and ${whose()}`,
    )

const partnersDue =
  ({ what, table, dueAt }: Queue) =>
  (tx: Tx, now: Date, partnersMax: number): Promise<readonly { readonly partnerId: string }[]> =>
    tx.rows(
      dueWork(`finds partners with a due ${what}, without a lock`, (whose) =>
        unprepared(sql`/* inbox.partnersDue */
          select partner_id from ${table} where ${dueAt} <= ${now} and ${whose()}
          group by partner_id order by min(${dueAt}) limit ${partnersMax}`),
      ),
    )

export const [factsDue, mailsDue] = [nextDue(facts), nextDue(mails)]
export const [partnersWithFacts, partnersWithMails] = [partnersDue(facts), partnersDue(mails)]

/** Locks the due facts of a partner, oldest first. Facts of another worker are skipped. */
export async function lockFacts(tx: Tx, partnerId: string, now: Date, rowsMax: number): Promise<readonly FactRow[]> {
  const rows = await tx.rows<Omit<StoredFact, 'dueAt'>>(
    unprepared(sql`/* inbox.lockFacts */
      select partner_id, id, type, subject, occasion, facts, occurred_at from inbox.facts
      where partner_id = ${partnerId} and due_at <= ${now} order by due_at, id for update skip locked limit ${rowsMax}`),
  )
  return rows.map((row) => ({ ...row, facts: ownJson<StoredFacts>(row.facts) }))
}

export async function deleteFacts(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  await tx.run(sql`/* inbox.deleteFacts */
    delete from inbox.facts where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
}

// Inbox entries.

export type PersonKey = { readonly partnerId: string; readonly personId: string }

const entryColumns = {
  partnerId: 'uuid',
  personId: 'uuid',
  id: 'uuid',
  type: 'text',
  subject: 'text',
  occasion: 'text',
  facts: 'jsonb',
  occurredAt: 'timestamptz',
  mailBy: 'text?',
  mailDueAt: 'timestamptz?',
  readAt: 'timestamptz?',
} as const
type StoredEntry = RowOf<typeof entryColumns>
export type NewEntry = StoredEntry
export type EntryRow = Omit<StoredEntry, 'facts' | 'occasion' | 'mailDueAt' | 'mailBy' | keyof PersonKey> & {
  readonly facts: StoredFacts
}

const newEntries = insertBy<StoredEntry>(
  entryColumns,
  [['partnerId'], ['type', 'occurredAt']],
  ['personId', 'type', 'occasion'],
)

/** Adds entries, except those that people already have. Waits for a concurrent transaction that adds the same entry. */
export async function insertEntries(tx: Tx, rows: readonly StoredEntry[]): Promise<void> {
  await tx.run(sql`/* inbox.insertEntries */
    insert into inbox.entries (partner_id, person_id, id, type, subject, occasion, facts, occurred_at, mail_by, mail_due_at,
      read_at) ${newEntries(tx, rows)}
    on conflict (partner_id, person_id, type, occasion) do nothing`)
}

/** Counts facts of a type in an hour, and returns the previous count. Waits for a concurrent transaction that counts them. */
export async function countFacts(
  tx: Tx,
  { partnerId, type, hour }: { readonly partnerId: string; readonly type: string; readonly hour: Date },
  count: number,
): Promise<number> {
  const row = await tx.row<{ readonly told: number }>(sql`/* inbox.countFacts */
    insert into inbox.counts (partner_id, type, hour, told) values (${partnerId}, ${type}, ${hour}, ${count})
    on conflict (partner_id, type, hour) do update set told = counts.told + excluded.told returning told`)
  return (row?.told ?? count) - count
}

export async function deleteOldCounts(tx: Tx, partnerId: string, before: Date): Promise<void> {
  await tx.run(sql`/* inbox.deleteOldCounts */
    delete from inbox.counts where partner_id = ${partnerId} and hour < ${before}`)
}

/** Adds counting entries, or adds to the counts of existing ones, which become unread and are mailed again. */
export async function upsertGroupedEntries(tx: Tx, rows: readonly StoredEntry[]): Promise<void> {
  await tx.run(sql`/* inbox.upsertGroupedEntries */
    insert into inbox.entries (partner_id, person_id, id, type, subject, occasion, facts, occurred_at, mail_by, mail_due_at,
      read_at) ${newEntries(tx, rows)}
    on conflict (partner_id, person_id, type, occasion) do update set
      facts = entries.facts || ('{"more": "' || ((entries.facts ->> 'more')::integer + (excluded.facts ->> 'more')::integer)::text || '"}')::jsonb,
      occurred_at = excluded.occurred_at, mail_by = excluded.mail_by, read_at = excluded.read_at,
      mail_due_at = least(entries.mail_due_at, excluded.mail_due_at)`)
}

const shownColumns = sql`id, type, subject, facts, occurred_at, read_at`
const readRows = (rows: readonly (Omit<EntryRow, 'facts'> & { readonly facts: string })[]): readonly EntryRow[] =>
  rows.map((row) => ({ ...row, facts: ownJson<StoredFacts>(row.facts) }))

/** Lists entries, newest first, older than the cursor. */
export async function entriesOf(
  tx: Tx,
  { partnerId, personId }: PersonKey,
  { beforeId, rowsMax }: { readonly beforeId: string | null; readonly rowsMax: number },
): Promise<readonly EntryRow[]> {
  return readRows(
    await tx.rows(sql`/* inbox.entriesOf */
      select ${shownColumns} from inbox.entries
      where partner_id = ${partnerId} and person_id = ${personId} ${beforeId === null ? noSql : sql`and id < ${beforeId}`}
      order by id desc limit ${rowsMax}`),
  )
}

export async function entryById(tx: Tx, { partnerId, personId }: PersonKey, id: string): Promise<EntryRow | undefined> {
  return readRows(
    await tx.rows(sql`/* inbox.entryById */
      select ${shownColumns} from inbox.entries
      where partner_id = ${partnerId} and person_id = ${personId} and id = ${id}`),
  )[0]
}

/** Counts unread entries by their index, up to `countMax`. */
export async function countUnread(tx: Tx, { partnerId, personId }: PersonKey, countMax: number): Promise<number> {
  const rows = await tx.rows(sql`/* inbox.countUnread */
    select 1 as found from inbox.entries
    where partner_id = ${partnerId} and person_id = ${personId} and read_at is null limit ${countMax}`)
  return rows.length
}

/** Marks an entry as read, or as unread with null. Returns 0 if there is no such entry. */
export function markEntry(
  tx: Tx,
  { partnerId, personId }: PersonKey,
  id: string,
  readAt: Date | null,
): Promise<number> {
  return tx.run(sql`/* inbox.markEntry */
    update inbox.entries set read_at = ${readAt}
    where partner_id = ${partnerId} and person_id = ${personId} and id = ${id}`)
}

/** Marks the unread entries as read, up to the newest one that the person has seen. */
export async function markAllRead(tx: Tx, key: PersonKey, upToId: string, now: Date): Promise<void> {
  await tx.run(sql`/* inbox.markAllRead */
    update inbox.entries set read_at = ${now}
    where partner_id = ${key.partnerId} and person_id = ${key.personId} and read_at is null and id <= ${upToId}`)
}

/** Lists the entries of the next mail, oldest first: due ones, and ones that wait for further entries. */
export async function entriesToMail(
  tx: Tx,
  { partnerId, personId }: PersonKey,
  now: Date,
  rowsMax: number,
): Promise<readonly EntryRow[]> {
  return readRows(
    await tx.rows(sql`/* inbox.entriesToMail */
      select ${shownColumns} from inbox.entries
      where partner_id = ${partnerId} and person_id = ${personId} and mail_due_at is not null
        and (mail_due_at <= ${now} or mail_by = 'now')
      order by id limit ${rowsMax}`),
  )
}

/** Marks the entries of a mail as mailed. Returns their number. */
export function markMailed(tx: Tx, { partnerId, personId }: PersonKey, now: Date): Promise<number> {
  return tx.run(sql`/* inbox.markMailed */
    update inbox.entries set mail_due_at = null
    where partner_id = ${partnerId} and person_id = ${personId} and mail_due_at is not null
      and (mail_due_at <= ${now} or mail_by = 'now')`)
}

export async function nextMailAt(tx: Tx, { partnerId, personId }: PersonKey): Promise<Date | null> {
  const row = await tx.row<{ readonly dueAt: Date | null }>(sql`/* inbox.nextMailAt */
    select min(mail_due_at) as due_at from inbox.entries
    where partner_id = ${partnerId} and person_id = ${personId} and mail_due_at is not null`)
  return row?.dueAt ?? null
}

/** Reschedules the entries of the daily mail. */
export async function moveDaily(tx: Tx, { partnerId, personId }: PersonKey, dueAt: Date): Promise<void> {
  await tx.run(sql`/* inbox.moveDaily */
    update inbox.entries set mail_due_at = ${dueAt}
    where partner_id = ${partnerId} and person_id = ${personId} and mail_due_at is not null and mail_by = 'daily'`)
}

export async function deleteEntriesOf(tx: Tx, { partnerId, personId }: PersonKey): Promise<void> {
  await tx.run(sql`/* inbox.deleteEntriesOf */
    delete from inbox.entries where partner_id = ${partnerId} and person_id = ${personId}`)
}

export function partnersWithOldEntries(
  tx: Tx,
  before: Date,
  rowsMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork('finds partners whose oldest entries of the inbox have reached their age, without a lock', (whose) =>
      unprepared(sql`/* inbox.partnersWithOldEntries */
        select partner_id from inbox.entries where occurred_at < ${before} and ${whose()}
        order by occurred_at limit ${rowsMax}`),
    ),
  )
}

export function deleteOldEntries(tx: Tx, partnerId: string, before: Date): Promise<number> {
  return tx.run(sql`/* inbox.deleteOldEntries */
    delete from inbox.entries where partner_id = ${partnerId} and occurred_at < ${before}`)
}

// People's notification choices, and when each person gets the next mail.

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const readerColumns = {
  partnerId: 'uuid',
  personId: 'uuid',
  language: 'text?',
  seenLanguage: 'text?',
  zone: 'text',
  dailyHour: 'integer',
  choices: 'jsonb',
  mailSubjectId: 'uuid',
  mailDueAt: 'timestamptz?',
  updatedAt: 'timestamptz',
} as const
type StoredReader = RowOf<typeof readerColumns, { language: Language; seenLanguage: Language }>
export type FrequencyByKind = Readonly<Record<string, MailFrequency>>
export type ReaderRow = Omit<StoredReader, 'choices'> & { readonly choices: FrequencyByKind }

const readerNames = sql`partner_id, person_id, language, seen_language, zone, daily_hour, choices, mail_subject_id,
  mail_due_at, updated_at`
const readReaders = (rows: readonly StoredReader[]): readonly ReaderRow[] =>
  rows.map((row) => ({ ...row, choices: ownJson<FrequencyByKind>(row.choices) }))

const newReaders = insertBy<StoredReader>(
  readerColumns,
  [['partnerId'], ['zone', 'dailyHour', 'choices', 'updatedAt']],
  ['personId'],
)

export async function readersOf(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly ReaderRow[]> {
  return readReaders(
    await tx.rows<StoredReader>(sql`/* inbox.readersOf */
      select ${readerNames} from inbox.readers where partner_id = ${partnerId} and person_id = any(${[...ids]}::uuid[])`),
  )
}

/** Adds missing readers, and schedules the next mail of each no later than given. */
export async function scheduleMails(tx: Tx, rows: readonly ReaderRow[]): Promise<void> {
  const stored = rows.map((row): StoredReader => ({ ...row, choices: JSON.stringify(row.choices) }))
  await tx.run(sql`/* inbox.scheduleMails */
    insert into inbox.readers (${readerNames}) ${newReaders(tx, stored)}
    on conflict (partner_id, person_id) do update set mail_due_at = least(readers.mail_due_at, excluded.mail_due_at)`)
}

/** Stores the choices of a person. */
export async function storeReader(tx: Tx, row: ReaderRow): Promise<void> {
  const stored = { ...row, choices: JSON.stringify(row.choices) }
  await tx.run(sql`/* inbox.storeReader */
    insert into inbox.readers (${readerNames}) ${newReaders(tx, [stored])}
    on conflict (partner_id, person_id) do update set language = excluded.language, zone = excluded.zone,
      daily_hour = excluded.daily_hour, choices = excluded.choices, updated_at = excluded.updated_at`)
}

/** Stores the language in which a person last read the console. */
export async function putSeenLanguage(tx: Tx, row: ReaderRow): Promise<void> {
  const stored = { ...row, choices: JSON.stringify(row.choices) }
  await tx.run(sql`/* inbox.putSeenLanguage */
    insert into inbox.readers (${readerNames}) ${newReaders(tx, [stored])}
    on conflict (partner_id, person_id) do update set seen_language = excluded.seen_language`)
}

/** Locks the readers of a partner with a due mail. Readers of another worker are skipped. */
export async function lockReaders(
  tx: Tx,
  partnerId: string,
  now: Date,
  rowsMax: number,
): Promise<readonly ReaderRow[]> {
  return readReaders(
    await tx.rows<StoredReader>(
      unprepared(sql`/* inbox.lockReaders */
        select ${readerNames} from inbox.readers
        where partner_id = ${partnerId} and mail_due_at <= ${now}
        order by mail_due_at, person_id for update skip locked limit ${rowsMax}`),
    ),
  )
}

export async function lockReader(tx: Tx, { partnerId, personId }: PersonKey): Promise<ReaderRow | undefined> {
  return readReaders(
    await tx.rows<StoredReader>(sql`/* inbox.lockReader */
      select ${readerNames} from inbox.readers where partner_id = ${partnerId} and person_id = ${personId} for update`),
  )[0]
}

export async function setMailDue(tx: Tx, { partnerId, personId }: PersonKey, dueAt: Date | null): Promise<void> {
  await tx.run(sql`/* inbox.setMailDue */
    update inbox.readers set mail_due_at = ${dueAt} where partner_id = ${partnerId} and person_id = ${personId}`)
}

export async function deleteReader(tx: Tx, { partnerId, personId }: PersonKey): Promise<void> {
  await tx.run(sql`/* inbox.deleteReader */
    delete from inbox.readers where partner_id = ${partnerId} and person_id = ${personId}`)
}
