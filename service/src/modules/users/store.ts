/** All SQL of the module. */
import type { users as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../api/index.ts'
import { noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'

export type InvitationRow = {
  readonly id: string
  readonly email: string
  readonly emailKey: string
  readonly fullName: string
  readonly role: wire.Role
  readonly status: wire.InvitationStatus
  readonly redirectUrl: string | null
  readonly invitedById: string
  readonly invitedByName: string
  readonly tokenHash: Uint8Array
  readonly expiryDays: number
  readonly expiresAt: Date
  readonly resends: number
  readonly resentAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type MailKind = 'invitation' | 'invitation_resent'

export type NewMail = {
  readonly id: string
  readonly invitationId: string
  readonly kind: MailKind
  readonly toAddress: string
  readonly toName: string
  readonly role: wire.Role
  readonly invitedByName: string
  /** Where the link leads, without the token; null: the mail shows the token as a code. */
  readonly linkUrl: string | null
  readonly expiresAt: Date
  readonly tokenSealed: Uint8Array
  readonly createdAt: Date
}

export type ClaimedMail = NewMail & {
  readonly partnerId: string
  /** This one included. */
  readonly attempts: number
  readonly leaseId: string
}

const columns = sql`id, email, email_key, full_name, role, status, redirect_url, invited_by_id, invited_by_name,
  token_hash, expiry_days, expires_at, resends, resent_at, created_at, updated_at`

/** Frees addresses whose invitation has run out. `updated_at` is when that was, not when it was written down. */
export async function expire(tx: Tx, partnerId: string, emailKeys: readonly string[], now: Date): Promise<void> {
  await tx.run(sql`
    update users.invitations set status = 'Expired', updated_at = expires_at
    where partner_id = ${partnerId} and email_key = any(${emailKeys}::text[]) and status = 'Pending'
      and expires_at <= ${now}`)
}

/** False where the address has a live invitation; waits for a twin under way to commit or to give up. */
export async function insert(tx: Tx, partnerId: string, row: InvitationRow): Promise<boolean> {
  const inserted = await tx.run(sql`
    insert into users.invitations (partner_id, id, email, email_key, full_name, role, status, redirect_url,
      invited_by_id, invited_by_name, token_hash, expiry_days, expires_at, resends, resent_at, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.emailKey}, ${row.fullName}, ${row.role}, ${row.status},
      ${row.redirectUrl}, ${row.invitedById}, ${row.invitedByName}, ${row.tokenHash}, ${row.expiryDays},
      ${row.expiresAt}, ${row.resends}, ${row.resentAt}, ${row.createdAt}, ${row.updatedAt})
    on conflict (partner_id, email_key) where status = 'Pending' do nothing`)
  return inserted === 1
}

export function byId(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id}`)
}

/** Changes of one invitation take turns. */
export function lockById(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id} for no key update`)
}

/** The filter sees what `statusAt` shows. */
function hasStatus(status: wire.InvitationStatus, now: Date): Sql {
  if (status === 'Pending') return sql`and status = 'Pending' and expires_at > ${now}`
  if (status === 'Expired') return sql`and (status = 'Expired' or (status = 'Pending' and expires_at <= ${now}))`
  return sql`and status = ${status}`
}

export function list(
  tx: Tx,
  partnerId: string,
  status: wire.InvitationStatus | undefined,
  now: Date,
  { limit, afterId }: PageRequest,
): Promise<readonly InvitationRow[]> {
  return tx.rows<InvitationRow>(sql`
    select ${columns} from users.invitations where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${status === undefined ? noSql : hasStatus(status, now)}
    order by id desc limit ${limit + 1}`)
}

export type Member = { readonly fullName: string; readonly email: string; readonly emailKey: string }

/** What the newest invitation of an address says, counts. */
export function membersWithRoles(
  tx: Tx,
  partnerId: string,
  roles: readonly wire.Role[],
  membersMax: number,
): Promise<readonly Member[]> {
  return tx.rows<Member>(sql`
    select full_name, email, email_key from (
      select distinct on (email_key) id, full_name, email, email_key, role, status from users.invitations
      where partner_id = ${partnerId} order by email_key, id desc) newest
    where role = any(${roles}::text[]) and status <> 'Revoked'
    order by id limit ${membersMax}`)
}

export async function update(tx: Tx, partnerId: string, row: InvitationRow): Promise<void> {
  await tx.run(sql`
    update users.invitations set status = ${row.status}, redirect_url = ${row.redirectUrl},
      token_hash = ${row.tokenHash}, expires_at = ${row.expiresAt}, resends = ${row.resends},
      resent_at = ${row.resentAt}, updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

export async function insertMail(tx: Tx, partnerId: string, mail: NewMail): Promise<void> {
  await tx.run(sql`
    insert into users.mails (partner_id, id, invitation_id, kind, to_address, to_name, role, invited_by_name, link_url,
      expires_at, token_sealed, status, attempts, next_attempt_at, created_at)
    values (${partnerId}, ${mail.id}, ${mail.invitationId}, ${mail.kind}, ${mail.toAddress}, ${mail.toName},
      ${mail.role}, ${mail.invitedByName}, ${mail.linkUrl}, ${mail.expiresAt}, ${mail.tokenSealed}, 'pending', 0,
      ${mail.createdAt}, ${mail.createdAt})`)
}

/** Ends the mails of an invitation that are still to be sent: their token is dead. */
export async function dropMails(
  tx: Tx,
  partnerId: string,
  invitationId: string,
  reason: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update users.mails set status = 'failed', token_sealed = null, lease_id = null, lease_until = null,
      last_error = ${reason}, ended_at = ${now}
    where partner_id = ${partnerId} and invitation_id = ${invitationId} and status = 'pending'`)
}

/** The unlocked read that finds due work: it names no partner by design. */
export function partnersWithDueMail(tx: Tx, now: Date, partnersMax: number): Promise<readonly { partnerId: string }[]> {
  return tx.rows<{ partnerId: string }>(sql`
    select partner_id from users.mails
    where status = 'pending' and next_attempt_at <= ${now} and (lease_until is null or lease_until <= ${now})
    group by partner_id order by min(next_attempt_at) limit ${partnersMax}`)
}

/** Attempts are counted at the claim, so that a mail that kills its worker is counted too. */
export function claimMails(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  now: Date,
  mailsMax: number,
): Promise<readonly ClaimedMail[]> {
  return tx.rows<ClaimedMail>(sql`
    update users.mails set lease_id = ${lease.id}, lease_until = ${lease.until}, attempts = attempts + 1
    where partner_id = ${partnerId} and id = any(array(
      select id from users.mails
      where partner_id = ${partnerId} and status = 'pending' and next_attempt_at <= ${now}
        and (lease_until is null or lease_until <= ${now})
      order by next_attempt_at, id for update skip locked limit ${mailsMax}))
    returning partner_id, id, invitation_id, kind, to_address, to_name, role, invited_by_name, link_url, expires_at,
      token_sealed, attempts, created_at, lease_id`)
}

type Leased = Pick<ClaimedMail, 'partnerId' | 'id' | 'leaseId'>

/** Zero rows where the lease ended and somebody else has the mail. */
export function endMail(
  tx: Tx,
  { partnerId, id, leaseId }: Leased,
  end: { readonly status: 'sent' | 'failed'; readonly error: string | null; readonly at: Date },
): Promise<number> {
  return tx.run(sql`
    update users.mails set status = ${end.status}, token_sealed = null, lease_id = null, lease_until = null,
      last_error = coalesce(${end.error}, last_error), ended_at = ${end.at}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} and status = 'pending'`)
}

/** The same condition. */
export function postponeMail(
  tx: Tx,
  { partnerId, id, leaseId }: Leased,
  error: string,
  nextAttemptAt: Date,
): Promise<number> {
  return tx.run(sql`
    update users.mails set lease_id = null, lease_until = null, last_error = ${error},
      next_attempt_at = ${nextAttemptAt}
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} and status = 'pending'`)
}
