/** The SQL that erases what payouts say of their parties. */
import { sql, type Tx } from '../../postgres/index.ts'

/**
 * A page of the payouts of an erased customer behind one of them, with their recalls. Answers them in order: behind the last page less
 * than a page.
 */
export async function erasePage(
  tx: Tx,
  {
    partnerId,
    customerId,
    afterId,
  }: { readonly partnerId: string; readonly customerId: string; readonly afterId: string },
  rowsMax: number,
): Promise<{
  readonly payouts: readonly { readonly id: string; readonly endToEndId: string }[]
  readonly recalls: readonly ErasedRecall[]
}> {
  const rows = await tx.rows<{ id: string; endToEndId: string }>(sql`/* payouts.erasePage */
    update payouts.payouts set creditor_name = '', creditor_account = '', creditor_bic = null, remittance = null,
      error_details = null
    where partner_id = ${partnerId} and id = any(array(
      select id from payouts.payouts
      where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId}
      order by id limit ${rowsMax} for update))
    returning id, end_to_end_id`)
  const ids = rows.map(({ id }) => id)
  const recalls = await eraseRecalls(tx, partnerId, ids)
  await eraseRejections(tx, partnerId, ids)
  return { payouts: rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)), recalls }
}

type OldPage = Readonly<Record<'partnerId' | 'afterId' | 'beforeId', string>> & {
  readonly endedBefore: Date
  readonly rowsMax: number
}
type Looked = readonly { readonly id: string; readonly isOver: boolean }[]

const overIn = (rows: Looked): readonly string[] => rows.flatMap(({ id, isOver }) => (isOver ? [id] : []))

/** What the items of a bulk say to the payee, and why one was refused, when the time of the bulk is over. */
export async function eraseBulks(
  tx: Tx,
  { partnerId, afterId, beforeId, endedBefore, rowsMax }: OldPage,
): Promise<Looked> {
  const rows = await tx.rows<Looked[number]>(sql`/* payouts.eraseBulks */
    select id, coalesce(ended_at < ${endedBefore}, false) as is_over from payouts.bulks
    where partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  await tx.run(sql`/* payouts.eraseBulks */
    update payouts.bulk_items set reference = null, end_to_end_id = null, problem_detail = null
    where partner_id = ${partnerId} and bulk_id = any(${overIn(rows)}::uuid[])
      and (reference is not null or end_to_end_id is not null or problem_detail is not null)`)
  return rows
}

/** What an order that has ended said to the payee. */
export async function eraseOrders(
  tx: Tx,
  { partnerId, afterId, beforeId, endedBefore, rowsMax }: OldPage,
): Promise<Looked> {
  const rows = await tx.rows<Looked[number]>(sql`/* payouts.eraseOrders */
    select id, coalesce(ended_at < ${endedBefore}, false) as is_over from payouts.standing_orders
    where partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  await eraseReferences(tx, partnerId, overIn(rows))
  return rows
}

/** The caller holds the locks of the orders. */
export async function eraseReferences(tx: Tx, partnerId: string, orderIds: readonly string[]): Promise<void> {
  await tx.run(sql`/* payouts.eraseReferences */
    update payouts.standing_orders set reference = null where partner_id = ${partnerId} and id = any(${orderIds}::uuid[])`)
}

type ErasedRecall = { readonly id: string; readonly requestedAt: Date }

function eraseRecalls(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<readonly ErasedRecall[]> {
  return tx.rows<ErasedRecall>(sql`/* payouts.eraseRecalls */
    update payouts.recalls set details = null
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[]) and details is not null
    returning id, requested_at`)
}

/** Why a second person rejected a payout may name the customer. */
async function eraseRejections(tx: Tx, partnerId: string, payoutIds: readonly string[]): Promise<void> {
  await tx.run(sql`/* payouts.eraseRejections */
    update payouts.approvals set reason = null
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[]) and reason is not null`)
}
