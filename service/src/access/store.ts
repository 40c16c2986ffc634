/** All SQL of access. */
import type { Permission } from '@partner-payments/wire'
import type { Nonce } from '../api/index.ts'
import { givenBy, ofPartners, sql, type Tx } from '../postgres/index.ts'

export type ServiceAccountRow = {
  readonly partnerId: string
  readonly id: string
  readonly name: string
  readonly apiKey: string
  readonly apiSecretSealed: Buffer
  readonly publicKeyPem: string
  readonly permissions: readonly Permission[]
  readonly impersonatedBy: string | null
  readonly expiresAt: Date | null
}
/** As it is read again and again: its permissions are a text with spaces, made into a list where they have changed. */
export type ServiceAccountRead = Omit<ServiceAccountRow, 'permissions'> & { readonly permissions: string }

export async function insertPartner(tx: Tx, id: string, name: string, now: Date): Promise<void> {
  await tx.run(sql`insert into access.partners (id, name, created_at) values (${id}, ${name}, ${now})`)
}

export function partnerById(tx: Tx, id: string): Promise<{ readonly id: string; readonly name: string } | undefined> {
  return tx.row(sql`select id, name from access.partners where id = ${id}`)
}

export async function partnerIds(tx: Tx): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`select id from access.partners order by id`)
  return rows.map((row) => row.id)
}

export async function insertServiceAccount(tx: Tx, row: ServiceAccountRow, now: Date): Promise<void> {
  await tx.run(sql`
    insert into access.service_accounts (partner_id, id, name, api_key, api_secret_sealed, public_key_pem, permissions,
      impersonated_by, expires_at, created_at)
    values (${row.partnerId}, ${row.id}, ${row.name}, ${row.apiKey}, ${row.apiSecretSealed}, ${row.publicKeyPem},
      ${row.permissions}::text[], ${row.impersonatedBy}, ${row.expiresAt}, ${now})`)
}

/** The accounts of these keys, and perhaps others of the same partners. */
export function serviceAccountsByKey(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly apiKey: string }[],
): Promise<readonly ServiceAccountRead[]> {
  return tx.rows<ServiceAccountRead>(sql`
    select partner_id, id, name, api_key, api_secret_sealed, public_key_pem,
      array_to_string(permissions, ' ') as permissions, impersonated_by, expires_at
    from access.service_accounts
    where ${ofPartners(keys.map((key) => key.partnerId))} and api_key = any(${keys.map((key) => key.apiKey)}::text[])
      and revoked_at is null`)
}

export function revokeServiceAccount(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`
    update access.service_accounts set revoked_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null`)
}

const givenNonces = givenBy<Nonce>(
  { partnerId: 'uuid', serviceAccountId: 'uuid', nonce: 'uuid', expiresAt: 'timestamptz' },
  [['partnerId', 'serviceAccountId'], ['expiresAt']],
)

/**
 * Answers those that were new; a concurrent twin waits for the first and is then not among them. In the order of their
 * keys, so that two batches with the same nonces cannot wait for each other.
 */
export function insertNonces(tx: Tx, rows: readonly Nonce[]): Promise<readonly Omit<Nonce, 'expiresAt'>[]> {
  return tx.rows(sql`
    insert into access.nonces (partner_id, service_account_id, nonce, expires_at) ${givenNonces(rows)}
    order by partner_id, service_account_id, nonce
    on conflict (partner_id, service_account_id, nonce) do nothing
    returning partner_id, service_account_id, replace(nonce::text, '-', '') as nonce`)
}

/** Which partners have nonces to forget, from behind `afterId`: the unlocked read of the sweep (it names no partner by design). */
export async function partnersWithExpiredNonces(
  tx: Tx,
  now: Date,
  afterId: string,
  partnersMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    select id from access.partners where id > ${afterId} and exists (
      select from access.nonces where nonces.partner_id = partners.id and nonces.expires_at < ${now})
    order by id limit ${partnersMax}`)
  return rows.map((row) => row.id)
}

/** A join, not a list of pairs: PostgreSQL holds each row against all of such a list, which takes minutes for one account. */
export function deleteExpiredNonces(tx: Tx, partnerId: string, now: Date, noncesMax: number): Promise<number> {
  return tx.run(sql`
    delete from access.nonces n using (
      select service_account_id, nonce from access.nonces
      where partner_id = ${partnerId} and expires_at < ${now} limit ${noncesMax}) as expired
    where n.partner_id = ${partnerId} and n.service_account_id = expired.service_account_id and n.nonce = expired.nonce`)
}
