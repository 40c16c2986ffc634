/** The SQL of the single sign-on of partners. */
import type { users as wire } from '@partner-payments/wire'
import { sql, type Tx } from '../../postgres/index.ts'

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

const columns = sql`issuer, client_id, client_secret_sealed, email_domain, domain_token, domain_proved_at, role_claim,
  role_values, required, created_at, updated_at`

export function singleSignOnOf(tx: Tx, partnerId: string): Promise<SingleSignOnRow | undefined> {
  return tx.row<SingleSignOnRow>(sql`/* users.singleSignOnOf */
    select ${columns} from users.single_sign_on where partner_id = ${partnerId}`)
}

/** Serialises the changes of one partner. */
export function lockSingleSignOn(tx: Tx, partnerId: string): Promise<SingleSignOnRow | undefined> {
  return tx.row<SingleSignOnRow>(sql`/* users.lockSingleSignOn */
    select ${columns} from users.single_sign_on where partner_id = ${partnerId} for no key update`)
}

/** Inserts the row, or replaces it but for the time of its creation. */
export async function setSingleSignOn(tx: Tx, partnerId: string, row: SingleSignOnRow): Promise<void> {
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

export async function removeSingleSignOn(tx: Tx, partnerId: string): Promise<boolean> {
  const removed = await tx.run(sql`/* users.removeSingleSignOn */
    delete from users.single_sign_on where partner_id = ${partnerId}`)
  return removed === 1
}

/** The ids of all Admins, locked: how one of them signs in stays as it is until the end of the transaction. */
export async function lockAdmins(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(sql`/* users.lockAdmins */
    select id from users.members where partner_id = ${partnerId} and removed_at is null and role = 'Admin'
    order by id for no key update`)
  return rows.map(({ id }) => id)
}

/** Tells that an address belongs or belonged to a member (`unknown`), or has a pending invitation. */
export async function knownAs(
  tx: Tx,
  partnerId: string,
  emailKey: string,
  now: Date,
): Promise<'invited' | 'unknown' | undefined> {
  const row = await tx.row<{ readonly known: 'invited' | 'unknown' }>(sql`/* users.knownAs */
    select 'invited' as known from users.invitations
    where partner_id = ${partnerId} and email_key = ${emailKey} and status = 'Pending' and expires_at > ${now}
    union all
    select 'unknown' from users.members where partner_id = ${partnerId} and email_key = ${emailKey}
    limit 1`)
  return row?.known
}
