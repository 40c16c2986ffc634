/** All SQL of the module. */
import { roleAllows, type users as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Permit } from './giving.ts'
import { acrossPartners, dueWork, insertBy, noSql, type Sql, sql, type Tx, unprepared } from '../../postgres/index.ts'
import type { Subject } from '../../screening/index.ts'
import { revokeLinksOf } from './store-entrances.ts'

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
  /** The person or key that assigns the role: the last one that sent or resent the invitation. */
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

/** Marks expired invitations of addresses, which frees the addresses. `updated_at` becomes the time of the expiry. */
export async function expireInvitations(
  tx: Tx,
  partnerId: string,
  emailKeys: readonly string[],
  now: Date,
): Promise<void> {
  await tx.run(sql`/* users.expireInvitations */
    update users.invitations set status = 'Expired', updated_at = expires_at
    where partner_id = ${partnerId} and email_key = any(${emailKeys}::text[]) and status = 'Pending'
      and expires_at <= ${now}`)
}

/** False: the address has a live invitation. Waits for a concurrent insert of the same address to commit or roll back. */
export async function insertInvitation(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  row: InvitationRow,
): Promise<boolean> {
  const inserted = await tx.run(sql`/* users.insertInvitation */
    insert into users.invitations (partner_id, id, email, email_key, full_name, role, status, redirect_url,
      invited_by_id, invited_by_name, token_hash, expiry_days, expires_at, resends, resent_at, created_at, updated_at,
      given_by_id)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.emailKey}, ${row.fullName}, ${row.role}, ${row.status},
      ${row.redirectUrl}, ${row.invitedById}, ${row.invitedByName}, ${row.tokenHash}, ${row.expiryDays},
      ${row.expiresAt}, ${row.resends}, ${row.resentAt}, ${row.createdAt}, ${row.updatedAt}, ${row.givenById})
    on conflict (partner_id, email_key) where status = 'Pending' do nothing`)
  return inserted === 1
}

export function invitationById(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.invitationById */
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id}`)
}

/** Serialises changes of one invitation. */
export function lockInvitation(tx: Tx, partnerId: string, id: string): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.lockInvitation */
    select ${columns} from users.invitations where partner_id = ${partnerId} and id = ${id} for no key update`)
}

/** Locks the pending invitation of an address. */
export function lockPendingInvitation(
  tx: Tx,
  partnerId: string,
  emailKey: string,
  now: Date,
): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* users.lockPendingInvitation */
    select ${columns} from users.invitations
    where partner_id = ${partnerId} and email_key = ${emailKey} and status = 'Pending' and expires_at > ${now}
    for no key update`)
}

/** Filters by the status that `invitationStatus` computes. */
function hasStatus(status: wire.InvitationStatus, now: Date): Sql {
  if (status === 'Pending') return sql`and status = 'Pending' and expires_at > ${now}`
  if (status === 'Expired') return sql`and (status = 'Expired' or (status = 'Pending' and expires_at <= ${now}))`
  return sql`and status = ${status}`
}

export function listInvitations(
  tx: Tx,
  partnerId: string,
  status: wire.InvitationStatus | undefined,
  now: Date,
  { limit, afterId }: PageRequest,
): Promise<readonly InvitationRow[]> {
  return tx.rows<InvitationRow>(sql`/* users.listInvitations */
    select ${columns} from users.invitations where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${status === undefined ? noSql : hasStatus(status, now)}
    order by id desc limit ${limit + 1}`)
}

/** Mails of a day: those of the partner, and those of the address with the most. */
export type MailCounts = { readonly ofPartner: number; readonly ofAddress: number }

const mailRows = insertBy<{ partnerId: string; day: string; emailKey: string; mails: number }>(
  { partnerId: 'uuid', day: 'date', emailKey: 'text', mails: 'integer' },
  [['partnerId', 'day']],
)

export async function deleteMailCounts(tx: Tx, partnerId: string, day: string): Promise<void> {
  await tx.run(sql`/* users.deleteMailCounts */
    delete from users.invitation_mails where partner_id = ${partnerId} and day < ${day}::date`)
}

/** Counts a mail for each address. Locks the partner's count first, so that its requests run one after the other. */
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

/** Joins the newest invitation of each address with the member who accepted it. */
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

/** Lists people who are invited with one of these roles and have not joined, in the order of their invitations. */
export function invitedWithRoles(
  tx: Tx,
  partnerId: string,
  roles: readonly wire.Role[],
  rowsMax: number,
): Promise<readonly Member[]> {
  return tx.rows<Member>(sql`/* users.invitedWithRoles */
    select newest.full_name, newest.email from ${newest(partnerId, sql`true`)}
    where newest.role = any(${roles}::text[]) and newest.status <> 'Revoked' and members.id is null
    order by newest.id limit ${rowsMax}`)
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

export async function updateInvitation(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  row: InvitationRow,
): Promise<void> {
  await tx.run(sql`/* users.updateInvitation */
    update users.invitations set status = ${row.status}, redirect_url = ${row.redirectUrl},
      token_hash = ${row.tokenHash}, expires_at = ${row.expiresAt}, resends = ${row.resends},
      resent_at = ${row.resentAt}, updated_at = ${row.updatedAt}, given_by_id = ${row.givenById}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

// The SQL of the people who accepted an invitation.

export type MemberRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly role: wire.Role
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly lastSignInAt: Date | null
}

const memberColumns = sql`id, email, full_name, role, created_at, updated_at, last_sign_in_at`

/** Locks the invitation of a token, so that it is accepted once. */
export function lockByToken(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
): Promise<{ readonly id: string } | undefined> {
  return tx.row(sql`/* users.lockByToken */
    select id from users.invitations where partner_id = ${partnerId} and token_hash = ${tokenHash} for no key update`)
}

export function invitationIdByToken(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
): Promise<{ readonly id: string } | undefined> {
  return tx.row(sql`/* users.invitationIdByToken */
    select id from users.invitations where partner_id = ${partnerId} and token_hash = ${tokenHash}`)
}

/** Inserts a member. False: the address already has a member. */
export async function insertMember(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  { row, now }: { readonly row: InvitationRow; readonly now: Date },
): Promise<boolean> {
  const inserted = await tx.run(sql`/* users.insertMember */
    insert into users.members (partner_id, id, email, email_key, full_name, role, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.emailKey}, ${row.fullName}, ${row.role}, ${now}, ${now})
    on conflict (partner_id, email_key) where removed_at is null do nothing`)
  return inserted === 1
}

/** Reads the name of a person of the team for screening. A removed person has none. */
export async function subjectOfMember(tx: Tx, partnerId: string, id: string): Promise<Subject> {
  const member = await memberById(tx, partnerId, id)
  const names = member === undefined ? [] : [{ role: 'fullName', name: member.fullName }]
  return { names, account: null, countries: [] }
}

/** Lists the ids of members after the cursor, in order, for screening. */
export async function memberIdsAfter(
  tx: Tx,
  partnerId: string,
  afterId: string,
  idsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(sql`/* users.memberIdsAfter */
    select id from users.members where partner_id = ${partnerId} and id > ${afterId} and removed_at is null
    order by id limit ${idsMax}`)
  return rows.map(({ id }) => id)
}

/** Reports whether the partner has or had a member. */
export async function hasMembers(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row(sql`/* users.hasMembers */
    select id from users.members where partner_id = ${partnerId} limit 1`)
  return row !== undefined
}

export function memberById(tx: Tx, partnerId: string, id: string): Promise<MemberRow | undefined> {
  return tx.row<MemberRow>(sql`/* users.memberById */
    select ${memberColumns} from users.members where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
}

/** Reads a member under a lock, for which a reset, a removal and a change of the role wait. */
export function lockMember(tx: Tx, partnerId: string, id: string): Promise<MemberRow | undefined> {
  return tx.row<MemberRow>(sql`/* users.lockMember */
    select ${memberColumns} from users.members where partner_id = ${partnerId} and id = ${id} and removed_at is null
    for no key update`)
}

/** Reads the role of a member, including a removed one. */
export function memberRole(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly role: wire.Role; readonly removedAt: Date | null } | undefined> {
  return tx.row(sql`/* users.memberRole */
    select role, removed_at from users.members where partner_id = ${partnerId} and id = ${id}`)
}

export function memberByAddress(tx: Tx, partnerId: string, emailKey: string): Promise<MemberRow | undefined> {
  return tx.row<MemberRow>(sql`/* users.memberByAddress */
    select ${memberColumns} from users.members
    where partner_id = ${partnerId} and email_key = ${emailKey} and removed_at is null`)
}

/** Returns those of the addresses that have a member. */
export async function addressesWithMember(
  tx: Tx,
  partnerId: string,
  emailKeys: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly emailKey: string }>(sql`/* users.addressesWithMember */
    select email_key from users.members
    where partner_id = ${partnerId} and email_key = any(${emailKeys}::text[]) and removed_at is null`)
  return rows.map(({ emailKey }) => emailKey)
}

/** Lists the members of all partners with an address, in the order in which they joined. */
export function membersOfAddress(
  tx: Tx,
  emailKey: string,
  membersMax: number,
): Promise<
  readonly { readonly partnerId: string; readonly id: string; readonly fullName: string; readonly email: string }[]
> {
  return tx.rows(
    acrossPartners(
      'a person who knows only the own address asks where to sign in',
      sql`/* users.membersOfAddress */
        select partner_id, id, full_name, email from users.members
        where email_key = ${emailKey} and removed_at is null order by id limit ${membersMax}`,
    ),
  )
}

export function listMembers(
  tx: Tx,
  partnerId: string,
  role: wire.Role | undefined,
  { limit, afterId }: PageRequest,
): Promise<readonly MemberRow[]> {
  return tx.rows<MemberRow>(sql`/* users.listMembers */
    select ${memberColumns} from users.members where partner_id = ${partnerId} and removed_at is null
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${role === undefined ? noSql : sql`and role = ${role}`}
    order by id desc limit ${limit + 1}`)
}

/** Lists the members of the team in the order in which they joined. */
export function listTeam(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly MemberRow[]> {
  return tx.rows<MemberRow>(sql`/* users.listTeam */
    select ${memberColumns} from users.members where partner_id = ${partnerId} and removed_at is null
    order by id limit ${rowsMax}`)
}

/** Locks a member, and all Admins if the member is one, so that two removals cannot remove the last Admin. */
export async function lockWithAdmins(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly member: MemberRow | undefined; readonly admins: number }> {
  const rows = await tx.rows<MemberRow>(sql`/* users.lockWithAdmins */
    select ${memberColumns} from users.members
    where partner_id = ${partnerId} and removed_at is null and (id = ${id} or role = 'Admin')
    order by id for no key update`)
  return { member: rows.find((row) => row.id === id), admins: rows.filter(({ role }) => role === 'Admin').length }
}

/** Changes a role. Only role-changes.ts calls this, which records and mails the change. */
export async function changeRole(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  { id, role, now }: { readonly id: string; readonly role: wire.Role; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* users.changeRole */
    update users.members set role = ${role}, updated_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
  if (!roleAllows(role, 'users:write')) await revokeLinksOf(tx, partnerId, id, now)
}

export async function removeMember(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* users.removeMember */
    update users.members set removed_at = ${now}, updated_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
  await revokeLinksOf(tx, partnerId, id, now)
}

export async function recordSignIn(tx: Tx, partnerId: string, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.recordSignIn */
    update users.members set last_sign_in_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
}

// The SQL of recoveries.

export type RecoveryRow = {
  readonly id: string
  readonly memberId: string
  readonly status: 'Waiting' | 'Open' | 'Used' | 'Cancelled'
  readonly byStaff: boolean
  readonly begunByName: string
  readonly reason: string
  /** The end of the cooling-off. */
  readonly dueAt: Date | null
  readonly tokenHash: Buffer | null
  readonly expiresAt: Date | null
  readonly cancelHash: Buffer | null
  readonly endedBecause: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const recoveryColumns = sql`id, member_id, status, by_staff, begun_by_name, reason, due_at, token_hash, expires_at, cancel_hash,
  ended_because, created_at, updated_at`

export async function insertRecovery(tx: Tx, partnerId: string, row: RecoveryRow): Promise<void> {
  await tx.run(sql`/* users.insertRecovery */
    insert into users.recoveries (partner_id, id, member_id, status, by_staff, begun_by_name, reason, due_at, token_hash,
      expires_at, cancel_hash, ended_because, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.status}, ${row.byStaff}, ${row.begunByName}, ${row.reason},
      ${row.dueAt}, ${row.tokenHash}, ${row.expiresAt}, ${row.cancelHash}, ${row.endedBecause}, ${row.createdAt},
      ${row.updatedAt})`)
}

export async function updateRecovery(tx: Tx, partnerId: string, row: RecoveryRow): Promise<void> {
  await tx.run(sql`/* users.updateRecovery */
    update users.recoveries set status = ${row.status}, token_hash = ${row.tokenHash}, expires_at = ${row.expiresAt},
      ended_because = ${row.endedBecause}, updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

export function recoveryByToken(tx: Tx, partnerId: string, hash: Buffer): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.recoveryByToken */
    select ${recoveryColumns} from users.recoveries where partner_id = ${partnerId} and token_hash = ${hash}`)
}

export function recoveryByCancel(tx: Tx, partnerId: string, hash: Buffer): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.recoveryByCancel */
    select ${recoveryColumns} from users.recoveries where partner_id = ${partnerId} and cancel_hash = ${hash}`)
}

/** Locks a recovery. Lock order: the members of the team, then their recoveries. */
export function lockRecovery(tx: Tx, partnerId: string, id: string): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.lockRecovery */
    select ${recoveryColumns} from users.recoveries where partner_id = ${partnerId} and id = ${id} for no key update`)
}

/** Locks the live recovery of a member. */
export function lockLiveRecovery(tx: Tx, partnerId: string, memberId: string): Promise<RecoveryRow | undefined> {
  return tx.row<RecoveryRow>(sql`/* users.lockLiveRecovery */
    select ${recoveryColumns} from users.recoveries
    where partner_id = ${partnerId} and member_id = ${memberId} and status in ('Waiting', 'Open')
    for no key update`)
}

/** Lists recoveries, newest first, with the name and the address of each member. */
export function recoveriesOf(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly (RecoveryRow & Pick<MemberRow, 'fullName' | 'email'>)[]> {
  return tx.rows(sql`/* users.recoveriesOf */
    select recoveries.id, member_id, status, by_staff, begun_by_name, reason, due_at, expires_at, ended_because,
      recoveries.created_at, recoveries.updated_at, full_name, email
    from users.recoveries
    join users.members on members.partner_id = recoveries.partner_id and members.id = recoveries.member_id
    where recoveries.partner_id = ${partnerId} order by recoveries.id desc limit ${rowsMax}`)
}

export const recoveriesDue = (after: Date): Sql =>
  dueWork(
    'reads when the next cooling-off of a recovery ends',
    (whose) => sql`/* users.recoveriesDue */
      select due_at from users.recoveries
      where status = 'Waiting' and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Finds recoveries whose cooling-off is over, without a lock. */
export function dueRecoveries(
  tx: Tx,
  now: Date,
  rowsMax: number,
): Promise<readonly { readonly partnerId: string; readonly id: string; readonly memberId: string }[]> {
  return tx.rows(
    dueWork('finds recoveries whose cooling-off is over, without a lock', (whose) =>
      unprepared(sql`/* users.dueRecoveries */
        select partner_id, id, member_id from users.recoveries
        where status = 'Waiting' and due_at <= ${now} and ${whose()} order by due_at limit ${rowsMax}`),
    ),
  )
}

/** Lists the Admins who have joined. */
export function adminsOf(
  tx: Tx,
  partnerId: string,
  rowsMax: number,
): Promise<readonly Pick<MemberRow, 'id' | 'fullName' | 'email'>[]> {
  return tx.rows(sql`/* users.adminsOf */
    select id, full_name, email from users.members
    where partner_id = ${partnerId} and role = 'Admin' and removed_at is null order by id limit ${rowsMax}`)
}

// The SQL of saved views.

export type SavedViewRow = {
  readonly id: string
  readonly memberId: string
  readonly page: string
  readonly name: string
  readonly query: string
  readonly isShared: boolean
}

const savedViewColumns = sql`id, member_id, page, name, query, is_shared`

/** Lists the member's views of a page and the shared ones, by name. */
export function listViews(
  tx: Tx,
  partnerId: string,
  { memberId, page }: Pick<SavedViewRow, 'memberId' | 'page'>,
  viewsMax: number,
): Promise<readonly SavedViewRow[]> {
  return tx.rows<SavedViewRow>(sql`/* users.listViews */
    (select ${savedViewColumns} from users.saved_views
      where partner_id = ${partnerId} and member_id = ${memberId} and page = ${page} order by name limit ${viewsMax})
    union
    (select ${savedViewColumns} from users.saved_views
      where partner_id = ${partnerId} and page = ${page} and is_shared order by name, id limit ${viewsMax})
    order by name, id`)
}

/** Counts the views of a member. Locks the member, so that two concurrent saves are counted one after the other. */
export async function countViews(tx: Tx, partnerId: string, memberId: string): Promise<number> {
  await tx.run(sql`/* users.countViews */
    select id from users.members where partner_id = ${partnerId} and id = ${memberId} for no key update`)
  const rows = await tx.rows(sql`/* users.countViews */
    select id from users.saved_views where partner_id = ${partnerId} and member_id = ${memberId}`)
  return rows.length
}

export async function insertView(tx: Tx, partnerId: string, row: SavedViewRow, now: Date): Promise<void> {
  await tx.run(sql`/* users.insertView */
    insert into users.saved_views (partner_id, id, member_id, page, name, query, is_shared, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.page}, ${row.name}, ${row.query}, ${row.isShared}, ${now}, ${now})`)
}

export function lockView(tx: Tx, partnerId: string, id: string): Promise<SavedViewRow | undefined> {
  return tx.row<SavedViewRow>(sql`/* users.lockView */
    select ${savedViewColumns} from users.saved_views where partner_id = ${partnerId} and id = ${id} for no key update`)
}

export async function renameView(tx: Tx, partnerId: string, id: string, name: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.renameView */
    update users.saved_views set name = ${name}, updated_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteView(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* users.deleteView */
    delete from users.saved_views where partner_id = ${partnerId} and id = ${id}`)
}

/** Deletes the private views of a removed member. The team keeps the shared ones. */
export async function deletePrivateViews(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* users.deletePrivateViews */
    delete from users.saved_views where partner_id = ${partnerId} and member_id = ${memberId} and not is_shared`)
}
