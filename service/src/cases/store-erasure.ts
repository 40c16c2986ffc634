/** The SQL that erases what cases say of persons, when their time is over. */
import { sql, type Tx } from '../postgres/index.ts'

type Page = Readonly<Record<'partnerId' | 'afterId' | 'beforeId', string>> & {
  readonly endedBefore: Date
  readonly rowsMax: number
}
type Looked = readonly { readonly id: string; readonly isOver: boolean }[]

/** Erases the bank's report, the notes and the party of a return. Keeps the bookings, the decisions and their times. */
export async function eraseReports(
  tx: Tx,
  { partnerId, afterId, beforeId, endedBefore, rowsMax }: Page,
): Promise<Looked> {
  const rows = await tx.rows<Looked[number]>(sql`/* cases.eraseReports */
    select id, coalesce(resolved_at < ${endedBefore}, false) as is_over from cases.cases
    where partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  const ids = rows.flatMap(({ id, isOver }) => (isOver ? [id] : []))
  if (ids.length === 0) return rows
  await tx.run(sql`/* cases.eraseReports */
    update cases.cases set report = '{}', note = null where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  await tx.run(sql`/* cases.eraseReports */
    update cases.decisions set note = '' where partner_id = ${partnerId} and case_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* cases.eraseReports */
    update cases.returns set creditor_name = '', creditor_account = '', creditor_bic = null, remittance = ''
    where partner_id = ${partnerId} and case_id = any(${ids}::uuid[])`)
  return rows
}
