/** The SQL of guest links. */
import type { guestLinks as wire } from '@partner-payments/wire'
import type { PageRequest } from '../../kernel/api/index.ts'
import { noSql, sql, type Tx } from '../../postgres/index.ts'
import type { Permitted } from './giving.ts'

export type GuestLinkRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly access: wire.GuestAccess
  readonly madeById: string
  readonly madeByName: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly openedAt: Date | null
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

const columns = sql`id, email, full_name, access, made_by_id, made_by_name, created_at, expires_at, opened_at, last_used_at,
  revoked_at`

export async function insertLink(
  tx: Tx,
  _permitted: Permitted,
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
    select ${columns} from users.guest_links where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}

export function linkById(tx: Tx, partnerId: string, id: string): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.linkById */
    select ${columns} from users.guest_links where partner_id = ${partnerId} and id = ${id}`)
}

/** The link of a token that is not opened, revoked or expired. */
export function pendingLink(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.pendingLink */
    select ${columns} from users.guest_links
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and opened_at is null and revoked_at is null
      and expires_at > ${now}`)
}

/** Opens a link once: of two at the same time the second one waits for the row, and finds it opened. */
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
    returning ${columns}`)
}

export function linkOfSession(
  tx: Tx,
  partnerId: string,
  sessionHash: Buffer,
  now: Date,
): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.linkOfSession */
    select ${columns} from users.guest_links
    where partner_id = ${partnerId} and session_hash = ${sessionHash} and revoked_at is null and expires_at > ${now}`)
}

export async function recordLinkUse(tx: Tx, partnerId: string, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.recordLinkUse */
    update users.guest_links set last_used_at = greatest(last_used_at, ${now})
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Undefined: the link has ended, or there is none. */
export function revokeLink(tx: Tx, partnerId: string, id: string, now: Date): Promise<GuestLinkRow | undefined> {
  return tx.row<GuestLinkRow>(sql`/* users.revokeLink */
    update users.guest_links set revoked_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null and expires_at > ${now}
    returning ${columns}`)
}

/** Ends the links of a maker for good, so that they do not come back with the permission. */
export async function revokeLinksOf(tx: Tx, partnerId: string, makerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.revokeLinksOf */
    update users.guest_links set revoked_at = ${now}
    where partner_id = ${partnerId} and made_by_id = ${makerId} and revoked_at is null and expires_at > ${now}`)
}
