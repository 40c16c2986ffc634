/** All SQL of statements: the balances that a bank reports for an account. They belong to no partner. */
import type { Minor } from '../../kernel/index.ts'
import { insertBy, type RowOf, sql, type Tx } from '../../postgres/index.ts'

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
