/** All SQL of payment links. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { PageRequest } from '../kernel/api/index.ts'
import { noSql, sql, type Tx } from '../postgres/index.ts'

export type LinkRow = {
  readonly partnerId: string
  readonly id: string
  readonly customerId: string
  readonly tokenHash: Uint8Array
  readonly tokenSealed: Uint8Array
  readonly currency: Currency
  /** Null: the payer enters an amount between the two bounds. */
  readonly amount: Minor | null
  readonly amountMin: Minor | null
  readonly amountMax: Minor | null
  readonly description: string | null
  /** JSON array. */
  readonly lineItems: string | null
  readonly websiteReference: string | null
  /** JSON object. */
  readonly customFields: string | null
  readonly returnUrl: string | null
  readonly sessionSeconds: number
  readonly endsAt: Date | null
  readonly paymentsMax: number | null
  readonly isActive: boolean
  /** Payments of sessions that are no longer counted as open. */
  readonly paidCount: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = sql`partner_id, id, customer_id, token_hash, token_sealed, currency, amount, amount_min, amount_max, description,
  line_items, website_reference, custom_fields, return_url, session_seconds, ends_at, payments_max, is_active, paid_count,
  created_at, updated_at`

export async function insertLink(tx: Tx, row: LinkRow): Promise<void> {
  await tx.run(sql`/* checkout.insertLink */
    insert into checkout.links (${columns})
    values (${row.partnerId}, ${row.id}, ${row.customerId}, ${row.tokenHash}, ${row.tokenSealed}, ${row.currency},
      ${row.amount}, ${row.amountMin}, ${row.amountMax}, ${row.description}, ${row.lineItems}::jsonb, ${row.websiteReference},
      ${row.customFields}, ${row.returnUrl}, ${row.sessionSeconds}, ${row.endsAt}, ${row.paymentsMax}, ${row.isActive},
      ${row.paidCount}, ${row.createdAt}, ${row.updatedAt})`)
}

export function linkById(tx: Tx, partnerId: string, id: string): Promise<LinkRow | undefined> {
  return tx.row<LinkRow>(sql`/* checkout.linkById */
    select ${columns} from checkout.links where partner_id = ${partnerId} and id = ${id}`)
}

export function linkByToken(tx: Tx, partnerId: string, hash: Uint8Array): Promise<LinkRow | undefined> {
  return tx.row<LinkRow>(sql`/* checkout.linkByToken */
    select ${columns} from checkout.links where partner_id = ${partnerId} and token_hash = ${hash}`)
}

/** Locks a link, so that sessions are opened one after the other and each opening counts the earlier ones. */
export function lockLink(tx: Tx, partnerId: string, id: string): Promise<LinkRow | undefined> {
  return tx.row<LinkRow>(sql`/* checkout.lockLink */
    select ${columns} from checkout.links where partner_id = ${partnerId} and id = ${id} for update`)
}

export function listLinks(
  tx: Tx,
  partnerId: string,
  isActive: boolean | null,
  { limit, afterId }: PageRequest,
): Promise<readonly LinkRow[]> {
  return tx.rows<LinkRow>(sql`/* checkout.listLinks */
    select ${columns} from checkout.links where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${isActive === null ? noSql : sql`and is_active = ${isActive}`}
    order by id desc limit ${limit + 1}`)
}

/** Updates a link. The caller holds its lock. */
export async function updateLink(
  tx: Tx,
  { partnerId, id, description, endsAt, paymentsMax, isActive, updatedAt }: LinkRow,
): Promise<void> {
  await tx.run(sql`/* checkout.updateLink */
    update checkout.links set description = ${description}, ends_at = ${endsAt}, payments_max = ${paymentsMax},
      is_active = ${isActive}, updated_at = ${updatedAt}
    where partner_id = ${partnerId} and id = ${id}`)
}

export type LinkSession = {
  readonly id: string
  readonly linkId: string
  readonly depositId: string
  readonly openedBy: Uint8Array | null
}

/** Lists the sessions that these links count as open, by a partial index. Each link has at most `linkSessionsOpenMax`. */
export function listOpenSessions(
  tx: Tx,
  partnerId: string,
  linkIds: readonly string[],
): Promise<readonly LinkSession[]> {
  return tx.rows<LinkSession>(sql`/* checkout.listOpenSessions */
    select id, link_id, deposit_id, opened_by from checkout.sessions
    where partner_id = ${partnerId} and link_id = any(${linkIds}::uuid[]) and link_open`)
}

/** Counts the payments of ended sessions, once: the caller holds the lock of the link. */
export async function countEndedSessions(
  tx: Tx,
  { partnerId, id }: Pick<LinkRow, 'partnerId' | 'id'>,
  sessionIds: readonly string[],
  paid: number,
): Promise<void> {
  await tx.run(sql`/* checkout.countEndedSessions */
    update checkout.sessions set link_open = false, opened_by = null
    where partner_id = ${partnerId} and id = any(${sessionIds}::uuid[]) and link_open`)
  await tx.run(sql`/* checkout.countEndedSessions */
    update checkout.links set paid_count = paid_count + ${paid} where partner_id = ${partnerId} and id = ${id}`)
}
