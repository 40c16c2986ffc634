/** All SQL of reconciliation. Its tables belong to no partner. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { insertBy, sql, type Tx } from '../../postgres/index.ts'
import type { BooksAccount } from '../../rails/index.ts'
import type { DifferenceItem } from './rules.ts'

export type AccountRow = BooksAccount & {
  readonly runId: string | null
  readonly checkedAt: Date | null
  readonly unexplainedSince: Date | null
  readonly hasCase: boolean
}

export function accounts(tx: Tx): Promise<readonly AccountRow[]> {
  return tx.rows<AccountRow>(sql`/* reconciliation.accounts */
    select connector, account, currency, run_id, checked_at, unexplained_since, has_case from reconciliation.accounts
    order by connector, account, currency`)
}

export async function addAccount(tx: Tx, { connector, account, currency }: BooksAccount): Promise<void> {
  await tx.run(sql`/* reconciliation.addAccount */
    insert into reconciliation.accounts (connector, account, currency, has_case)
    values (${connector}, ${account}, ${currency}, false) on conflict (connector, account, currency) do nothing`)
}

export function lockAccount(tx: Tx, { connector, account, currency }: BooksAccount): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* reconciliation.lockAccount */
    select connector, account, currency, run_id, checked_at, unexplained_since, has_case from reconciliation.accounts
    where connector = ${connector} and account = ${account} and currency = ${currency} for update`)
}

export async function updateAccount(tx: Tx, row: AccountRow): Promise<void> {
  await tx.run(sql`/* reconciliation.updateAccount */
    update reconciliation.accounts set run_id = ${row.runId}, checked_at = ${row.checkedAt},
      unexplained_since = ${row.unexplainedSince}, has_case = ${row.hasCase}
    where connector = ${row.connector} and account = ${row.account} and currency = ${row.currency}`)
}

export type RunRow = {
  readonly id: string
  readonly connector: string
  readonly account: string
  readonly currency: Currency
  readonly firstAt: Date
  readonly lastAt: Date
  readonly isOfStatement: boolean
  readonly statementId: string | null
  readonly statementOn: string | null
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly bank: Minor
  readonly ledger: Minor
  readonly unexplained: Minor
}

const runColumns = sql`id, connector, account, currency, first_at, last_at, is_of_statement, statement_id, opening, closing, bank,
  ledger, unexplained`

export async function insertRun(tx: Tx, row: RunRow): Promise<void> {
  await tx.run(sql`/* reconciliation.insertRun */
    insert into reconciliation.runs (${runColumns}, statement_on)
    values (${row.id}, ${row.connector}, ${row.account}, ${row.currency}, ${row.firstAt}, ${row.lastAt},
      ${row.isOfStatement}, ${row.statementId}, ${row.opening}, ${row.closing}, ${row.bank}, ${row.ledger},
      ${row.unexplained}, ${row.statementOn}::date)`)
}

export async function touchRun(tx: Tx, id: string, lastAt: Date): Promise<void> {
  await tx.run(sql`/* reconciliation.touchRun */
    update reconciliation.runs set last_at = ${lastAt} where id = ${id}`)
}

export function runById(tx: Tx, id: string): Promise<RunRow | undefined> {
  return tx.row<RunRow>(sql`/* reconciliation.runById */
    select ${runColumns}, statement_on from reconciliation.runs where id = ${id}`)
}

/** Finds the run at a time, or the last one before it. */
export function runAt(
  tx: Tx,
  { connector, account, currency }: BooksAccount,
  moment: Date,
): Promise<RunRow | undefined> {
  return tx.row<RunRow>(sql`/* reconciliation.runAt */
    select ${runColumns}, statement_on from reconciliation.runs
    where connector = ${connector} and account = ${account} and currency = ${currency} and first_at <= ${moment}
    order by first_at desc limit 1`)
}

/** Lists the first run with each statement, latest first. A partial index holds only these runs. */
export function firstRunsOfStatements(
  tx: Tx,
  { connector, account, currency }: BooksAccount,
  before: Date | undefined,
  rowsMax: number,
): Promise<readonly RunRow[]> {
  return tx.rows<RunRow>(sql`/* reconciliation.firstRunsOfStatements */
    select ${runColumns}, statement_on from reconciliation.runs
    where connector = ${connector} and account = ${account} and currency = ${currency} and is_of_statement
      and first_at < ${before ?? new Date('9999-12-31T00:00:00Z')}
    order by first_at desc limit ${rowsMax}`)
}

export type ItemRow = DifferenceItem & { readonly runId: string; readonly firstSeen: Date }

const newItems = insertBy<ItemRow>(
  {
    runId: 'uuid',
    side: 'text',
    kind: 'text',
    amount: 'bigint',
    count: 'bigint',
    oldestAt: 'timestamptz',
    firstSeen: 'timestamptz',
  },
  [['runId']],
)

export async function insertItems(tx: Tx, rows: readonly ItemRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`/* reconciliation.insertItems */
    insert into reconciliation.items (run_id, side, kind, amount, count, oldest_at, first_seen) ${newItems(tx, rows)}`)
}

export function runItems(tx: Tx, runId: string): Promise<readonly ItemRow[]> {
  return tx.rows<ItemRow>(sql`/* reconciliation.runItems */
    select run_id, side, kind, amount, count, oldest_at, first_seen from reconciliation.items where run_id = ${runId}
    order by side, first_seen, kind`)
}

/** Deletes old runs and their items, except the first run with each statement. */
export function deleteRuns(tx: Tx, before: Date): Promise<number> {
  return tx.run(sql`/* reconciliation.deleteRuns */
    delete from reconciliation.runs where not is_of_statement and last_at < ${before}`)
}

export type FinalSumRow = BooksAccount & { readonly id: string; readonly entries: bigint; readonly written: Minor }

/** Reads the sums of statements whose entries no longer change. */
export function finalSums(
  tx: Tx,
  { connector, account, currency }: BooksAccount,
): Promise<readonly { readonly id: string; readonly written: Minor }[]> {
  return tx.rows(sql`/* reconciliation.finalSums */
    select id, written from reconciliation.statements
    where connector = ${connector} and account = ${account} and currency = ${currency}`)
}

export async function insertFinalSum(tx: Tx, row: FinalSumRow, now: Date): Promise<void> {
  await tx.run(sql`/* reconciliation.insertFinalSum */
    insert into reconciliation.statements (id, connector, account, currency, entries, written, counted_at)
    values (${row.id}, ${row.connector}, ${row.account}, ${row.currency}, ${row.entries}, ${row.written}, ${now})
    on conflict (id) do nothing`)
}
