/** The SQL of access. */
import type { Permission } from '@partner-payments/wire'
import type { Nonce, PageRequest } from '../kernel/api/index.ts'
import {
  acrossPartners,
  columnValues,
  dueWork,
  insertBy,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
} from '../postgres/index.ts'
import { minuteMs } from '../kernel/index.ts'

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
/** The creator of a service account: a member of the partner's team or another service account. */
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

/** Replaces the names of a partner, except the name in the row of the partner itself. */
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

export function otherPartnerNames(
  tx: Tx,
  partnerId: string,
): Promise<readonly { readonly id: string; readonly role: string; readonly nameSealed: Uint8Array }[]> {
  return tx.rows(sql`/* access.otherPartnerNames */
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
export const allPartnerIds = sql`/* access.allPartnerIds */ select id from access.partners order by id`

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

/** Lists partners older than the cursor, newest first. Null: from the newest. */
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

/** Reads the service accounts of keys. May return others too, because partners and keys are matched independently. */
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

/** Reads who created a service account. Undefined: the operator, or no account has the id. */
export function serviceAccountIssuer(tx: Tx, partnerId: string, id: string): Promise<Issuer | undefined> {
  return tx.row<Issuer>(sql`/* access.serviceAccountIssuer */
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
 * Inserts nonces, and returns the new ones. A concurrent insert of the same nonce waits for the first and does not return it.
 * The order by key prevents a deadlock between two batches with the same nonces.
 */
export function insertNonces(tx: Tx, rows: readonly Nonce[]): Promise<readonly Omit<Nonce, 'expiresAt'>[]> {
  return tx.rows(sql`/* access.insertNonces */
    insert into access.nonces (partner_id, service_account_id, nonce, expires_at) ${newNonces(tx, rows)}
    on conflict (partner_id, service_account_id, nonce) do nothing
    returning partner_id, service_account_id, replace(nonce::text, '-', '') as nonce`)
}

/** Finds partners after `afterId` with expired nonces, in the order of their ids. */
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
 * Deletes expired nonces. Uses a join, because with a list of pairs PostgreSQL compares each row with the whole list, which
 * takes minutes for one account.
 */
export function deleteExpiredNonces(tx: Tx, partnerId: string, now: Date, noncesMax: number): Promise<number> {
  return tx.run(sql`/* access.deleteExpiredNonces */
    delete from access.nonces using (
      select service_account_id, nonce from access.nonces
      where partner_id = ${partnerId} and expires_at < ${now} limit ${noncesMax}) as expired
    where nonces.partner_id = ${partnerId} and nonces.service_account_id = expired.service_account_id
      and nonces.nonce = expired.nonce`)
}

// The SQL of the master keys that a database knows. All partners share the table.

export type MasterKeyRow = { readonly keyId: string; readonly checkValue: Buffer; readonly createdAt: Date }
export type SealedSample = { readonly partnerId: string; readonly id: string; readonly sealed: Buffer }

/** Lists the tables that the migrations have created so far. */
export async function existingTables(
  tx: Tx,
): Promise<{ readonly masterKeys: boolean; readonly serviceAccounts: boolean }> {
  const row = await tx.row<{ masterKeys: boolean; serviceAccounts: boolean }>(sql`/* access.existingTables */
    select to_regclass('access.master_keys') is not null as master_keys,
      to_regclass('access.service_accounts') is not null as service_accounts`)
  return row ?? { masterKeys: false, serviceAccounts: false }
}

export function masterKeys(tx: Tx): Promise<readonly MasterKeyRow[]> {
  return tx.rows<MasterKeyRow>(
    sql`/* access.masterKeys */ select key_id, check_value, created_at from access.master_keys order by created_at`,
  )
}

/** Locks the key records, so that no other process records a key until the transaction ends. */
export async function lockMasterKeys(tx: Tx): Promise<void> {
  await tx.run(sql`/* access.lockMasterKeys */ lock table access.master_keys in share row exclusive mode`)
}

export async function insertMasterKey(tx: Tx, row: Omit<MasterKeyRow, 'createdAt'>, now: Date): Promise<void> {
  await tx.run(sql`/* access.insertMasterKey */
    insert into access.master_keys (key_id, check_value, created_at)
    values (${row.keyId}, ${row.checkValue}, ${now}) on conflict (key_id) do nothing`)
}

/** Deletes the records of keys that no longer seal a value. Returns their ids. */
export async function deleteOtherKeys(tx: Tx, keyId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly keyId: string }>(sql`/* access.deleteOtherKeys */
    delete from access.master_keys where key_id <> ${keyId} returning key_id`)
  return rows.map((row) => row.keyId)
}

/** Reads one API secret of each key. Bytes 2 to 5 of a sealed value are the id of its key (`kernel/seal.ts`). */
export function sealedSamples(tx: Tx): Promise<readonly SealedSample[]> {
  return tx.rows<SealedSample>(
    acrossPartners(
      'the keys of a database that has recorded none are found by one scan, once',
      sql`/* access.sealedSamples */
        select distinct on (substring(api_secret_sealed from 2 for 4)) partner_id, id, api_secret_sealed as sealed
        from access.service_accounts order by substring(api_secret_sealed from 2 for 4), partner_id, id`,
    ),
  )
}

// The SQL of support sessions. A session is open as long as the service account of its impersonation is valid.

export type SupportSessionRow = {
  readonly partnerId: string
  readonly id: string
  readonly staff: string
  readonly reason: string
  /** Separated by spaces. */
  readonly permissions: string
  readonly createdAt: Date
  readonly expiresAt: Date
}
type NewSupport = Pick<SupportSessionRow, 'partnerId' | 'id' | 'reason' | 'createdAt'> & {
  readonly codeHash: Buffer
  readonly codeExpiresAt: Date
}

export async function insertSupportSession(tx: Tx, row: NewSupport): Promise<void> {
  await tx.run(sql`/* access.insertSupportSession */
    insert into access.support_sessions (partner_id, id, reason, code_hash, code_expires_at, created_at)
    values (${row.partnerId}, ${row.id}, ${row.reason}, ${row.codeHash}, ${row.codeExpiresAt}, ${row.createdAt})`)
}

const open = (now: Date) => sql`account.revoked_at is null and account.expires_at > ${now}
  and account.impersonated_by is not null`

/** Uses a code once. A second request at the same time waits for the row and finds the code used. */
export async function redeemSupportCode(
  tx: Tx,
  partnerId: string,
  { codeHash, tokenHash, now }: { readonly codeHash: Buffer; readonly tokenHash: Buffer; readonly now: Date },
): Promise<boolean> {
  const used = await tx.run(sql`/* access.redeemSupportCode */
    update access.support_sessions support set code_hash = null, token_hash = ${tokenHash}
    from access.service_accounts account
    where support.partner_id = ${partnerId} and account.partner_id = ${partnerId} and account.id = support.id
      and support.code_hash = ${codeHash} and support.code_expires_at > ${now} and ${open(now)}`)
  return used === 1
}

export function supportSessionByToken(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  now: Date,
): Promise<SupportSessionRow | undefined> {
  return tx.row<SupportSessionRow>(sql`/* access.supportSessionByToken */
    select support.partner_id, support.id, account.impersonated_by as staff, support.reason,
      array_to_string(account.permissions, ' ') as permissions, support.created_at, account.expires_at
    from access.support_sessions support
    join access.service_accounts account on account.partner_id = support.partner_id and account.id = support.id
    where support.partner_id = ${partnerId} and support.token_hash = ${tokenHash} and account.partner_id = ${partnerId}
      and ${open(now)}`)
}

// The SQL by which the operator lists and changes partners and credentials.

export type ListedPartnerRow = { readonly partnerId: string; readonly name: string; readonly createdAt: Date }
type CredentialTotals = {
  readonly partnerId: string
  readonly serviceAccounts: number
  readonly lastUsedAt: Date | null
}
export type CredentialRow = Pick<
  ServiceAccountRow,
  'partnerId' | 'name' | 'apiKey' | 'impersonatedBy' | 'expiresAt'
> & {
  readonly serviceAccountId: string
  readonly permissions: readonly string[]
  readonly allowedAddresses: readonly string[]
  /** The person or key that created the service account. Null: the operator. */
  readonly issuedBy: string | null
  readonly issuedByName: string | null
  readonly replaces: string | null
  readonly createdAt: Date
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}
export type CredentialUse = { readonly partnerId: string; readonly id: string; readonly usedAt: Date }

export function listPartners(tx: Tx): Promise<readonly ListedPartnerRow[]> {
  return tx.rows<ListedPartnerRow>(
    sql`/* access.listPartners */ select id as partner_id, name, created_at from access.partners order by id`,
  )
}

export async function partnerNamesById(tx: Tx, partnerIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (partnerIds.length === 0) return new Map()
  const rows = await tx.rows<{ readonly id: string; readonly name: string }>(sql`/* access.partnerNamesById */
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

export function listCredentials(tx: Tx, partnerId: string): Promise<readonly CredentialRow[]> {
  return tx.rows<CredentialRow>(sql`/* access.listCredentials */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} order by id`)
}

const active = (now: Date) => sql`revoked_at is null and (expires_at is null or expires_at > ${now})`

/** The SQL condition of each status at a time. */
const conditions = {
  valid: active,
  expired: (now: Date) => sql`revoked_at is null and expires_at <= ${now}`,
  revoked: () => sql`revoked_at is not null`,
}
export type CredentialStatus = keyof typeof conditions

/** Lists credentials older than the cursor, newest first. */
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

/** Locks a credential, so that a concurrent change waits for this one and then reads its result. */
export function lockCredential(tx: Tx, partnerId: string, id: string): Promise<CredentialRow | undefined> {
  return tx.row<CredentialRow>(sql`/* access.lockCredential */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} and id = ${id} for no key update`)
}

export function credentialRow(tx: Tx, partnerId: string, id: string): Promise<CredentialRow | undefined> {
  return tx.row<CredentialRow>(sql`/* access.credentialRow */
    select ${credential} from access.service_accounts where partner_id = ${partnerId} and id = ${id}`)
}

/** Counts the service accounts that can sign a request, without impersonation sessions. */
export async function countActiveServiceAccounts(tx: Tx, partnerId: string, now: Date): Promise<number> {
  const row = await tx.row<{ readonly count: number }>(sql`/* access.countActiveServiceAccounts */
    select count(*)::integer as count from access.service_accounts
    where partner_id = ${partnerId} and impersonated_by is null and ${active(now)}`)
  return row?.count ?? 0
}

/** Lists the ids of the service accounts of an issuer, including expired and revoked ones. A partner has only a few. */
export async function serviceAccountIdsByIssuer(
  tx: Tx,
  partnerId: string,
  issuerId: string,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(sql`/* access.serviceAccountIdsByIssuer */
    select id from access.service_accounts where partner_id = ${partnerId} and issued_by = ${issuerId}`)
  return rows.map(({ id }) => id)
}

export async function updateCredential(tx: Tx, row: CredentialRow): Promise<void> {
  await tx.run(sql`/* access.updateCredential */
    update access.service_accounts set name = ${row.name}, permissions = ${row.permissions}::text[],
      allowed_addresses = ${row.allowedAddresses}::text[], expires_at = ${row.expiresAt}
    where partner_id = ${row.partnerId} and id = ${row.serviceAccountId}`)
}

/** Sets the expiry of a service account. Returns 0 if there is no such account or it is revoked. */
export function expireServiceAccount(tx: Tx, partnerId: string, id: string, at: Date): Promise<number> {
  return tx.run(sql`/* access.expireServiceAccount */
    update access.service_accounts set expires_at = ${at}
    where partner_id = ${partnerId} and id = ${id} and revoked_at is null`)
}

/** Expires every credential of the partner at `at`. An earlier expiry stays. */
export function expireAllCredentials(tx: Tx, partnerId: string, at: Date): Promise<number> {
  return tx.run(sql`/* access.expireAllCredentials */
    update access.service_accounts set expires_at = ${at}
    where partner_id = ${partnerId} and revoked_at is null and (expires_at is null or expires_at > ${at})`)
}

/** A time that revocations never use. It marks the rows that `closeCredentials` closed for `openCredentials`. */
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

/** Records uses. Writes only if the last use is a minute old, so that several processes together write once a minute. */
export async function recordUses(tx: Tx, uses: readonly CredentialUse[]): Promise<void> {
  const column = columnValues(uses)
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
export async function areCredentialsClosed(tx: Tx, partnerId: string): Promise<boolean> {
  const row = await tx.row(sql`/* access.areCredentialsClosed */
    select id from access.service_accounts where partner_id = ${partnerId} and revoked_at = ${closed} limit 1`)
  return row !== undefined
}
