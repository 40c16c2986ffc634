/** Reads payouts for reconciliation: what the ledger has of them, and which of them money might be. */
import type { Currency, Minor } from '../../kernel/index.ts'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { PayoutStatus } from './rules.ts'

export type InstructionStatus = {
  readonly partnerId: string
  readonly endToEndId: string
  readonly status: PayoutStatus
}

export function statusesOfInstructions(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly endToEndId: string }[],
): Promise<readonly InstructionStatus[]> {
  return tx.rows<InstructionStatus>(sql`/* payouts.statusesOfInstructions */
    select partner_id, end_to_end_id, status from payouts.payouts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and end_to_end_id = any(${keys.map((key) => key.endToEndId)}::text[])`)
}

export type PayoutOfAmount = {
  readonly partnerId: string
  readonly id: string
  readonly status: PayoutStatus
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly endToEndId: string
  readonly partnerEndToEndId: string | null
  readonly reference: string
  readonly createdAt: Date
}

/** Payouts of a partner with this amount behind an id, newest first. */
export function payoutsOfAmount(
  tx: Tx,
  partnerId: string,
  wanted: { readonly currency: Currency; readonly amount: Minor; readonly after: string; readonly rowsMax: number },
): Promise<readonly PayoutOfAmount[]> {
  return tx.rows<PayoutOfAmount>(sql`/* payouts.payoutsOfAmount */
    select partner_id, id, status, currency, amount, creditor_name, creditor_account, end_to_end_id,
      partner_end_to_end_id, reference, created_at
    from payouts.payouts
    where partner_id = ${partnerId} and currency = ${wanted.currency} and amount = ${wanted.amount} and id > ${wanted.after}::uuid
    order by id desc limit ${wanted.rowsMax}`)
}

export function endToEndIdOf(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly endToEndId: string } | undefined> {
  return tx.row(sql`/* payouts.endToEndIdOf */
    select end_to_end_id from payouts.payouts where partner_id = ${partnerId} and id = ${id}`)
}
