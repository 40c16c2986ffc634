/** The SQL of reconciliation with file-based banks: statements, entries, instructions and pending reports. */
import type { Currency, Minor } from '../../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  insertBy,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import type {
  BankEntry,
  BankInstruction,
  BankStatement,
  BooksAccount,
  EntryScope,
  EntrySums,
  InstructionKey,
  PaymentSums,
} from '../../rails/index.ts'
import type { OutgoingFile } from './store-instructions.ts'

/** Lists the statements (camt.053) of an account, ordered by date and number. */
export function accountStatements(
  tx: Tx,
  { connector, account, currency }: BooksAccount,
): Promise<readonly Omit<BankStatement, 'numbering'>[]> {
  return tx.rows<Omit<BankStatement, 'numbering'>>(sql`/* rails.accountStatements */
    select statement.id, statement.statement_id, sequence, opening, closing, opening_on::text as opening_on,
      closing_on::text as closing_on, statement.entries, credits, debits, by_value_date,
      created_at, message.state = 'Taken' as taken
    from rails.iso_statements as statement join rails.iso_messages as message on message.id = statement.message_id
    where statement.connector = ${connector} and account = ${account} and currency = ${currency} and statement.kind = 'camt.053'
    order by closing_on nulls last, sequence nulls last, statement.id`)
}

/** Sums entries that are not on a statement yet, by kind and status. */
export function sumsNotOnStatement(
  tx: Tx,
  operatorId: string,
  { connector, account, currency }: BooksAccount,
): Promise<readonly EntrySums[]> {
  return tx.rows<EntrySums>(sql`/* rails.sumsNotOnStatement */
    select kind, status, count(*) as count, sum(amount)::bigint as amount, min(created_at) as oldest from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and account = ${account} and currency = ${currency}
      and statement_id is null
    group by kind, status`)
}

/** Sums entries of statements, by kind and status. */
export function sumsOfStatements(
  tx: Tx,
  operatorId: string,
  statementIds: readonly string[],
): Promise<readonly (EntrySums & { readonly statementId: string })[]> {
  return tx.rows(sql`/* rails.sumsOfStatements */
    select statement_id, kind, status, count(*) as count, sum(amount)::bigint as amount, min(created_at) as oldest
    from rails.iso_entries where partner_id = ${operatorId} and statement_id = any(${statementIds}::uuid[])
    group by statement_id, kind, status`)
}

const noSums: PaymentSums = { count: 0n, amount: 0n, oldest: null }

/** Sums payments that are reported as paid and not booked yet. */
export async function sumSettledNotBooked(tx: Tx, connector: string, currency: Currency): Promise<PaymentSums> {
  const row = await tx.row<PaymentSums>(
    acrossPartners(
      'adds up payments of all partners that a bank has paid and not booked, by an index',
      sql`/* rails.sumSettledNotBooked */
        select count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(settled_at) as oldest
        from rails.iso_instructions
        where connector = ${connector} and status = 'Settled' and entry_id is null and currency = ${currency}`,
    ),
  )
  return row ?? noSums
}

/** Sums payments whose return is booked, but whose execution is not. */
export async function sumReturnedNotBooked(tx: Tx, connector: string, currency: Currency): Promise<PaymentSums> {
  const row = await tx.row<PaymentSums>(
    acrossPartners(
      'adds up payments of all partners that came back before they were booked, by an index',
      sql`/* rails.sumReturnedNotBooked */
        select count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(updated_at) as oldest
        from rails.iso_instructions
        where connector = ${connector} and status = 'Returned' and entry_id is null and currency = ${currency}`,
    ),
  )
  return row ?? noSums
}

/** Sums unfinished payments: queued, at the bank, or missing because the bank has not reported them in time. */
export async function sumsUnderWay(
  tx: Tx,
  connector: string,
  currency: Currency,
): Promise<readonly (PaymentSums & { readonly status: 'queued' | 'at_bank' | 'missing' })[]> {
  return tx.rows(
    acrossPartners(
      'adds up unfinished payments of all partners, by indexes',
      sql`/* rails.sumsUnderWay */
        select 'queued' as status, count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(created_at) as oldest
        from rails.iso_instructions where connector = ${connector} and status = 'Queued' and currency = ${currency}
        union all
        select case when missing_since is null then 'at_bank' else 'missing' end, count(*),
          coalesce(sum(amount), 0)::bigint, min(updated_at)
        from rails.iso_instructions
        where connector = ${connector} and status in ('Filed', 'Accepted') and currency = ${currency} group by 1`,
    ),
  )
}

export type PendingRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: string
  readonly payload: string
  readonly entryId: string | null
}

/** Lists pending reports, oldest first, as settlement reads them. */
export function pendingReports(tx: Tx, connector: string, rowsMax: number): Promise<readonly PendingRow[]> {
  return tx.rows<PendingRow>(
    acrossPartners(
      'reads what a bank reports and what may be in the ledger already, by an index',
      sql`/* rails.pendingReports */
        select partner_id, id, subject_id, kind, payload, entry_id from rails.iso_notifications
        where connector = ${connector} order by due_at, id limit ${rowsMax}`,
    ),
  )
}

const entryColumns = sql`id, account, currency, amount, kind, status, statement_id, subject_id, subject_partner_id,
  booked_on::text as booked_on, value_on::text as value_on, refs, counterparty, remittance, score, matched_by, created_at`

export function entriesByIds(tx: Tx, operatorId: string, ids: readonly string[]): Promise<readonly BankEntry[]> {
  return tx.rows<BankEntry>(sql`/* rails.entriesByIds */
    select ${entryColumns} from rails.iso_entries where partner_id = ${operatorId} and id = any(${ids}::uuid[])`)
}

type EntriesPage = {
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined
  readonly rowsMax: number
}
const start = { createdAt: new Date(0), id: '00000000-0000-0000-0000-000000000000' }

/** Lists entries that are not on a statement yet, oldest first. */
export function entriesNotOnStatement(
  tx: Tx,
  operatorId: string,
  { connector, account, currency }: BooksAccount,
  { after = start, rowsMax }: EntriesPage,
): Promise<readonly BankEntry[]> {
  return tx.rows<BankEntry>(sql`/* rails.entriesNotOnStatement */
    select ${entryColumns} from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and account = ${account} and currency = ${currency}
      and statement_id is null and (created_at, id) > (${after.createdAt}, ${after.id}::uuid)
    order by created_at, id limit ${rowsMax}`)
}

/** Lists entries that the ledger does not have yet, oldest first. */
export function entriesNew(
  tx: Tx,
  operatorId: string,
  { connector, account, currency }: BooksAccount,
  { after = start, rowsMax }: EntriesPage,
): Promise<readonly BankEntry[]> {
  return tx.rows<BankEntry>(sql`/* rails.entriesNew */
    select ${entryColumns} from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and account = ${account} and currency = ${currency}
      and status = 'New' and (created_at, id) > (${after.createdAt}, ${after.id}::uuid)
    order by created_at, id limit ${rowsMax}`)
}

const inScope = (
  operatorId: string,
  { connector, account, currency }: BooksAccount,
  { statementIds, orNone, from, before }: EntryScope,
) => sql`partner_id = ${operatorId} and connector = ${connector} and account = ${account} and currency = ${currency}
  and status = 'Applied'
  and (statement_id = any(${statementIds}::uuid[])${orNone ? sql` or statement_id is null` : noSql})
  ${from === undefined ? noSql : sql`and created_at >= ${from}`} ${before === undefined ? noSql : sql`and created_at < ${before}`}`

/** Sums entries that the ledger has, limited by statement and time of the first report. */
export async function sumInScope(
  tx: Tx,
  operatorId: string,
  account: BooksAccount,
  scope: EntryScope,
): Promise<PaymentSums> {
  const row = await tx.row<PaymentSums>(sql`/* rails.sumInScope */
    select count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(created_at) as oldest
    from rails.iso_entries where ${inScope(operatorId, account, scope)}`)
  return row ?? noSums
}

export function entriesInScope(
  tx: Tx,
  operatorId: string,
  account: BooksAccount,
  scope: EntryScope,
  rowsMax: number,
): Promise<readonly BankEntry[]> {
  return tx.rows<BankEntry>(sql`/* rails.entriesInScope */
    select ${entryColumns} from rails.iso_entries where ${inScope(operatorId, account, scope)}
    order by created_at, id limit ${rowsMax}`)
}

const instructionColumns = sql`partner_id, id, end_to_end_id, currency, amount, creditor_name, creditor_account, remittance,
  status, entry_id, created_at, updated_at, settled_at, missing_since`

/** Lists payments of all partners that are reported as paid or returned, and not booked. */
export function instructionsNotBooked(
  tx: Tx,
  connector: string,
  currency: Currency,
  rowsMax: number,
): Promise<readonly BankInstruction[]> {
  return tx.rows<BankInstruction>(
    acrossPartners(
      'lists payments of all partners that a bank has paid and not booked, by indexes',
      sql`/* rails.instructionsNotBooked */ select ${instructionColumns} from rails.iso_instructions
        where connector = ${connector} and currency = ${currency} and entry_id is null and status in ('Settled', 'Returned')
        order by coalesce(settled_at, updated_at), id limit ${rowsMax}`,
    ),
  )
}

/** Lists payments of all partners that the bank has not reported in time. */
export function instructionsMissing(
  tx: Tx,
  connector: string,
  currency: Currency,
  rowsMax: number,
): Promise<readonly BankInstruction[]> {
  return tx.rows<BankInstruction>(
    acrossPartners(
      'lists payments of all partners that a bank has not reported in time, by an index',
      sql`/* rails.instructionsMissing */ select ${instructionColumns} from rails.iso_instructions
        where connector = ${connector} and currency = ${currency} and status in ('Filed', 'Accepted')
          and missing_since is not null order by updated_at, id limit ${rowsMax}`,
    ),
  )
}

/** Finds instructions by id alone: a case of a bank does not always name the partner. */
export function instructionsByIds(tx: Tx, ids: readonly string[]): Promise<readonly BankInstruction[]> {
  return tx.rows<BankInstruction>(
    acrossPartners(
      'finds the payments of cases, which may not name the partner, by an index',
      sql`/* rails.instructionsByIds */ select ${instructionColumns} from rails.iso_instructions
        where id = any(${ids}::uuid[])`,
    ),
  )
}

/** Lists the payments of a debit, including returned ones. */
export function paidByEntry(tx: Tx, entryId: string): Promise<readonly InstructionKey[]> {
  return tx.rows(
    acrossPartners(
      'finds the payments of all partners that one debit of a bank has paid, by an index',
      sql`/* rails.paidByEntry */ select partner_id, id from rails.iso_instructions where entry_id = ${entryId}`,
    ),
  )
}

/** Lists payments of this amount: candidates for an entry. */
export function instructionsLike(
  tx: Tx,
  connector: string,
  currency: Currency,
  amount: Minor,
  rowsMax: number,
): Promise<readonly BankInstruction[]> {
  return tx.rows<BankInstruction>(
    acrossPartners(
      'finds payments of all partners that may belong to an entry of a bank, by their amount',
      sql`/* rails.instructionsLike */ select ${instructionColumns} from rails.iso_instructions
        where connector = ${connector} and currency = ${currency} and amount = ${amount} limit ${rowsMax}`,
    ),
  )
}

/** Finds instructions by id or end-to-end id. */
export function instructionsByReferences(tx: Tx, names: readonly string[]): Promise<readonly BankInstruction[]> {
  return tx.rows<BankInstruction>(
    acrossPartners(
      'finds payments of all partners that an entry of a bank names, by an index',
      sql`/* rails.instructionsByReferences */ select ${instructionColumns} from rails.iso_instructions
        where id = any(${names}::uuid[]) or end_to_end_id = any(${names}::text[]) limit 100`,
    ),
  )
}

/** Marks a payment as booked after an operator has matched it with an entry. Returns 0 if it already has an entry. */
export function bookInstruction(
  tx: Tx,
  { partnerId, id }: InstructionKey,
  entryId: string,
  now: Date,
): Promise<number> {
  return tx.run(sql`/* rails.bookInstruction */
    update rails.iso_instructions set entry_id = ${entryId}, missing_since = null, updated_at = ${now},
      status = case when status = 'Returned' then status else 'Settled' end, settled_at = coalesce(settled_at, ${now})
    where partner_id = ${partnerId} and id = ${id} and entry_id is null`)
}

/** Marks a payment as returned. */
export async function returnInstruction(tx: Tx, { partnerId, id }: InstructionKey, now: Date): Promise<void> {
  await tx.run(sql`/* rails.returnInstruction */
    update rails.iso_instructions set status = 'Returned', missing_since = null, updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Assigns an entry to a subject. Skips the debit of a batch, whose payments name the entry instead. */
export async function assignEntry(
  tx: Tx,
  operatorId: string,
  entryId: string,
  given: {
    readonly kind: string
    readonly subjectId: string | null
    readonly subjectPartnerId: string | null
    readonly matchedBy: string
  },
): Promise<void> {
  await tx.run(sql`/* rails.assignEntry */
    update rails.iso_entries set kind = ${given.kind}, subject_id = ${given.subjectId},
      subject_partner_id = ${given.subjectPartnerId}, score = 100, matched_by = ${given.matchedBy}
    where partner_id = ${operatorId} and id = ${entryId} and (kind <> 'payout' or subject_id is not null)`)
}

/** Merges an entry into the entry that is its subject. Returns 0 if both are on a statement, so that they differ. */
export function mergeEntry(tx: Tx, operatorId: string, entryId: string): Promise<number> {
  return tx.run(sql`/* rails.mergeEntry */
    update rails.iso_entries known set statement_id = coalesce(known.statement_id, doubted.statement_id),
      announced = known.announced | doubted.announced
    from rails.iso_entries doubted
    where doubted.partner_id = ${operatorId} and doubted.id = ${entryId} and doubted.kind = 'unknown'
      and known.partner_id = ${operatorId} and known.id = doubted.subject_id and known.amount = doubted.amount
      and (known.statement_id is null or doubted.statement_id is null)`)
}

/** Stores the key of a merged entry as an alias of the remaining one. */
export async function insertMergedAlias(tx: Tx, operatorId: string, entryId: string): Promise<void> {
  await tx.run(sql`/* rails.insertMergedAlias */
    insert into rails.iso_entry_aliases (partner_id, connector, account, currency, entry_key, entry_id)
    select partner_id, connector, account, currency, entry_key, subject_id from rails.iso_entries
    where partner_id = ${operatorId} and id = ${entryId}
    on conflict (partner_id, connector, account, currency, entry_key) do nothing`)
}

export async function deleteMerged(tx: Tx, operatorId: string, entryId: string): Promise<void> {
  await tx.run(sql`/* rails.deleteMerged */
    delete from rails.iso_entries where partner_id = ${operatorId} and id = ${entryId}`)
}

// The SQL of statements: the balances that a bank reports for an account. Statements do not belong to partners.

const statementTypes = {
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
export type StatementRow = RowOf<typeof statementTypes, { kind: 'camt.052' | 'camt.053' | 'camt.054'; entries: number }>

const newStatements = insertBy<StatementRow>(statementTypes, [['connector', 'messageId', 'kind', 'createdAt']])

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

/** Lists the latest statements (camt.053) of an account, newest first. */
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

/** Lists the statements (camt.053) of an account that end on the day of `row`. */
export function statementsOfDay(tx: Tx, row: StatementRow): Promise<readonly Statement[]> {
  return tx.rows(sql`/* rails.statementsOfDay */
    select id, statement_id, sequence, opening, closing, opening_on, closing_on, credits, debits, created_at
    from rails.iso_statements
    where connector = ${row.connector} and account = ${row.account} and currency = ${row.currency} and kind = 'camt.053'
      and closing_on = ${row.closingOn}::date`)
}

type StatementAccount = {
  readonly operatorId: string
  readonly connector: string
  readonly account: string
  readonly currency: string
}

/** Finds the day of the last closing balance before a day. */
export async function closingBefore(
  tx: Tx,
  { connector, account, currency }: StatementAccount,
  day: string,
): Promise<string | null> {
  const row = await tx.row<{ on: string | null }>(sql`/* rails.closingBefore */
    select max(closing_on)::text as "on" from rails.iso_statements
    where connector = ${connector} and account = ${account} and currency = ${currency} and kind = 'camt.053'
      and closing_on < ${day}`)
  return row?.on ?? null
}

/** Sums entries of statements until `after` whose value date is after `after`, up to `to`. */
export async function valuedBetween(
  tx: Tx,
  { operatorId, connector, account, currency }: StatementAccount,
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

// The SQL of adopted files: the bank has them, and a restored database did not know them. They do not name partners,
// because their messages do not.

type InstructionAttempt = { readonly id: string; readonly attempt: number }
export type AdoptedInstruction = InstructionAttempt & { readonly fileId: string; readonly batchId: string }

export function insertAdoptedFile(tx: Tx, connector: string, file: OutgoingFile, now: Date): Promise<number> {
  return tx.run(sql`/* rails.insertAdoptedFile */
    insert into rails.iso_files (id, connector, kind, message_id, message_name, name, sha256, bytes, payments, control_sum, state,
      staged_name, made_at, delivered_at)
    values (${file.id}, ${connector}, ${file.kind}, ${file.messageId}, ${file.messageName}, ${file.name}, ${file.sha256}, ${file.bytes},
      ${file.payments}, ${file.controlSum}, ${file.state}, ${file.stagedName}, ${file.madeAt}, ${now})
    on conflict do nothing`)
}

const newAdopted = insertBy<AdoptedInstruction & { readonly connector: string }>(
  { connector: 'text', id: 'uuid', attempt: 'integer', fileId: 'uuid', batchId: 'text' },
  [['connector']],
)

export async function insertAdoptedInstructions(
  tx: Tx,
  connector: string,
  rows: readonly AdoptedInstruction[],
): Promise<void> {
  const adopted = newAdopted(
    tx,
    rows.map((row) => ({ ...row, connector })),
  )
  await tx.run(
    unprepared(sql`/* rails.insertAdoptedInstructions */
    insert into rails.iso_adopted (connector, instruction_id, attempt, file_id, batch_id) ${adopted}
    on conflict do nothing`),
  )
}

/** Lists the payments that the bank has in adopted files. */
export function adoptedInstructions(
  tx: Tx,
  connector: string,
  ids: readonly string[],
): Promise<readonly AdoptedInstruction[]> {
  return tx.rows<AdoptedInstruction>(sql`/* rails.adoptedInstructions */
    select instruction_id as id, attempt, file_id, batch_id from rails.iso_adopted
    where connector = ${connector} and instruction_id = any(${[...ids]}::uuid[])`)
}

/** Marks a file as delivered if a restored database has lost the record of its delivery. */
export function markPublished(tx: Tx, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* rails.markPublished */
    update rails.iso_files set state = 'Delivered', staged_name = coalesce(staged_name, name), delivered_at = ${now},
      leased_until = null, problem = null
    where id = ${id} and state <> 'Delivered'`)
}

// The SQL of notifications.

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

/** Inserts notifications. Existing notifications stay: their ids are derived from their content. */
export function insertNotifications(tx: Tx, rows: readonly NewNotification[]): void {
  tx.later(sql`/* rails.insertNotifications */
    insert into rails.iso_notifications (partner_id, id, connector, subject_id, kind, payload, entry_id, due_at)
    ${newNotifications(tx, rows)} on conflict (partner_id, id) do nothing`)
}

/** Lists due notifications of all partners, oldest first. */
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

/** Deletes notifications and returns the ids of their entries. */
export async function deleteNotifications(
  tx: Tx,
  connector: string,
  rows: readonly InstructionKey[],
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
