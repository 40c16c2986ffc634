/** All SQL of staff accounts and their invitations. */
import { sql, type Tx } from '../../postgres/index.ts'
import type { StaffRole } from './rules.ts'

export type AccountRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly role: StaffRole
  readonly createdAt: Date
}

export type InvitationRow = AccountRow & { readonly tokenHash: Buffer; readonly expiresAt: Date }

const columns = sql`id, email, full_name, role, created_at`

export async function insertInvitation(tx: Tx, row: InvitationRow): Promise<void> {
  await tx.run(sql`/* staff.insertInvitation */
    insert into staff.invitations (${columns}, token_hash, expires_at)
    values (${row.id}, ${row.email}, ${row.fullName}, ${row.role}, ${row.createdAt}, ${row.tokenHash}, ${row.expiresAt})`)
}

export function pendingByToken(tx: Tx, tokenHash: Buffer, now: Date): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* staff.pendingByToken */
    select ${columns}, token_hash, expires_at from staff.invitations
    where token_hash = ${tokenHash} and accepted_at is null and expires_at > ${now}`)
}

/** False: the invitation was accepted before, or has expired. Waits for a concurrent acceptance. */
export async function acceptInvitation(tx: Tx, id: string, now: Date): Promise<boolean> {
  const accepted = await tx.run(sql`/* staff.acceptInvitation */
    update staff.invitations set accepted_at = ${now}
    where id = ${id} and accepted_at is null and expires_at > ${now}`)
  return accepted === 1
}

/** False: an account has the address or the name. */
export async function insertAccount(
  tx: Tx,
  row: AccountRow & { readonly emailKey: string; readonly nameKey: string },
): Promise<boolean> {
  const inserted = await tx.run(sql`/* staff.insertAccount */
    insert into staff.accounts (${columns}, email_key, name_key)
    values (${row.id}, ${row.email}, ${row.fullName}, ${row.role}, ${row.createdAt}, ${row.emailKey}, ${row.nameKey})
    on conflict do nothing`)
  return inserted === 1
}

/** Oldest first. */
export function accounts(tx: Tx): Promise<readonly AccountRow[]> {
  return tx.rows<AccountRow>(sql`/* staff.accounts */
    select ${columns} from staff.accounts where removed_at is null order by id`)
}

export function accountById(tx: Tx, id: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.accountById */
    select ${columns} from staff.accounts where id = ${id} and removed_at is null`)
}

/** The account, locked: its role and its removal wait for the end of the transaction. */
export function holdAccount(tx: Tx, id: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.holdAccount */
    select ${columns} from staff.accounts where id = ${id} and removed_at is null for share`)
}

/** The accounts of persons by their ids or their names, locked in the order of their ids. */
export function holdPersons(
  tx: Tx,
  ids: readonly string[],
  nameKeys: readonly string[],
): Promise<readonly (Pick<AccountRow, 'id' | 'role'> & { readonly nameKey: string })[]> {
  return tx.rows(sql`/* staff.holdPersons */
    select id, role, name_key from staff.accounts
    where removed_at is null and (id = any(${[...ids]}::uuid[]) or name_key = any(${[...nameKeys]}::text[]))
    order by id for share`)
}

export async function hasAccounts(tx: Tx): Promise<boolean> {
  const row = await tx.row(sql`/* staff.hasAccounts */ select id from staff.accounts where removed_at is null limit 1`)
  return row !== undefined
}

export function accountByAddress(tx: Tx, emailKey: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.accountByAddress */
    select ${columns} from staff.accounts where email_key = ${emailKey} and removed_at is null`)
}

/** Reports whether an account has the address or the name. */
export async function isTaken(tx: Tx, emailKey: string, nameKey: string): Promise<boolean> {
  const row = await tx.row(sql`/* staff.isTaken */
    select id from staff.accounts where removed_at is null and (email_key = ${emailKey} or name_key = ${nameKey}) limit 1`)
  return row !== undefined
}

/** Locks an account and all admins, in the order of their ids: of two removals of the last two admins one is refused. */
export async function lockWithAdmins(
  tx: Tx,
  id: string,
): Promise<{ readonly account: AccountRow | undefined; readonly admins: number }> {
  const rows = await tx.rows<AccountRow>(sql`/* staff.lockWithAdmins */
    select ${columns} from staff.accounts where removed_at is null and (id = ${id} or role = 'admin')
    order by id for update`)
  return { account: rows.find((row) => row.id === id), admins: rows.filter(({ role }) => role === 'admin').length }
}

export async function updateRole(tx: Tx, id: string, role: StaffRole): Promise<void> {
  await tx.run(sql`/* staff.updateRole */ update staff.accounts set role = ${role} where id = ${id}`)
}

export async function removeAccount(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.removeAccount */ update staff.accounts set removed_at = ${now} where id = ${id}`)
}
