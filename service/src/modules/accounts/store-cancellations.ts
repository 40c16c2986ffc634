/** The SQL of cancellations: blocked accounts whose payouts that are not begun are being cancelled. */
import type { Currency } from '../../kernel/index.ts'
import { dueWork, type Sql, sql, type Tx } from '../../postgres/index.ts'

/** Blocked balance or customer account: the other field is null. */
export type BlockedAccount =
  | { readonly currency: Currency; readonly customerId: null }
  | { readonly currency: null; readonly customerId: string }

export type Cancellation = BlockedAccount & { readonly id: string }

/** An account has at most one. */
export async function insertCancellation(
  tx: Tx,
  partnerId: string,
  row: Cancellation & { readonly blockedAt: Date; readonly dueAt: Date },
): Promise<void> {
  await tx.run(sql`/* accounts.insertCancellation */
    insert into accounts.cancellations (partner_id, id, customer_id, currency, blocked_at, due_at)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.currency}, ${row.blockedAt}, ${row.dueAt})
    on conflict do nothing`)
}

const ofAccount = ({ customerId, currency }: BlockedAccount) =>
  customerId === null ? sql`currency = ${currency}` : sql`customer_id = ${customerId}`

export async function hasCancellation(tx: Tx, partnerId: string, account: BlockedAccount): Promise<boolean> {
  const row = await tx.row(sql`/* accounts.hasCancellation */
    select 1 from accounts.cancellations where partner_id = ${partnerId} and ${ofAccount(account)}`)
  return row !== undefined
}

/** The partner of the cancellation that has been due for the longest time. */
export function partnerWithCancellation(tx: Tx, now: Date): Promise<{ readonly partnerId: string } | undefined> {
  return tx.row(
    dueWork(
      'finds a partner with payouts of a blocked account to cancel, without a lock, by an index of those',
      (whose) => sql`/* accounts.partnerWithCancellation */
      select partner_id from accounts.cancellations where due_at <= ${now} and ${whose()} order by due_at limit 1`,
    ),
  )
}

/**
 * Time of the oldest cancellation, leased ones included: a payout that cannot be cancelled renews the lease for ever.
 */
/** When the next cancellation is due. */
export const cancellationsDue = (after: Date): Sql =>
  dueWork(
    'reads when the payouts of a blocked account are due to be cancelled',
    (whose) => sql`/* accounts.cancellationsDue */
      select due_at from accounts.cancellations where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export async function oldestCancellation(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ readonly blockedAt: Date | null }>(
    dueWork(
      'reads the age of the oldest block whose payouts are not cancelled, for a metric',
      (whose) => sql`/* accounts.oldestCancellation */
      select min(blocked_at) as blocked_at from accounts.cancellations where ${whose()}`,
    ),
  )
  return row?.blockedAt ?? null
}

/** Locks one that is due. Undefined: another process has it. */
export function lockDueCancellation(tx: Tx, partnerId: string, now: Date): Promise<Cancellation | undefined> {
  return tx.row<Cancellation>(sql`/* accounts.lockDueCancellation */
    select id, customer_id, currency from accounts.cancellations
    where partner_id = ${partnerId} and due_at <= ${now} order by due_at limit 1 for update skip locked`)
}

/** Waits for a worker that has it. Undefined: nothing is left. */
export function lockCancellation(
  tx: Tx,
  partnerId: string,
  account: BlockedAccount,
): Promise<Cancellation | undefined> {
  return tx.row<Cancellation>(sql`/* accounts.lockCancellation */
    select id, customer_id, currency from accounts.cancellations
    where partner_id = ${partnerId} and ${ofAccount(account)} for update`)
}

export async function leaseCancellation(tx: Tx, partnerId: string, id: string, dueAt: Date): Promise<void> {
  await tx.run(sql`/* accounts.leaseCancellation */
    update accounts.cancellations set due_at = ${dueAt} where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteCancellation(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* accounts.deleteCancellation */
    delete from accounts.cancellations where partner_id = ${partnerId} and id = ${id}`)
}
