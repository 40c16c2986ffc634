/** The SQL that erases what connectors have kept of persons, when its time is over. */
import type { Sealer } from '../kernel/index.ts'
import { sql, type Tx } from '../postgres/index.ts'
import { travelRuleContext } from './evm/sealed.ts'

type Page = Readonly<Record<'partnerId' | 'afterId' | 'beforeId', string>> & {
  readonly endedBefore: Date
  readonly rowsMax: number
}
type Looked = readonly { readonly id: string; readonly isOver: boolean }[]

/** What connectors have sent for payouts that have ended, and to ask them back, by their ids. The parties of the travel rule are sealed as none. */
export async function eraseInstructions(
  tx: Tx,
  sealer: Sealer,
  partnerId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await tx.run(sql`/* rails.eraseInstructions */
    update rails.iso_instructions set creditor_name = '', creditor_account = '', creditor_bic = null, remittance = null,
      error_details = null
    where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  // A file of recalls that is made again from here lacks the text. The bank has had it for years.
  await tx.run(sql`/* rails.eraseInstructions */
    update rails.iso_recalls set details = null, answer_details = null
    where partner_id = ${partnerId} and instruction_id = any(${ids}::uuid[])
      and (details is not null or answer_details is not null)`)
  const sealed = ids.map((id) => sealer.seal('{}', travelRuleContext(partnerId, id)))
  await tx.run(sql`/* rails.eraseInstructions */
    update rails.chain_transfers set creditor_name = '', error_details = null, travel_rule_sealed = erased.sealed
    from unnest(${ids}::uuid[], ${sealed}::bytea[]) as erased (id, sealed)
    where chain_transfers.partner_id = ${partnerId} and chain_transfers.id = erased.id`)
}

const noParty = JSON.stringify({ name: null, account: null, bic: null, country: null, address: null })

/** Bookings that banks have reported. What is known of the payment, and its amounts, stays. */
export async function eraseIsoEntries(
  tx: Tx,
  { partnerId, afterId, beforeId, endedBefore, rowsMax }: Page,
): Promise<Looked> {
  const rows = await tx.rows<Looked[number]>(sql`/* rails.eraseIsoEntries */
    select id, status = 'Applied' and kind <> 'waiting' and created_at < ${endedBefore} as is_over from rails.iso_entries
    where partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  const ids = rows.flatMap(({ id, isOver }) => (isOver ? [id] : []))
  await tx.run(sql`/* rails.eraseIsoEntries */
    update rails.iso_entries set counterparty = ${noParty}, remittance = null
    where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  return rows
}
