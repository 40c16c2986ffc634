/** Personal columns of instructions to a bank, of recalls and of the bank's entries. */
import { erasePersonal, type KeptTable, type PersonalColumns, sql, type Tx } from '../../postgres/index.ts'

const personalInstructions: readonly PersonalColumns[] = [
  {
    table: 'rails.iso_instructions',
    by: 'id',
    erased: { creditor_name: '', creditor_account: '', creditor_bic: null, remittance: null, error_details: null, payer_sealed: null },
  },
  // A file of recalls that is rebuilt after this lacks the text. The bank has had it for years.
  { table: 'rails.iso_recalls', by: 'instruction_id', erased: { details: null, answer_details: null } },
]

/** Erases the parties and texts of ended payments, and of their recalls. `ids`: those of the instructions. */
export async function eraseInstructions(tx: Tx, partnerId: string, ids: readonly string[]): Promise<void> {
  for (const columns of personalInstructions) await erasePersonal(tx, columns, partnerId, ids)
}

const noParty = JSON.stringify({ name: null, account: null, bic: null, country: null, address: null })

/** Bookings that banks have reported. The payment's known facts and its amounts stay. */
export const keptIsoEntries: KeptTable = {
  table: 'rails.iso_entries',
  isOver: ({ endedBefore }) => sql`status = 'Applied' and kind <> 'waiting' and created_at < ${endedBefore}`,
  personal: [{ table: 'rails.iso_entries', by: 'id', erased: { counterparty: noParty, remittance: null } }],
}
