/**
 * All SQL of late payments: unmatched money of a session, and the partner's choice. The ledger has the amount with the
 * case.
 */
import type { LatePaymentReason } from '@partner-payments/wire'
import type { Currency, Minor, RowKey } from '../kernel/index.ts'
import { insertBy, ofPartners, sql, type Tx } from '../postgres/index.ts'

export type LatePaymentChoice = 'Accept' | 'Return'

/** `id`: the id of the case. */
export type LatePaymentRow = {
  readonly partnerId: string
  readonly id: string
  readonly sessionId: string
  readonly reason: LatePaymentReason
  readonly currency: Currency
  readonly amount: Minor
  readonly receivedAt: Date
  readonly chooseBy: Date
  readonly choice: LatePaymentChoice | null
  readonly chosenAt: Date | null
  /** The deposit that was created from accepted money. */
  readonly depositId: string | null
}

const columns = sql`partner_id, id, session_id, reason, currency, amount, received_at, choose_by, choice, chosen_at, deposit_id`

type NewRow = Omit<LatePaymentRow, 'choice' | 'chosenAt' | 'depositId'>
const newRows = insertBy<NewRow>(
  {
    ...{ partnerId: 'uuid', id: 'uuid', sessionId: 'uuid', reason: 'text', currency: 'text', amount: 'bigint' },
    ...{ receivedAt: 'timestamptz', chooseBy: 'timestamptz' },
  },
  [],
)

export async function insertLatePayments(tx: Tx, rows: readonly NewRow[]): Promise<void> {
  await tx.run(sql`/* checkout.insertLatePayments */
    insert into checkout.late_payments (partner_id, id, session_id, reason, currency, amount, received_at, choose_by)
    ${newRows(tx, rows)}`)
}

/** Finds the sessions of these deposits. A deposit without a session is absent. */
export function sessionsOfDeposits(
  tx: Tx,
  partnerId: string,
  depositIds: readonly string[],
): Promise<readonly { readonly id: string; readonly depositId: string }[]> {
  return tx.rows(sql`/* checkout.sessionsOfDeposits */
    select id, deposit_id from checkout.sessions
    where partner_id = ${partnerId} and deposit_id = any(${depositIds}::uuid[])`)
}

export function latePaymentById(tx: Tx, partnerId: string, id: string): Promise<LatePaymentRow | undefined> {
  return tx.row<LatePaymentRow>(sql`/* checkout.latePaymentById */
    select ${columns} from checkout.late_payments where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists the late payments of these sessions, oldest first. */
export function latePaymentsOfSessions(tx: Tx, keys: readonly RowKey[]): Promise<readonly LatePaymentRow[]> {
  return tx.rows<LatePaymentRow>(sql`/* checkout.latePaymentsOfSessions */
    select ${columns} from checkout.late_payments
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and session_id = any(${keys.map(({ id }) => id)}::uuid[])
    order by id`)
}

/** Records the choice. The caller holds the lock of the case, so that there is only one choice. */
export async function recordLatePaymentChoice(
  tx: Tx,
  { partnerId, id }: Pick<LatePaymentRow, 'partnerId' | 'id'>,
  { choice, chosenAt, depositId }: Pick<LatePaymentRow, 'choice' | 'chosenAt' | 'depositId'>,
): Promise<void> {
  await tx.run(sql`/* checkout.recordLatePaymentChoice */
    update checkout.late_payments set choice = ${choice}, chosen_at = ${chosenAt}, deposit_id = ${depositId}
    where partner_id = ${partnerId} and id = ${id} and choice is null`)
}
