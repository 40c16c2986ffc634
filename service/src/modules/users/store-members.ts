/** The SQL of the people who accepted an invitation. */
import { roleAllows, type users as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../api/index.ts'
import { acrossPartners, noSql, sql, type Tx } from '../../postgres/index.ts'
import type { Permitted } from './giving.ts'
import type { Subject } from '../../screening/index.ts'
import type { InvitationRow } from './store.ts'
import { revokeLinksOf } from './store-guest-links.ts'

export type MemberRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly role: wire.Role
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly lastSignInAt: Date | null
}

const columns = sql`id, email, full_name, role, created_at, updated_at, last_sign_in_at`

/** The invitation of a token, locked, so that it is accepted once. */
export function lockByToken(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
): Promise<{ readonly id: string } | undefined> {
  return tx.row(sql`/* users.lockByToken */
    select id from users.invitations where partner_id = ${partnerId} and token_hash = ${tokenHash} for no key update`)
}

export function idOfToken(tx: Tx, partnerId: string, tokenHash: Buffer): Promise<{ readonly id: string } | undefined> {
  return tx.row(sql`/* users.idOfToken */
    select id from users.invitations where partner_id = ${partnerId} and token_hash = ${tokenHash}`)
}

/** False: the address has a member. */
export async function insertMember(
  tx: Tx,
  _permitted: Permitted,
  partnerId: string,
  { row, now }: { readonly row: InvitationRow; readonly now: Date },
): Promise<boolean> {
  const inserted = await tx.run(sql`/* users.insertMember */
    insert into users.members (partner_id, id, email, email_key, full_name, role, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.emailKey}, ${row.fullName}, ${row.role}, ${now}, ${now})
    on conflict (partner_id, email_key) where removed_at is null do nothing`)
  return inserted === 1
}

/** The name of a person of the team, for screening. Who was removed has none. */
export async function subjectOfMember(tx: Tx, partnerId: string, id: string): Promise<Subject> {
  const member = await memberById(tx, partnerId, id)
  const names = member === undefined ? [] : [{ role: 'fullName', name: member.fullName }]
  return { names, account: null, countries: [] }
}

/** The ids of people of the team after one of them, in their order. For screening. */
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
    select ${columns} from users.members where partner_id = ${partnerId} and id = ${id} and removed_at is null`)
}

/** The role of a member, also of one who was removed. */
export function roleOf(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly role: wire.Role; readonly removedAt: Date | null } | undefined> {
  return tx.row(sql`/* users.roleOf */
    select role, removed_at from users.members where partner_id = ${partnerId} and id = ${id}`)
}

export function memberByAddress(tx: Tx, partnerId: string, emailKey: string): Promise<MemberRow | undefined> {
  return tx.row<MemberRow>(sql`/* users.memberByAddress */
    select ${columns} from users.members
    where partner_id = ${partnerId} and email_key = ${emailKey} and removed_at is null`)
}

/** The addresses among some that have a member. */
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

/** The members of all partners with an address, the first that joined first. */
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
    select ${columns} from users.members where partner_id = ${partnerId} and removed_at is null
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${role === undefined ? noSql : sql`and role = ${role}`}
    order by id desc limit ${limit + 1}`)
}

/** Locks a member, and all Admins if the member is one: who removes the last Admin must know that there is another. */
export async function lockWithAdmins(
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<{ readonly member: MemberRow | undefined; readonly admins: number }> {
  const rows = await tx.rows<MemberRow>(sql`/* users.lockWithAdmins */
    select ${columns} from users.members
    where partner_id = ${partnerId} and removed_at is null and (id = ${id} or role = 'Admin')
    order by id for no key update`)
  return { member: rows.find((row) => row.id === id), admins: rows.filter(({ role }) => role === 'Admin').length }
}

/** Called by role-changes.ts only, which records and mails what changes. */
export async function changeRole(
  tx: Tx,
  _permitted: Permitted,
  partnerId: string,
  { id, role, now }: { readonly id: string; readonly role: wire.Role; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* users.changeRole */
    update users.members set role = ${role}, updated_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
  if (!roleAllows(role, 'users:write')) await revokeLinksOf(tx, partnerId, id, now)
}

export async function removeMember(
  tx: Tx,
  _permitted: Permitted,
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
