/** The SQL that erases verifications of payees whose time is over. */
import { sql, type Tx } from '../../postgres/index.ts'

type Page = Readonly<Record<'partnerId' | 'afterId' | 'beforeId', string>> & {
  readonly endedBefore: Date
  readonly rowsMax: number
}
type Looked = readonly { readonly id: string; readonly isOver: boolean }[]

/**
 * Erases verifications that are not in use. One is in use while a payee has its name and IBAN, because the next
 * payout shows it.
 */
export async function eraseVerifications(
  tx: Tx,
  { partnerId, afterId, beforeId, endedBefore, rowsMax }: Page,
): Promise<Looked> {
  const rows = await tx.rows<Looked[number]>(sql`/* beneficiaries.eraseVerifications */
    select id, answered_at < ${endedBefore} and not exists (
        select from beneficiaries.beneficiaries as payee
        where payee.partner_id = ${partnerId} and payee.iban = verifications.iban and payee.name = verifications.name
          and payee.removed_at is null) as is_over
    from beneficiaries.verifications
    where verifications.partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  const ids = rows.flatMap(({ id, isOver }) => (isOver ? [id] : []))
  await tx.run(sql`/* beneficiaries.eraseVerifications */
    delete from beneficiaries.verifications where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  return rows
}
