/** All SQL of the module. */
import type { users as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../api/index.ts'
import type { Permitted } from './giving.ts'
import { insertBy, noSql, type Sql, sql, type Tx } from '../../postgres/index.ts'

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
  /** The person or key that gives the role: who invited, or who sent the invitation again. */
  readonly givenById: string
  readonly tokenHash: Uint8Array
  readonly expiryDays: number
  readonly expiresAt: Date
  readonly resends: number
  readonly resentAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`id, email, email_key, full_name, role, status, redirect_url, invited_by_id, invited_by_name,
  token_hash, expiry_days, expires_at, resends, resent_at, created_at, updated_at,
  coalesce(given_by_id, invited_by_id) as given_by_id`

/** Frees addresses whose invitation has expired. `updated_at` becomes the time of the expiry, not of this statement. */
export async function expire(tx: Tx, partnerId: string, emailKeys: readonly string[], now: Date): Promise<void> {
  await tx.run(sql`/* users.expire */
    update users.invitations set status = 'Expired', updated_at = expires_at
    where partner_id = ${partnerId} and email_key = any(${emailKeys}::text[]) and status = 'Pending'
      and expires_at <= ${now}`)
}

/** False if the address has a live invitation. Waits for a concurrent insert of the same address to commit or roll back. */
export async function insert(tx: Tx, _permitted: Permitted, partnerId: string, row: InvitationRow): Promise<boolean> {
  const inserted = await tx.run(sql`/* users.insert */
    insert into users.invitations (partner_id, id, email, email_key, full_name, role, status, redirect_url,
      invited_by_id, invited_by_name, token_hash, expiry_days, expires_at, resends, resent_at, created_at, updated_at,
      given_by_id)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.emailKey}, ${row.fullName}, ${row.role}, ${row.status},
      ${row.redirectUrl}, ${row.invitedById}, ${row.invitedByName}, ${row.tokenHash}, ${row.expiryDays},
      ${row.expiresAt}, ${row.resends}, ${row.resentAt}, ${row.createdAt}, ${row.updatedAt}, ${row.givenById})
    on conflict (partner_id, email_key) where status = 'Pending' do nothing`)
  return inserted === 1
}

export function byId(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.byId */
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id}`)
}

/** Serialises changes of one invitation. */
export function lockById(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.lockById */
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id} for no key update`)
}

/** The pending invitation of an address, locked. */
export function lockPending(
  tx: Tx,
  partnerId: string,
  emailKey: string,
  now: Date,
): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.lockPending */
    select ${columns} from users.invitations
    where partner_id = ${partnerId} and email_key = ${emailKey} and status = 'Pending' and expires_at > ${now}
    for no key update`)
}

/** Filters by the status that `statusAt` computes. */
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
  return tx.rows<InvitationRow>(sql`/* users.list */
    select ${columns} from users.invitations where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${status === undefined ? noSql : hasStatus(status, now)}
    order by id desc limit ${limit + 1}`)
}

/** Mails of a day: the number of the partner, and the highest number of one of the addresses. */
export type MailCounts = { readonly ofPartner: number; readonly ofAddress: number }

const mailRows = insertBy<{ partnerId: string; day: string; emailKey: string; mails: number }>(
  { partnerId: 'uuid', day: 'date', emailKey: 'text', mails: 'integer' },
  [['partnerId', 'day']],
)

export async function forgetMails(tx: Tx, partnerId: string, day: string): Promise<void> {
  await tx.run(sql`/* users.forgetMails */
    delete from users.invitation_mails where partner_id = ${partnerId} and day < ${day}::date`)
}

/** Adds a mail for each address. The partner's own count is locked first, so that its requests follow one another. */
export async function countMails(
  tx: Tx,
  partnerId: string,
  day: string,
  emailKeys: readonly string[],
): Promise<MailCounts> {
  const all = { partnerId, day, emailKey: '', mails: emailKeys.length }
  const rows = emailKeys.toSorted().map((emailKey) => ({ ...all, emailKey, mails: 1 }))
  const counts = await tx.rows<{ readonly emailKey: string; readonly mails: number }>(sql`/* users.countMails */
    insert into users.invitation_mails (partner_id, day, email_key, mails) ${mailRows(tx, [all, ...rows])}
    on conflict (partner_id, day, email_key) do update set mails = invitation_mails.mails + excluded.mails
    returning email_key, mails`)
  const most = (isAll: boolean) =>
    Math.max(...counts.filter(({ emailKey }) => (emailKey === '') === isAll).map(({ mails }) => mails))
  return { ofPartner: most(true), ofAddress: most(false) }
}

export type Member = { readonly fullName: string; readonly email: string }

/** The newest invitation of an address, and the member who accepted it. */
const newest = (partnerId: string, isMeant: Sql): Sql => sql`(
      select distinct on (email_key) id, full_name, email, email_key, role, status from users.invitations
      where partner_id = ${partnerId} and ${isMeant} order by email_key, id desc) newest
    left join users.members on members.partner_id = ${partnerId} and members.id = newest.id`

export function membersWithRoles(
  tx: Tx,
  partnerId: string,
  roles: readonly wire.Role[],
  membersMax: number,
): Promise<readonly Member[]> {
  return tx.rows<Member>(sql`/* users.membersWithRoles */
    select newest.full_name, newest.email from ${newest(partnerId, sql`true`)}
    where coalesce(members.role, newest.role) = any(${roles}::text[]) and newest.status <> 'Revoked'
      and members.removed_at is null
    order by newest.id limit ${membersMax}`)
}

export function membersByKeys(
  tx: Tx,
  partnerId: string,
  emailKeys: readonly string[],
): Promise<readonly (Member & { readonly emailKey: string })[]> {
  return tx.rows(sql`/* users.membersByKeys */
    select newest.full_name, newest.email, newest.email_key
    from ${newest(partnerId, sql`email_key = any(${emailKeys}::text[])`)}
    where newest.status <> 'Revoked' and members.removed_at is null`)
}

export async function update(tx: Tx, _permitted: Permitted, partnerId: string, row: InvitationRow): Promise<void> {
  await tx.run(sql`/* users.update */
    update users.invitations set status = ${row.status}, redirect_url = ${row.redirectUrl},
      token_hash = ${row.tokenHash}, expires_at = ${row.expiresAt}, resends = ${row.resends},
      resent_at = ${row.resentAt}, updated_at = ${row.updatedAt}, given_by_id = ${row.givenById}
    where partner_id = ${partnerId} and id = ${row.id}`)
}
