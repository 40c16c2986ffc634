/** The statements about refunds. Amount and status of a refund are those of its payout. */
import type { PageRequest } from '../../api/index.ts'
import { noSql, sql, type Tx } from '../../postgres/index.ts'

/** `id`: that of the payout. */
export type RefundRow = {
  readonly partnerId: string
  readonly id: string
  readonly sessionId: string
  /** The part that goes back. Null: the session takes one payment. */
  readonly partId: string | null
  readonly reason: string | null
  readonly createdAt: Date
}

const columns = sql`partner_id, id, session_id, part_id, reason, created_at`

export async function insertRefund(tx: Tx, row: RefundRow): Promise<void> {
  await tx.run(sql`/* checkout.insertRefund */
    insert into checkout.refunds (${columns})
    values (${row.partnerId}, ${row.id}, ${row.sessionId}, ${row.partId}, ${row.reason}, ${row.createdAt})`)
}

/** The refunds with these ids, in no order. */
export function refundsByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.refundsByIds */
    select ${columns} from checkout.refunds where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
}

/** Every refund of these sessions, in no order. */
export function refundsOfSessions(
  tx: Tx,
  partnerId: string,
  sessionIds: readonly string[],
): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.refundsOfSessions */
    select ${columns} from checkout.refunds
    where partner_id = ${partnerId} and session_id = any(${sessionIds}::uuid[])`)
}

/** The ids of the refunds of a payment, or of a part of it. */
export async function refundsOfDeposit(
  tx: Tx,
  partnerId: string,
  depositId: string,
  partId: string | undefined,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* checkout.refundsOfDeposit */
    select refund.id from checkout.sessions as session
      join checkout.refunds as refund on refund.partner_id = session.partner_id and refund.session_id = session.id
    where session.partner_id = ${partnerId} and session.deposit_id = ${depositId}
      ${partId === undefined ? noSql : sql`and refund.part_id = ${partId}`}
    order by refund.id desc`)
  return rows.map(({ id }) => id)
}

export function listRefunds(
  tx: Tx,
  partnerId: string,
  sessionId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.listRefunds */
    select ${columns} from checkout.refunds
    where partner_id = ${partnerId} and session_id = ${sessionId} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}
