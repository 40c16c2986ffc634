/** The SQL of the states of balances. */
import type { Minor } from '../kernel/index.ts'
import { sql, type Tx } from '../postgres/index.ts'
import type { AccountKey } from './account-kinds.ts'
import type { AccountState } from './account-states.ts'

export function lockBalance(
  tx: Tx,
  { partnerId, name, currency }: AccountKey,
): Promise<{ readonly posted: Minor; readonly reserved: Minor; readonly state: AccountState | null } | undefined> {
  return tx.row(sql`/* ledger.lockBalance */
    select posted, reserved, state from ledger.accounts
    where partner_id = ${partnerId} and name = ${name} and currency = ${currency} for no key update`)
}

export async function setState(tx: Tx, { partnerId, name, currency }: AccountKey, state: AccountState): Promise<void> {
  await tx.run(sql`/* ledger.setState */
    update ledger.accounts set state = ${state === 'Active' ? null : state}::text, blocks = coalesce(blocks, 0) + 1
    where partner_id = ${partnerId} and name = ${name} and currency = ${currency}`)
}

/** Locks the balances in the order of their ids, as payments do. */
export async function countBlock(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* ledger.countBlock */
    select 1 from ledger.accounts where partner_id = ${partnerId} and name = 'balance' order by id for no key update`)
  await tx.run(sql`/* ledger.countBlock */
    update ledger.accounts set blocks = coalesce(blocks, 0) + 1 where partner_id = ${partnerId} and name = 'balance'`)
}
