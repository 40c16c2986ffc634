/** The SQL of access. */
import type { Permission } from '@partner-payments/wire'
import type { Nonce } from '../api/index.ts'
import { dueWork, insertBy, ofPartners, type RowOf, sql, type Tx } from '../postgres/index.ts'

export type ServiceAccountRow = {
  readonly partnerId: string
  readonly id: string
  readonly name: string
  readonly apiKey: string
  readonly apiSecretSealed: Buffer
  readonly publicKeyPem: string
  /** Separated by spaces. The row is read often, and the list is parsed only if the row has changed. */
  readonly permissions: string
  /** Separated by spaces. */
  readonly allowedAddresses: string
  readonly impersonatedBy: string | null
  readonly expiresAt: Date | null
}
/** The maker of a service account: a person of the partner or another service account. */
export type Issuer = { readonly id: string; readonly name: string }
type NewServiceAccount = Omit<ServiceAccountRow, 'permissions' | 'allowedAddresses'> & {
  /** Null: the operator. */
  readonly issuer: Issuer | null
  readonly permissions: readonly Permission[]
  readonly allowedAddresses: readonly string[]
}

export async function insertPartner(tx: Tx, id: string, name: string, now: Date): Promise<void> {
  await tx.run(
    sql`/* access.insertPartner */ insert into access.partners (id, name, created_at) values (${id}, ${name}, ${now})`,
  )
}

const partnerNameTypes = { partnerId: 'uuid', id: 'uuid', role: 'text', nameSealed: 'bytea' } as const
const newPartnerNames = insertBy<RowOf<typeof partnerNameTypes>>(partnerNameTypes, [])

/** Replaces the names of a partner that are not in its own row. */
export async function replacePartnerNames(
  tx: Tx,
  partnerId: string,
  rows: readonly RowOf<typeof partnerNameTypes>[],
): Promise<void> {
  await tx.run(sql`/* access.replacePartnerNames */ delete from access.partner_names where partner_id = ${partnerId}`)
  if (rows.length > 0)
    await tx.run(sql`/* access.replacePartnerNames */
      insert into access.partner_names (partner_id, id, role, name_sealed) ${newPartnerNames(tx, rows)}`)
}

export function namesOfOwners(
  tx: Tx,
  partnerId: string,
): Promise<readonly { readonly id: string; readonly role: string; readonly nameSealed: Uint8Array }[]> {
  return tx.rows(sql`/* access.namesOfOwners */
    select id, role, name_sealed from access.partner_names where partner_id = ${partnerId} order by role`)
}

export async function insertOperator(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* access.insertOperator */
    insert into access.partners (id, name, created_at) values (${id}, 'Operator', ${now}) on conflict do nothing`)
}

export function partnerById(tx: Tx, id: string): Promise<{ readonly id: string; readonly name: string } | undefined> {
  return tx.row(sql`/* access.partnerById */ select id, name from access.partners where id = ${id}`)
}

/** Every node of a sharded database has this table. */
export const allPartnerIds = sql`/* access.partnerById */ select id from access.partners order by id`

export async function partnerIds(tx: Tx): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(allPartnerIds)
  return rows.map((row) => row.id)
}

export type PartnerRow = { readonly id: string; readonly name: string; readonly createdAt: Date }

export function partnerRow(tx: Tx, id: string): Promise<PartnerRow | undefined> {
  return tx.row<PartnerRow>(
    sql`/* access.partnerRow */ select id, name, created_at from access.partners where id = ${id}`,
  )
}

/** Newest first, after one of them. Null: from the newest. */
export function partnersPage(tx: Tx, afterId: string | null, rowsMax: number): Promise<readonly PartnerRow[]> {
  return tx.rows<PartnerRow>(sql`/* access.partnersPage */
    select id, name, created_at from access.partners
    where ${afterId}::uuid is null or id < ${afterId}::uuid order by id desc limit ${rowsMax}`)
}

export async function insertServiceAccount(tx: Tx, row: NewServiceAccount, now: Date): Promise<void> {
  await tx.run(sql`/* access.insertServiceAccount */
    insert into access.service_accounts (partner_id, id, name, api_key, api_secret_sealed, public_key_pem, permissions,
      allowed_addresses, impersonated_by, issued_by, issued_by_name, expires_at, created_at)
    values (${row.partnerId}, ${row.id}, ${row.name}, ${row.apiKey}, ${row.apiSecretSealed}, ${row.publicKeyPem},
      ${row.permissions}::text[], ${row.allowedAddresses}::text[], ${row.impersonatedBy},
      ${row.issuer?.id ?? null}, ${row.issuer?.name ?? null}, ${row.expiresAt}, ${now})`)
}

/** The service accounts of these keys. May return more: partners and keys are matched independently. */
export function serviceAccountsByKey(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly apiKey: string }[],
): Promise<readonly ServiceAccountRow[]> {
  return tx.rows<ServiceAccountRow>(sql`/* access.serviceAccountsByKey */
    select partner_id, id, name, api_key, api_secret_sealed, public_key_pem,
      array_to_string(permissions, ' ') as permissions,
      array_to_string(allowed_addresses, ' ') as allowed_addresses, impersonated_by, expires_at
    from access.service_accounts
    where ${ofPartners(keys.map((key) => key.partnerId))} and api_key = any(${keys.map((key) => key.apiKey)}::text[])
      and revoked_at is null`)
}

export function serviceAccountById(tx: Tx, partnerId: string, id: string): Promise<ServiceAccountRow | undefined> {
  return tx.row<ServiceAccountRow>(sql`/* access.serviceAccountById */
    select partner_id, id, name, api_key, api_secret_sealed, public_key_pem,
      array_to_string(permissions, ' ') as permissions,
      array_to_string(allowed_addresses, ' ') as allowed_addresses, impersonated_by, expires_at
    from access.service_accounts
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null`)
}

/** The maker of a service account. Undefined: the operator, or no service account has the id. */
export function issuerOf(tx: Tx, partnerId: string, id: string): Promise<Issuer | undefined> {
  return tx.row<Issuer>(sql`/* access.issuerOf */
    select issued_by as id, issued_by_name as name from access.service_accounts
    where partner_id = ${partnerId} and id = ${id} and issued_by is not null`)
}

export function revokeServiceAccount(tx: Tx, partnerId: string, id: string, now: Date): Promise<number> {
  return tx.run(sql`/* access.revokeServiceAccount */
    update access.service_accounts set revoked_at = ${now}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null`)
}

const newNonces = insertBy<Nonce>(
  { partnerId: 'uuid', serviceAccountId: 'uuid', nonce: 'uuid', expiresAt: 'timestamptz' },
  [['partnerId', 'serviceAccountId'], ['expiresAt']],
  ['partnerId', 'serviceAccountId', 'nonce'],
)

/**
 * Returns the nonces that were new. A concurrent insert of the same nonce waits for the first and then returns no row.
 * The order by key prevents a deadlock between two batches with the same nonces.
 */
export function insertNonces(tx: Tx, rows: readonly Nonce[]): Promise<readonly Omit<Nonce, 'expiresAt'>[]> {
  return tx.rows(sql`/* access.insertNonces */
    insert into access.nonces (partner_id, service_account_id, nonce, expires_at) ${newNonces(tx, rows)}
    on conflict (partner_id, service_account_id, nonce) do nothing
    returning partner_id, service_account_id, replace(nonce::text, '-', '') as nonce`)
}

/** Partners after `afterId` that have expired nonces, in the order of their ids. */
export async function partnersWithExpiredNonces(
  tx: Tx,
  now: Date,
  afterId: string,
  partnersMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(
    dueWork(
      'finds partners with expired nonces, without a lock',
      (whose) => sql`/* access.partnersWithExpiredNonces */
      select distinct partner_id as id from access.service_accounts
      where partner_id > ${afterId} and ${whose(sql`service_accounts.partner_id`)} and exists (
        select from access.nonces
        where nonces.partner_id = service_accounts.partner_id and nonces.expires_at < ${now})
      order by partner_id limit ${partnersMax}`,
    ),
  )
  return rows.map((row) => row.id)
}

/**
 * Uses a join: with a list of pairs PostgreSQL compares each row with the whole list, which takes minutes for one
 * account.
 */
export function deleteExpiredNonces(tx: Tx, partnerId: string, now: Date, noncesMax: number): Promise<number> {
  return tx.run(sql`/* access.deleteExpiredNonces */
    delete from access.nonces using (
      select service_account_id, nonce from access.nonces
      where partner_id = ${partnerId} and expires_at < ${now} limit ${noncesMax}) as expired
    where nonces.partner_id = ${partnerId} and nonces.service_account_id = expired.service_account_id
      and nonces.nonce = expired.nonce`)
}
