/** All SQL of statements: what a bank says that an account had and has. They belong to no partner. */
import type { Minor } from '../../kernel/index.ts'
import { insertBy, sql, type Tx } from '../../postgres/index.ts'

export type StatementRow = {
  readonly id: string
  readonly connector: string
  readonly messageId: string
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
  readonly account: string
  readonly currency: string
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly openingOn: string | null
  readonly closingOn: string | null
  readonly entries: number
  readonly credits: Minor
  readonly debits: Minor
  readonly createdAt: Date
}

const newStatements = insertBy<StatementRow>(
  {
    id: 'uuid',
    connector: 'text',
    messageId: 'uuid',
    kind: 'text',
    account: 'text',
    currency: 'text',
    statementId: 'text',
    sequence: 'bigint',
    opening: 'bigint',
    closing: 'bigint',
    openingOn: 'date',
    closingOn: 'date',
    entries: 'bigint',
    credits: 'bigint',
    debits: 'bigint',
    createdAt: 'timestamptz',
  },
  [['connector', 'messageId', 'kind', 'createdAt']],
)

export function insertStatements(tx: Tx, rows: readonly StatementRow[]): void {
  tx.later(sql`/* rails.insertStatements */
    insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence, opening,
      closing, opening_on, closing_on, entries, credits, debits, created_at)
    ${newStatements(tx, rows)} on conflict (id) do nothing`)
}

export type Statement = Pick<
  StatementRow,
  'id' | 'statementId' | 'sequence' | 'opening' | 'closing' | 'openingOn' | 'closingOn' | 'credits' | 'debits'
> & { readonly messageId: string; readonly createdAt: Date }

/** The latest statements (camt.053) of an account, newest first. */
export function latestStatements(
  tx: Tx,
  connector: string,
  account: string,
  currency: string,
  rowsMax: number,
): Promise<readonly Statement[]> {
  return tx.rows(sql`/* rails.latestStatements */
    select id, message_id, statement_id, sequence, opening, closing, opening_on, closing_on, credits, debits, created_at
    from rails.iso_statements
    where connector = ${connector} and account = ${account} and currency = ${currency} and kind = 'camt.053'
    order by closing_on desc nulls last, sequence desc nulls last limit ${rowsMax}`)
}
