/** The SQL of single sign-on and of guest links. */
import type { guestLinks, users as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import { noSql, type SealedColumn, sql, type Tx } from '../../postgres/index.ts'
import type { Permit } from './giving.ts'

export type RoleValues = Readonly<Partial<Record<wire.Role, readonly string[]>>>

export type SingleSignOnRow = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecretSealed: Buffer
  readonly emailDomain: string
  readonly domainToken: string
  readonly domainProvedAt: Date | null
  readonly roleClaim: string | null
  /** JSON of `RoleValues`. */
  readonly roleValues: string
  readonly required: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

const providerColumns = sql`issuer, client_id, client_secret_sealed, email_domain, domain_token, domain_proved_at, role_claim,
  role_values, required, created_at, updated_at`

export function singleSignOnRow(tx: Tx, partnerId: string): Promise<SingleSignOnRow | undefined> {
  return tx.row<SingleSignOnRow>(sql`/* users.singleSignOnRow */
    select ${providerColumns} from users.single_sign_on where partner_id = ${partnerId}`)
}

/** Serialises the changes of one partner. */
export function lockSingleSignOn(tx: Tx, partnerId: string): Promise<SingleSignOnRow | undefined> {
  return tx.row<SingleSignOnRow>(sql`/* users.lockSingleSignOn */
    select ${providerColumns} from users.single_sign_on where partner_id = ${partnerId} for no key update`)
}

/** Inserts the row, or replaces all of it except the time of creation. */
export async function setSingleSignOn(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  row: SingleSignOnRow,
): Promise<void> {
  await tx.run(sql`/* users.setSingleSignOn */
    insert into users.single_sign_on (partner_id, issuer, client_id, client_secret_sealed, email_domain, domain_token,
      domain_proved_at, role_claim, role_values, required, created_at, updated_at)
    values (${partnerId}, ${row.issuer}, ${row.clientId}, ${row.clientSecretSealed}, ${row.emailDomain},
      ${row.domainToken}, ${row.domainProvedAt}, ${row.roleClaim}, ${row.roleValues}::jsonb,
      ${row.required}, ${row.createdAt}, ${row.updatedAt})
    on conflict (partner_id) do update set issuer = excluded.issuer, client_id = excluded.client_id,
      client_secret_sealed = excluded.client_secret_sealed, email_domain = excluded.email_domain,
      domain_token = excluded.domain_token, domain_proved_at = excluded.domain_proved_at,
      role_claim = excluded.role_claim, role_values = excluded.role_values, required = excluded.required,
      updated_at = excluded.updated_at`)
}

export async function removeSingleSignOn(tx: Tx, _permitted: Permit, partnerId: string): Promise<void> {
  await tx.run(sql`/* users.removeSingleSignOn */
    delete from users.single_sign_on where partner_id = ${partnerId}`)
}

/** A change that is pending approval by a second Admin. */
export type SingleSignOnChangeRow = {
  readonly id: string
  /** JSON of the request, without the secret. */
  readonly settings: string
  readonly clientSecretSealed: Buffer | null
  readonly proposedBy: string
  readonly proposedByName: string
  readonly proposedAt: Date
  readonly expiresAt: Date
}

const changeColumns = sql`id, settings::text as settings, client_secret_sealed, proposed_by, proposed_by_name, proposed_at,
  expires_at`

/** Reads the pending change, unless it has expired. */
export function pendingChange(tx: Tx, partnerId: string, now: Date): Promise<SingleSignOnChangeRow | undefined> {
  return tx.row<SingleSignOnChangeRow>(sql`/* users.pendingChange */
    select ${changeColumns} from users.single_sign_on_changes where partner_id = ${partnerId} and expires_at > ${now}`)
}

/** Deletes a change, so that it is decided once. Undefined: it was decided or replaced, or has expired. */
export function deletePendingChange(
  tx: Tx,
  partnerId: string,
  id: string,
  now: Date,
): Promise<SingleSignOnChangeRow | undefined> {
  return tx.row<SingleSignOnChangeRow>(sql`/* users.deletePendingChange */
    delete from users.single_sign_on_changes where partner_id = ${partnerId} and id = ${id} and expires_at > ${now}
    returning ${changeColumns}`)
}

/** Stores a change in place of the previous one. */
export async function replacePendingChange(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  row: SingleSignOnChangeRow,
): Promise<void> {
  await tx.run(sql`/* users.replacePendingChange */
    insert into users.single_sign_on_changes (partner_id, id, settings, client_secret_sealed, proposed_by,
      proposed_by_name, proposed_at, expires_at)
    values (${partnerId}, ${row.id}, ${row.settings}::jsonb, ${row.clientSecretSealed}, ${row.proposedBy},
      ${row.proposedByName}, ${row.proposedAt}, ${row.expiresAt})
    on conflict (partner_id) do update set id = excluded.id, settings = excluded.settings,
      client_secret_sealed = excluded.client_secret_sealed, proposed_by = excluded.proposed_by,
      proposed_by_name = excluded.proposed_by_name, proposed_at = excluded.proposed_at, expires_at = excluded.expires_at`)
}

/** Locks all Admins and returns their ids. Their ways to sign in cannot change until the end of the transaction. */
export async function lockAdmins(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(sql`/* users.lockAdmins */
    select id from users.members where partner_id = ${partnerId} and removed_at is null and role = 'Admin'
    order by id for no key update`)
  return rows.map(({ id }) => id)
}

/**
 * Reports why the provider cannot add an address: it has a pending invitation (`invited`), or belongs or belonged to a
 * member (`unknown`).
 */
export async function addressStatus(
  tx: Tx,
  partnerId: string,
  emailKey: string,
  now: Date,
): Promise<'invited' | 'unknown' | undefined> {
  const row = await tx.row<{ readonly known: 'invited' | 'unknown' }>(sql`/* users.addressStatus */
    select 'invited' as known from users.invitations
    where partner_id = ${partnerId} and email_key = ${emailKey} and status = 'Pending' and expires_at > ${now}
    union all
    select 'unknown' from users.members where partner_id = ${partnerId} and email_key = ${emailKey}
    limit 1`)
  return row?.known
}

// Sealed client secrets: those in use, and those of a change that waits.

export const clientSecretContext = (partnerId: string): readonly string[] => [
  'users.single_sign_on.client_secret_sealed',
  partnerId,
]

export const sealedClientSecrets: SealedColumn = {
  table: 'users.single_sign_on',
  column: 'client_secret_sealed',
  key: { partner_id: 'uuid' },
  contextOf: (partnerId) => clientSecretContext(partnerId),
}

export const pendingSecretContext = (partnerId: string): readonly string[] => [
  'users.single_sign_on_changes.client_secret_sealed',
  partnerId,
]

export const sealedPendingSecrets: SealedColumn = {
  table: 'users.single_sign_on_changes',
  column: 'client_secret_sealed',
  key: { partner_id: 'uuid' },
  contextOf: (partnerId) => pendingSecretContext(partnerId),
}

// Guest links.

export type GuestLinkRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly access: guestLinks.GuestAccess
  readonly madeById: string
  readonly madeByName: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly openedAt: Date | null
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

const linkColumns = sql`id, email, full_name, access, made_by_id, made_by_name, created_at, expires_at, opened_at, last_used_at,
  revoked_at`

export async function insertLink(
  tx: Tx,
  _permitted: Permit,
  partnerId: string,
  { tokenHash, ...row }: GuestLinkRow & { readonly tokenHash: Buffer },
): Promise<void> {
  await tx.run(sql`/* users.insertLink */
    insert into users.guest_links (partner_id, id, email, full_name, access, made_by_id, made_by_name, token_hash, created_at,
      expires_at)
    values (${partnerId}, ${row.id}, ${row.email}, ${row.fullName}, ${row.access}, ${row.madeById}, ${row.madeByName},
      ${tokenHash}, ${row.createdAt}, ${row.expiresAt})`)
}

export function listLinks(
  tx: Tx,
  partnerId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly GuestLinkRow[]> {
  return tx.rows<GuestLinkRow>(sql`/* users.listLinks */
    select ${linkColumns} from users.guest_links where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}

export function linkById(tx: Tx, partnerId: string, id: string): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.linkById */
    select ${linkColumns} from users.guest_links where partner_id = ${partnerId} and id = ${id}`)
}

/** Finds the link of a token, unless it was opened, was revoked or has expired. */
export function pendingLink(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.pendingLink */
    select ${linkColumns} from users.guest_links
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and opened_at is null and revoked_at is null
      and expires_at > ${now}`)
}

/** Opens a link once. A second request at the same time waits for the row and finds the link opened. */
export function openLink(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  { sessionHash, ip, now }: { readonly sessionHash: Buffer; readonly ip: string; readonly now: Date },
): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.openLink */
    update users.guest_links
    set session_hash = ${sessionHash}, opened_at = ${now}, opened_ip = ${ip}, last_used_at = ${now}
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and opened_at is null and revoked_at is null
      and expires_at > ${now}
    returning ${linkColumns}`)
}

export function linkOfSession(
  tx: Tx,
  partnerId: string,
  sessionHash: Buffer,
  now: Date,
): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.linkOfSession */
    select ${linkColumns} from users.guest_links
    where partner_id = ${partnerId} and session_hash = ${sessionHash} and revoked_at is null and expires_at > ${now}`)
}

export async function recordLinkUse(tx: Tx, partnerId: string, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.recordLinkUse */
    update users.guest_links set last_used_at = greatest(last_used_at, ${now})
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Revokes a link. Undefined: there is none, or it has ended. */
export function revokeLink(tx: Tx, partnerId: string, id: string, now: Date): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.revokeLink */
    update users.guest_links set revoked_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null and expires_at > ${now}
    returning ${linkColumns}`)
}

/** Revokes the links of a maker, so that they do not work again when the maker gets the permission back. */
export async function revokeLinksOf(tx: Tx, partnerId: string, makerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.revokeLinksOf */
    update users.guest_links set revoked_at = ${now}
    where partner_id = ${partnerId} and made_by_id = ${makerId} and revoked_at is null and expires_at > ${now}`)
}
