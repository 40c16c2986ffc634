/** The SQL of gates. */
import type { VerificationState } from '@partner-payments/wire'
import { sql, type Tx } from '../../postgres/index.ts'
import { type Gate, readBalancesMax, writeBalancesMax } from './gate-rules.ts'

export type GateRow = Gate & { readonly verificationState: VerificationState }

export async function gatesOf(tx: Tx, partnerId: string): Promise<readonly GateRow[]> {
  const rows = await tx.rows<
    Omit<GateRow, 'balancesMax' | 'converts' | 'totalMax'> & {
      readonly balancesMax: string | null
      readonly totalMax: string | null
      /** Null: the gate was set before there was this column. */
      readonly converts: boolean | null
    }
  >(sql`/* customers.gatesOf */
    select verification_state, opens_accounts, receives, pays, converts, balances_max, total_max from customers.gates where partner_id = ${partnerId}`)
  return rows.map((row) => ({
    ...row,
    converts: row.converts ?? true,
    balancesMax: readBalancesMax(row.balancesMax),
    totalMax: readBalancesMax(row.totalMax),
  }))
}

export async function setGate(tx: Tx, partnerId: string, row: GateRow, now: Date): Promise<void> {
  await tx.run(sql`/* customers.setGate */
    insert into customers.gates (partner_id, verification_state, opens_accounts, receives, pays, converts, balances_max, total_max, updated_at)
    values (${partnerId}, ${row.verificationState}, ${row.opensAccounts}, ${row.receives}, ${row.pays}, ${row.converts},
      ${writeBalancesMax(row.balancesMax)}::jsonb, ${writeBalancesMax(row.totalMax)}::jsonb, ${now})
    on conflict (partner_id, verification_state) do update set opens_accounts = excluded.opens_accounts,
      receives = excluded.receives, pays = excluded.pays, converts = excluded.converts, balances_max = excluded.balances_max,
      total_max = excluded.total_max, updated_at = excluded.updated_at`)
}

/** Returns the number of removed rows: 1 or 0. */
export function removeGate(tx: Tx, partnerId: string, state: VerificationState): Promise<number> {
  return tx.run(sql`/* customers.removeGate */
    delete from customers.gates where partner_id = ${partnerId} and verification_state = ${state}`)
}
