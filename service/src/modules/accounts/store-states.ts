/** The SQL of changes of states. Rows are added only. */
import type { accounts } from '@partner-payments/wire'
import type { Currency } from '../../kernel/index.ts'
import type { AccountState } from '../../ledger/index.ts'
import { noSql, sql, type Tx } from '../../postgres/index.ts'

export type StateReason = (typeof accounts.stateReasons)[number]

/** Change of the state of a balance (`currency`) or of a customer's account (`customerId`): the other one is null. */
export type StateChange = {
  readonly id: string
  readonly customerId: string | null
  readonly currency: Currency | null
  readonly fromState: AccountState
  readonly toState: AccountState
  readonly reason: StateReason
  readonly note: string
  readonly staff: string
  readonly changedAt: Date
}

/** The last change by screening of the account of a customer, or of the balance of a currency. */
export function lastFreeze(
  tx: Tx,
  partnerId: string,
  of: Pick<StateChange, 'customerId' | 'currency'>,
): Promise<{ readonly toState: AccountState } | undefined> {
  return tx.row(sql`/* accounts.lastFreeze */
    select to_state from accounts.state_changes
    where partner_id = ${partnerId} and currency is not distinct from ${of.currency}::text
      and customer_id is not distinct from ${of.customerId}::uuid and cause = 'screening' order by id desc limit 1`)
}

const columns = sql`id, customer_id, currency, from_state, to_state, reason, note, staff, changed_at`

/** `cause`: null, a command; otherwise the state follows from a confirmed hit, and the row of the account has another one. */
export async function insertStateChange(
  tx: Tx,
  partnerId: string,
  row: StateChange,
  cause: 'screening' | null = null,
): Promise<void> {
  await tx.run(sql`/* accounts.insertStateChange */
    insert into accounts.state_changes (partner_id, id, customer_id, currency, from_state, to_state, reason, note, staff,
      changed_at, cause)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.currency}, ${row.fromState}, ${row.toState}, ${row.reason},
      ${row.note}, ${row.staff}, ${row.changedAt}, ${cause})`)
}

/** Newest first, before an id. Null: of every account. */
export function stateChanges(
  tx: Tx,
  partnerId: string,
  of: { readonly customerId: string | null; readonly currency: string | null },
  beforeId: string | null,
  rowsMax: number,
): Promise<readonly StateChange[]> {
  return tx.rows<StateChange>(sql`/* accounts.stateChanges */
    select ${columns} from accounts.state_changes where partner_id = ${partnerId}
    ${of.customerId === null ? noSql : sql`and customer_id = ${of.customerId}`}
    ${of.currency === null ? noSql : sql`and currency = ${of.currency}`}
    ${beforeId === null ? noSql : sql`and id < ${beforeId}`}
    order by id desc limit ${rowsMax}`)
}

/** The last change of each account that is not active: by commands, and by screening. */
export function accountsNotActive(tx: Tx, partnerId: string): Promise<readonly StateChange[]> {
  return tx.rows<StateChange>(sql`/* accounts.accountsNotActive */
    select ${columns} from (
      select distinct on (currency, customer_id, cause) ${columns} from accounts.state_changes where partner_id = ${partnerId}
      order by currency, customer_id, cause, id desc) as latest
    where to_state <> 'Active' order by id`)
}
