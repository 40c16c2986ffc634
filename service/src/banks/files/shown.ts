/** Reads the files of banks for staff: received and sent files, and their contents. */
import { hourMs, nilId } from '../../kernel/index.ts'
import type {
  BankFile,
  BankFileDetails,
  BankFiles,
  BankFilesQuery,
  FileEntry,
  FilePayment,
  FileRecall,
  FileStatement,
} from '../../rails/index.ts'
import { oldestUndelivered } from './store-instructions.ts'
import { acrossPartners, noSql, sql, type Tx } from '../../postgres/index.ts'

/** The clocks of two processes differ by less than this. */
const clocksDifferMs = hourMs

export const createFilesView = (connectorIds: readonly string[], operatorId: string): BankFiles => ({
  connectorIds,
  page: (tx, wanted) => filesPage(tx, connectorIds, wanted),
  named: filesByName,
  byId: fileById,
  oldestUnsent: oldestUndelivered,
  statements: statementsOfFile,
  payments: paymentsOfFile,
  recalls: recallsOfFile,
  entries: (tx, { file, statement }, page) => {
    if (statement.kind === 'camt.053') return entriesOfStatement(tx, operatorId, statement.id, page)
    const from = new Date(file.at.getTime() - clocksDifferMs)
    const to =
      file.endedAt === null ? new Date('9999-12-31T00:00:00Z') : new Date(file.endedAt.getTime() + clocksDifferMs)
    const { account, currency } = statement
    return entriesAnnounced(
      tx,
      { operatorId, connector: file.connector, account, currency, fileId: file.id, from, to },
      page,
    )
  },
})

// The SQL of the staff pages about bank files. Each statement reads one page by an index.

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const never = new Date('9999-12-31T00:00:00Z')

/**
 * Lists files, newest first. Reads at most one page for each bank and direction and merges them. The indexes by bank and
 * time are read backwards from the cursor (iso_messages_received, iso_messages_aside, iso_files_newest,
 * iso_files_undelivered).
 */
function filesPage(
  tx: Tx,
  configured: readonly string[],
  { connector, show, after = { at: never, id: lastId }, rowsMax }: BankFilesQuery,
): Promise<readonly BankFile[]> {
  const aside = show === 'aside' ? sql`and state = 'Aside'` : noSql
  const unsent = show === 'unsent' ? sql`and state <> 'Delivered'` : noSql
  const isSent = show === 'sent' || show === 'unsent'
  // Includes banks that are no longer configured. PostgreSQL skips the half of the union whose condition is false.
  return tx.rows<BankFile>(sql`/* rails.filesPage */
    with banks as (select connector from rails.iso_incoming union select unnest(${[...configured]}::text[]))
    select direction, id, connector, name, kind, message_id, state, problem, "at"
    from (select ${connector ?? null}::text as bank where ${connector !== undefined}::boolean
      union all select connector from banks where ${connector === undefined}::boolean) as asked
    cross join lateral (
      (select 'received' as direction, id, connector, file_name as name, kind, message_id, state, problem, received_at as "at"
        from rails.iso_messages
        where ${!isSent}::boolean and connector = bank and (received_at, id) < (${after.at}, ${after.id}::uuid) ${aside}
        order by received_at desc, id desc limit ${rowsMax})
      union all
      (select 'sent', id, connector, name, message_name, message_id, state, problem, made_at
        from rails.iso_files
        where ${isSent || show === 'all'}::boolean and connector = bank and (made_at, id) < (${after.at}, ${after.id}::uuid) ${unsent}
        order by made_at desc, id desc limit ${rowsMax})) as found
    order by "at" desc, id desc limit ${rowsMax}`)
}

/** Lists files by name or message id. Each part uses its own index: a bank may give a million files the same name. */
function filesByName(tx: Tx, text: string, rowsMax: number): Promise<readonly BankFile[]> {
  return tx.rows<BankFile>(sql`/* rails.filesByName */
    with received as (
      (select id, received_at from rails.iso_messages where file_name = ${text} order by received_at desc limit ${rowsMax})
      union
      (select id, received_at from rails.iso_messages where message_id = ${text} order by received_at desc limit ${rowsMax})),
    sent as (
      (select id, made_at from rails.iso_files where name = ${text} order by made_at desc limit ${rowsMax})
      union
      (select id, made_at from rails.iso_files where message_id = ${text} order by made_at desc limit ${rowsMax}))
    select 'received' as direction, id, connector, file_name as name, kind, message_id, state, problem, received_at as "at"
    from rails.iso_messages where id in (select id from received)
    union all
    select 'sent', id, connector, name, message_name, message_id, state, problem, made_at
    from rails.iso_files where id in (select id from sent)
    order by "at" desc, id desc limit ${rowsMax}`)
}

type BankFileRow = Omit<BankFileDetails, 'sent'> & {
  readonly payments: bigint | null
  readonly controlSum: string | null
  readonly attempts: number | null
  readonly bankStatus: string | null
}

async function fileById(tx: Tx, id: string): Promise<BankFileDetails | undefined> {
  const row = await tx.row<BankFileRow>(sql`/* rails.fileById */
    select 'received' as direction, id, connector, file_name as name, kind, message_id, state, problem, received_at as "at", sha256,
      bytes, taken_at as ended_at, released_at, null::bigint as payments, null as control_sum, null::integer as attempts,
      null as bank_status
    from rails.iso_messages where id = ${id}
    union all
    select 'sent', id, connector, name, message_name, message_id, state, problem, made_at, sha256, bytes, delivered_at, null,
      payments, control_sum, attempts, bank_status
    from rails.iso_files where id = ${id}`)
  if (row === undefined) return undefined
  const { payments, controlSum, attempts, bankStatus, ...facts } = row
  const sent =
    payments === null || controlSum === null ? null : { payments, controlSum, attempts: attempts ?? 0, bankStatus }
  return { ...facts, sent }
}

function statementsOfFile(tx: Tx, fileId: string, rowsMax: number): Promise<readonly FileStatement[]> {
  return tx.rows<FileStatement>(sql`/* rails.statementsOfFile */
    select id, kind, account, currency, statement_id, sequence, opening, closing, opening_on::text as opening_on,
      closing_on::text as closing_on, entries, credits, debits
    from rails.iso_statements where message_id = ${fileId} order by id limit ${rowsMax}`)
}

const entryColumns = sql`id, amount, booked_on::text as booked_on, value_on::text as value_on, position, payments, is_reversal, kind,
  status, subject_id, subject_partner_id, created_at`
type EntriesPage = {
  readonly after: { readonly position: bigint; readonly id: string } | undefined
  readonly rowsMax: number
}
const start = { position: -1n, id: nilId }

/** Lists entries in the order of the statement, by the index of statement and position. */
function entriesOfStatement(
  tx: Tx,
  operatorId: string,
  statementId: string,
  { after = start, rowsMax }: EntriesPage,
): Promise<readonly FileEntry[]> {
  return tx.rows<FileEntry>(sql`/* rails.entriesOfStatement */
    select ${entryColumns} from rails.iso_entries
    where partner_id = ${operatorId} and statement_id = ${statementId} and (position, id) > (${after.position}, ${after.id}::uuid)
    order by position, id limit ${rowsMax}`)
}

type AnnouncedFile = {
  readonly operatorId: string
  readonly connector: string
  readonly account: string
  readonly currency: string
  readonly fileId: string
  /** The times between which the file was processed. */
  readonly from: Date
  readonly to: Date
}

/**
 * Lists announced entries of a file that are not on a statement yet. Entries are not indexed by file, because a statement
 * may have a million. Reads the index of entries without a statement, between the times at which the file was processed.
 */
function entriesAnnounced(
  tx: Tx,
  { operatorId, connector, account, currency, fileId, from, to }: AnnouncedFile,
  { after = start, rowsMax }: EntriesPage,
): Promise<readonly FileEntry[]> {
  return tx.rows<FileEntry>(sql`/* rails.entriesAnnounced */
    select ${entryColumns} from rails.iso_entries
    where partner_id = ${operatorId} and connector = ${connector} and account = ${account} and currency = ${currency}
      and statement_id is null and created_at between ${from} and ${to} and message_id = ${fileId}
      and (position, id) > (${after.position}, ${after.id}::uuid)
    order by position, id limit ${rowsMax}`)
}

/** Lists payments, by the index of file and id. */
function paymentsOfFile(
  tx: Tx,
  fileId: string,
  afterId: string | undefined,
  rowsMax: number,
): Promise<readonly FilePayment[]> {
  return tx.rows<FilePayment>(
    acrossPartners(
      'lists the payments of a file for a bank, which holds those of all partners, by an index',
      sql`/* rails.paymentsOfFile */
        select partner_id, id, end_to_end_id, currency, amount, status, reason_code
        from rails.iso_instructions where file_id = ${fileId} and id > ${afterId ?? nilId}::uuid order by id limit ${rowsMax}`,
    ),
  )
}

/** Lists recalls, by the index of the file. A file has few recalls. */
function recallsOfFile(
  tx: Tx,
  fileId: string,
  afterId: string | undefined,
  rowsMax: number,
): Promise<readonly FileRecall[]> {
  return tx.rows<FileRecall>(
    acrossPartners(
      'lists the recalls of a file for a bank, which holds those of all partners, by an index',
      sql`/* rails.recallsOfFile */
        select partner_id, id, instruction_id, status, reason, answer_code
        from rails.iso_recalls where file_id = ${fileId} and id > ${afterId ?? nilId}::uuid order by id limit ${rowsMax}`,
    ),
  )
}
