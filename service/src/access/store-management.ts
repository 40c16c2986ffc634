/** The SQL of the operator's lists and changes of partners and credentials. */
import { minuteMs } from '../kernel/index.ts'
import type { PageRequest } from '../kernel/api/index.ts'
import { acrossPartners, columnOf, noSql, ofPartners, sql, type Tx } from '../postgres/index.ts'

export type PartnerRow = { readonly partnerId: string; readonly name: string; readonly createdAt: Date }
type CredentialTotals = {
  readonly partnerId: string
  readonly serviceAccounts: number
  readonly lastUsedAt: Date | null
}
export type CredentialRow = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly apiKey: string
  readonly permissions: readonly string[]
  readonly allowedAddresses: readonly string[]
  readonly impersonatedBy: string | null
  /** The maker. Null: the operator. */
  readonly issuedBy: string | null
  readonly issuedByName: string | null
  readonly replaces: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}
export type Use = { readonly partnerId: string; readonly id: string; readonly usedAt: Date }

export function partners(tx: Tx): Promise<readonly PartnerRow[]> {
  return tx.rows<PartnerRow>(
    sql`/* access.partners */ select id as partner_id, name, created_at from access.partners order by id`,
  )
}

export async function namesOf(tx: Tx, partnerIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (partnerIds.length === 0) return new Map()
  const rows = await tx.rows<{ readonly id: string; readonly name: string }>(sql`/* access.namesOf */
    select id, name from access.partners where id = any(${[...new Set(partnerIds)]}::uuid[])`)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Counts each partner's valid service accounts and reads the last use of any of its credentials. */
export function credentialTotals(tx: Tx, now: Date): Promise<readonly CredentialTotals[]> {
  return tx.rows<CredentialTotals>(
    acrossPartners(
      'an operator lists the partners with their credentials',
      sql`/* access.credentialTotals */
        select partner_id, max(last_used_at) as last_used_at,
          (count(*) filter (where impersonated_by is null and revoked_at is null
            and (expires_at is null or expires_at > ${now})))::integer as service_accounts
        from access.service_accounts group by partner_id`,
    ),
  )
}

const credential = sql`partner_id, id as service_account_id, name, api_key, permissions, allowed_addresses, impersonated_by,
  issued_by, issued_by_name, replaces, created_at, expires_at, revoked_at, last_used_at`

export function credentials(tx: Tx, partnerId: string): Promise<readonly CredentialRow[]> {
  return tx.rows<CredentialRow>(sql`/* access.credentials */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} order by id`)
}

const active = (now: Date) => sql`revoked_at is null and (expires_at is null or expires_at > ${now})`

/** Conditions of each status at a time. */
const conditions = {
  valid: active,
  expired: (now: Date) => sql`revoked_at is null and expires_at <= ${now}`,
  revoked: () => sql`revoked_at is not null`,
}
export type CredentialStatus = keyof typeof conditions

/** Lists the newest first, after one of them. */
export function credentialsPage(
  tx: Tx,
  partnerId: string,
  { limit, afterId, status, now }: PageRequest & { readonly status: CredentialStatus | undefined; readonly now: Date },
): Promise<readonly CredentialRow[]> {
  return tx.rows<CredentialRow>(sql`/* access.credentialsPage */
    select ${credential} from access.service_accounts where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${status === undefined ? noSql : sql`and ${conditions[status](now)}`}
    order by id desc limit ${limit + 1}`)
}

/** Locks the row, so that of two changes at once the second one reads the first. */
export function lockCredential(tx: Tx, partnerId: string, id: string): Promise<CredentialRow | undefined> {
  return tx.row<CredentialRow>(sql`/* access.lockCredential */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} and id = ${id} for no key update`)
}

export function credentialRow(tx: Tx, partnerId: string, id: string): Promise<CredentialRow | undefined> {
  return tx.row<CredentialRow>(sql`/* access.credentialRow */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} and id = ${id}`)
}

/** Counts the service accounts that can sign a request, without impersonation sessions. */
export async function countActive(tx: Tx, partnerId: string, now: Date): Promise<number> {
  const row = await tx.row<{ readonly count: number }>(sql`/* access.countActive */
    select count(*)::integer as count from access.service_accounts
    where partner_id = ${partnerId} and impersonated_by is null and ${active(now)}`)
  return row?.count ?? 0
}

export async function changeCredential(tx: Tx, row: CredentialRow): Promise<void> {
  await tx.run(sql`/* access.changeCredential */
    update access.service_accounts set name = ${row.name}, permissions = ${row.permissions}::text[],
      allowed_addresses = ${row.allowedAddresses}::text[], expires_at = ${row.expiresAt}
    where partner_id = ${row.partnerId} and id = ${row.serviceAccountId}`)
}

/** Returns 0 if there is no such account or it is revoked. */
export function expireServiceAccount(tx: Tx, partnerId: string, id: string, at: Date): Promise<number> {
  return tx.run(sql`/* access.expireServiceAccount */
    update access.service_accounts set expires_at = ${at}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null`)
}

/** Expires every credential of the partner at `at`. An earlier end stays. */
export function expireAll(tx: Tx, partnerId: string, at: Date): Promise<number> {
  return tx.run(sql`/* access.expireAll */
    update access.service_accounts set expires_at = ${at}
    where partner_id = ${partnerId} and revoked_at is null and (expires_at is null or expires_at > ${at})`)
}

/** A time that no revocation uses. `openCredentials` finds by it the rows that `closeCredentials` closed. */
const closed = sql`'infinity'`

/** Closes every credential of the partner while it is moved. */
export async function closeCredentials(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* access.closeCredentials */
    update access.service_accounts set revoked_at = ${closed} where partner_id = ${partnerId} and revoked_at is null`)
}

export async function openCredentials(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* access.openCredentials */
    update access.service_accounts set revoked_at = null where partner_id = ${partnerId} and revoked_at = ${closed}`)
}

export async function setReplaces(tx: Tx, partnerId: string, id: string, replaced: string): Promise<void> {
  await tx.run(sql`/* access.setReplaces */
    update access.service_accounts set replaces = ${replaced} where partner_id = ${partnerId} and id = ${id}`)
}

/** Writes a use only if the last one is a minute old, so that several processes together write once a minute. */
export async function recordUses(tx: Tx, uses: readonly Use[]): Promise<void> {
  const column = columnOf(uses)
  const minuteBefore = uses.map(({ usedAt }) => new Date(usedAt.getTime() - minuteMs))
  await tx.run(sql`/* access.recordUses */
    update access.service_accounts account set last_used_at = input.used_at
    from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('usedAt')}::timestamptz[],
        ${minuteBefore}::timestamptz[]) as input (partner_id, id, used_at, minute_before)
    where ${ofPartners(column('partnerId'), sql`account.partner_id`)} and account.partner_id = input.partner_id
      and account.id = input.id
      and (account.last_used_at is null or account.last_used_at <= input.minute_before)`)
}

/** Reports whether the credentials of the partner are closed for a move. */
export async function isClosed(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row(sql`/* access.isClosed */
    select id from access.service_accounts where partner_id = ${partnerId} and revoked_at = ${closed} limit 1`)
  return row !== undefined
}
