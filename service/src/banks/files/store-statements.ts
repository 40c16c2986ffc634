/** All SQL of statements: the balances that a bank reports for an account. They belong to no partner. */
import type { Minor } from '../../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  insertBy,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type { OutgoingFile } from './store-instructions.ts'

const types = {
  id: 'uuid',
  connector: 'text',
  messageId: 'uuid',
  kind: 'text',
  account: 'text',
  currency: 'text',
  statementId: 'text',
  sequence: 'bigint?',
  opening: 'bigint?',
  closing: 'bigint?',
  openingOn: 'date?',
  closingOn: 'date?',
  entries: 'bigint',
  credits: 'bigint',
  debits: 'bigint',
  byValueDate: 'bigint?',
  createdAt: 'timestamptz',
} as const
export type StatementRow = RowOf<typeof types, { kind: 'camt.052' | 'camt.053' | 'camt.054'; entries: number }>

const newStatements = insertBy<StatementRow>(types, [['connector', 'messageId', 'kind', 'createdAt']])

export function insertStatements(tx: Tx, rows: readonly StatementRow[]): void {
  tx.later(sql`/* rails.insertStatements */
    insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence, opening,
      closing, opening_on, closing_on, entries, credits, debits, by_value_date, created_at)
    ${newStatements(tx, rows)} on conflict (id) do nothing`)
}

export type Statement = Pick<
  StatementRow,
  'id' | 'statementId' | 'sequence' | 'opening' | 'closing' | 'openingOn' | 'closingOn' | 'credits' | 'debits'
> & { readonly createdAt: Date }

/** The latest statements (camt.053) of an account, newest first. */
export function latestStatements(
  tx: Tx,
  connector: string,
  account: string,
  currency: string,
  rowsMax: number,
): Promise<readonly Statement[]> {
  return tx.rows(sql`/* rails.latestStatements */
    select id, statement_id, sequence, opening, closing, opening_on, closing_on, credits, debits, created_at
    from rails.iso_statements
    where connector = ${connector} and account = ${account} and currency = ${currency} and kind = 'camt.053'
    order by closing_on desc nulls last, sequence desc nulls last, id desc limit ${rowsMax}`)
}

/** The statements (camt.053) of an account that end on a day. */
export function statementsOfDay(tx: Tx, row: StatementRow): Promise<readonly Statement[]> {
  return tx.rows(sql`/* rails.statementsOfDay */
    select id, statement_id, sequence, opening, closing, opening_on, closing_on, credits, debits, created_at
    from rails.iso_statements
    where connector = ${row.connector} and account = ${row.account} and currency = ${row.currency} and kind = 'camt.053'
      and closing_on = ${row.closingOn}::date`)
}

type AccountKey = {
  readonly operatorId: string
  readonly connector: string
  readonly account: string
  readonly currency: string
}

/** The day of the last closing balance before a day. */
export async function closingBefore(
  tx: Tx,
  { connector, account, currency }: AccountKey,
  day: string,
): Promise<string | null> {
  const row = await tx.row<{ on: string | null }>(sql`/* rails.closingBefore */
    select max(closing_on)::text as "on" from rails.iso_statements
    where connector = ${connector} and account = ${account} and currency = ${currency} and kind = 'camt.053'
      and closing_on < ${day}`)
  return row?.on ?? null
}

/** The entries of earlier statements whose value date is later than their statement: after one day, up to another. */
export async function valuedBetween(
  tx: Tx,
  { operatorId, connector, account, currency }: AccountKey,
  after: string,
  to: string,
): Promise<Minor> {
  const row = await tx.row<{ amount: Minor }>(sql`/* rails.valuedBetween */
    select coalesce(sum(entry.amount), 0)::bigint as amount from rails.iso_statements as statement
      join rails.iso_entries as entry on entry.partner_id = ${operatorId} and entry.statement_id = statement.id
    where statement.connector = ${connector} and statement.account = ${account} and statement.currency = ${currency}
      and statement.kind = 'camt.053' and statement.closing_on <= ${after}
      and entry.value_on > ${after} and entry.value_on <= ${to}`)
  return row?.amount ?? 0n
}

// All SQL of files that a bank has and that a restored database did not know. They name no partner, because their
// messages do not.

type Key = { readonly id: string; readonly attempt: number }
export type Adopted = Key & { readonly fileId: string; readonly batchId: string }

export function insertAdoptedFile(tx: Tx, connector: string, file: OutgoingFile, now: Date): Promise<number> {
  return tx.run(sql`/* rails.insertAdoptedFile */
    insert into rails.iso_files (id, connector, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state,
      staged_name, made_at, delivered_at)
    values (${file.id}, ${connector}, ${file.kind}, ${file.messageId}, ${file.messageName}, ${file.name}, ${file.sha256}, ${file.bytes},
      ${file.payments}, ${file.controlSum}, ${file.state}, ${file.stagedName}, ${file.madeAt}, ${now})
    on conflict do nothing`)
}

const newAdopted = insertBy<Adopted & { readonly connector: string }>(
  { connector: 'text', id: 'uuid', attempt: 'integer', fileId: 'uuid', batchId: 'text' },
  [['connector']],
)

export async function insertAdopted(tx: Tx, connector: string, rows: readonly Adopted[]): Promise<void> {
  const adopted = newAdopted(
    tx,
    rows.map((row) => ({ ...row, connector })),
  )
  await tx.run(
    unprepared(sql`/* rails.insertAdopted */
    insert into rails.iso_adopted (connector, instruction_id, attempt, file_id, batch_id) ${adopted}
    on conflict do nothing`),
  )
}

/** The payments among these that the bank has. */
export function adoptedOf(tx: Tx, connector: string, ids: readonly string[]): Promise<readonly Adopted[]> {
  return tx.rows<Adopted>(sql`/* rails.adoptedOf */
    select instruction_id as id, attempt, file_id, batch_id from rails.iso_adopted
    where connector = ${connector} and instruction_id = any(${[...ids]}::uuid[])`)
}

/** Marks a file as delivered: the bank has it, and the database lost its record of the delivery. */
export function markPublished(tx: Tx, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* rails.markPublished */
    update rails.iso_files set state = 'Delivered', staged_name = coalesce(staged_name, name), delivered_at = ${now},
      leased_until = null, problem = null
    where id = ${id} and state <> 'Delivered'`)
}

// All SQL of the notifications of a file-based bank.

const notificationTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  connector: 'text',
  subjectId: 'uuid',
  kind: 'text',
  payload: 'json',
  entryId: 'uuid?',
  dueAt: 'timestamptz',
} as const
export type NewNotification = RowOf<typeof notificationTypes>
export type NotificationRow = Omit<NewNotification, 'connector' | 'entryId' | 'dueAt'>

const newNotifications = insertBy<NewNotification>(
  notificationTypes,
  [['partnerId', 'connector', 'dueAt'], ['kind']],
  ['partnerId', 'id'],
)

/** An existing one stays: its id is derived from its content. */
export function insertNotifications(tx: Tx, rows: readonly NewNotification[]): void {
  tx.later(sql`/* rails.insertNotifications */
    insert into rails.iso_notifications (partner_id, id, connector, subject_id, kind, payload, entry_id, due_at)
    ${newNotifications(tx, rows)} on conflict (partner_id, id) do nothing`)
}

/** Due notifications of all partners, oldest first: a due-work scan, which names no partner by design. */
export function dueNotifications(tx: Tx, connector: string, rowsMax: number): Promise<readonly NotificationRow[]> {
  return tx.rows<NotificationRow>(
    dueWork(
      'reads the notifications of a file-based bank in order of time',
      (whose) => sql`/* rails.dueNotifications */
        select partner_id, id, subject_id, kind, payload from rails.iso_notifications
        where connector = ${connector} and ${whose()} order by due_at, id limit ${rowsMax}`,
    ),
  )
}

/** Returns the entries that they reported. */
export async function deleteNotifications(
  tx: Tx,
  connector: string,
  rows: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<readonly string[]> {
  const deleted = await tx.rows<{ entryId: string | null }>(sql`/* rails.deleteNotifications */
    delete from rails.iso_notifications
    where ${ofPartners(rows.map(({ partnerId }) => partnerId))} and id = any(${rows.map(({ id }) => id)}::uuid[])
      and connector = ${connector}
    returning entry_id`)
  return deleted.flatMap(({ entryId }) => entryId ?? [])
}

export const notificationsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next notification of a file-based bank is due',
    (whose) => sql`/* rails.notificationsDue */
      select due_at from rails.iso_notifications where connector = ${connector} and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export async function oldestDue(tx: Tx, connector: string): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest notification of a file-based bank, for a metric',
      sql`/* rails.oldestDue */
        select due_at from rails.iso_notifications where connector = ${connector} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}
