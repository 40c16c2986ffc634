/** All SQL of notices. */
import { sql, type Tx } from '../../postgres/index.ts'

/** Failing for so long; disabled since it failed for too long, or since it answered 410. */
export type NoticeKind = 'Failing24h' | 'Failing72h' | 'DisabledFailing' | 'DisabledGone'

export type NoticeRow = {
  readonly id: string
  readonly subscriptionId: string
  readonly kind: NoticeKind
  readonly url: string
  /** Since when no delivery has succeeded; null where that is not why. */
  readonly failingSince: Date | null
  /** What the last attempt came to, as the partner sees it in its log of attempts. */
  readonly lastError: string | null
  readonly createdAt: Date
}

export type ClaimedNotice = NoticeRow & {
  readonly partnerId: string
  /** This one included. */
  readonly mailAttempts: number
  readonly mailDone: readonly string[]
  readonly mailLeaseId: string
}

type Leased = Pick<ClaimedNotice, 'partnerId' | 'id' | 'mailLeaseId'>

export async function insertNotice(tx: Tx, partnerId: string, row: NoticeRow): Promise<void> {
  await tx.run(sql`
    insert into delivery.notices (partner_id, id, subscription_id, kind, url, failing_since, last_error, created_at,
      mail_due_at, mail_attempts, mail_done)
    values (${partnerId}, ${row.id}, ${row.subscriptionId}, ${row.kind}, ${row.url}, ${row.failingSince},
      ${row.lastError}, ${row.createdAt}, ${row.createdAt}, 0, '{}')`)
}

export async function dropNotices(tx: Tx, partnerId: string, before: Date): Promise<void> {
  await tx.run(sql`
    delete from delivery.notices
    where partner_id = ${partnerId} and created_at < ${before} and mail_due_at is null`)
}

/** The unlocked read that finds due work: it names no partner by design. */
export function partnersWithDueNotices(
  tx: Tx,
  now: Date,
  partnersMax: number,
): Promise<readonly { partnerId: string }[]> {
  return tx.rows<{ partnerId: string }>(sql`
    select partner_id from delivery.notices where mail_due_at <= ${now}
    group by partner_id order by min(mail_due_at) limit ${partnersMax}`)
}

/** Attempts are counted at the claim, so that a notice that kills its worker is counted too. */
export function claimNotices(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
  noticesMax: number,
): Promise<readonly ClaimedNotice[]> {
  return tx.rows<ClaimedNotice>(sql`
    update delivery.notices set mail_lease_id = ${lease.id}, mail_due_at = ${lease.until},
      mail_attempts = mail_attempts + 1
    where partner_id = ${partnerId} and id = any(array(
      select id from delivery.notices where partner_id = ${partnerId} and mail_due_at <= ${now}
      order by mail_due_at, id for update skip locked limit ${noticesMax}))
    returning partner_id, id, subscription_id, kind, url, failing_since, last_error, created_at, mail_attempts,
      mail_done, mail_lease_id`)
}

/** Zero rows where the lease ended and somebody else has the notice. */
export function addDone(tx: Tx, { partnerId, id, mailLeaseId }: Leased, address: string): Promise<number> {
  return tx.run(sql`
    update delivery.notices set mail_done = array_append(mail_done, ${address})
    where partner_id = ${partnerId} and id = ${id} and mail_lease_id = ${mailLeaseId}`)
}

/** Due again at `dueAt`, or never. The same condition. */
export function endClaim(tx: Tx, { partnerId, id, mailLeaseId }: Leased, dueAt: Date | null): Promise<number> {
  return tx.run(sql`
    update delivery.notices set mail_lease_id = null, mail_due_at = ${dueAt}
    where partner_id = ${partnerId} and id = ${id} and mail_lease_id = ${mailLeaseId}`)
}
