/** The SQL of identity verifications. */
import { type identity, ownJson } from '@partner-payments/wire'
import type { IdentityEvidence, IdentityKind, IdentityReason } from '../identity-port/index.ts'
import { acrossPartners, dueWork, noSql, type SealedColumn, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { PageRequest } from '../../kernel/api/index.ts'
import type { Sealer, RowKey } from '../../kernel/index.ts'

export type IdentityRow = {
  readonly partnerId: string
  readonly id: string
  readonly customerId: string
  readonly kinds: readonly IdentityKind[]
  readonly status: identity.IdentityStatus
  readonly reason: IdentityReason | null
  readonly provider: string
  readonly providerSession: string | null
  readonly providerVersion: bigint
  readonly contentSealed: Uint8Array
  readonly sessionExpiresAt: Date | null
  readonly validUntil: Date | null
  readonly inForce: boolean
  readonly attempts: number
  readonly dueAt: Date | null
  readonly leaseId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly decidedAt: Date | null
}
export type IdentityKey = Pick<IdentityRow, 'partnerId' | 'id'>

const columns = sql`partner_id, id, customer_id, kinds, status, reason, provider, provider_session, provider_version, content_sealed,
  session_expires_at, valid_until, in_force, attempts, due_at, lease_id, created_at, updated_at, decided_at`

export async function insertVerification(tx: Tx, row: IdentityRow): Promise<void> {
  await tx.run(sql`/* identity-checks.insertVerification */
    insert into customers.identity_verifications (${columns})
    values (${row.partnerId}, ${row.id}, ${row.customerId}, ${row.kinds}::text[], ${row.status}, ${row.reason}, ${row.provider},
      ${row.providerSession}, ${row.providerVersion}, ${row.contentSealed}, ${row.sessionExpiresAt}, ${row.validUntil},
      ${row.inForce}, ${row.attempts}, ${row.dueAt}, ${row.leaseId}, ${row.createdAt}, ${row.updatedAt}, ${row.decidedAt})`)
}

/** Finds the undecided verification of the customer. */
export function openVerification(tx: Tx, partnerId: string, customerId: string): Promise<{ id: string } | undefined> {
  return tx.row(sql`/* identity-checks.openVerification */
    select id from customers.identity_verifications
    where partner_id = ${partnerId} and customer_id = ${customerId} and status in ('Pending', 'Open', 'Processing')`)
}

export function verificationById(
  tx: Tx,
  partnerId: string,
  { customerId, id }: { readonly customerId: string; readonly id: string },
): Promise<IdentityRow | undefined> {
  return tx.row(sql`/* identity-checks.verificationById */
    select ${columns} from customers.identity_verifications
    where partner_id = ${partnerId} and id = ${id} and customer_id = ${customerId}`)
}

/** Lists verifications older than the cursor, newest first. */
export function listVerifications(
  tx: Tx,
  partnerId: string,
  customerId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly IdentityRow[]> {
  return tx.rows(sql`/* identity-checks.listVerifications */
    select ${columns} from customers.identity_verifications where partner_id = ${partnerId} and customer_id = ${customerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}

/** Reads the verifications in force, which determine the verification state of customers. */
export function verificationsInForce(
  tx: Tx,
  partnerId: string,
  customerIds: readonly string[],
): Promise<readonly IdentityRow[]> {
  return tx.rows(sql`/* identity-checks.verificationsInForce */
    select ${columns} from customers.identity_verifications
    where partner_id = ${partnerId} and customer_id = any(${customerIds}::uuid[]) and in_force`)
}

/** The reason why a row is due: a call to the provider, or the expiry of a document. */
export type DueReason = 'question' | 'expiry'

const expires = sql`in_force and status = 'Approved' and valid_until is not null`

const dueFor = (work: DueReason, now: Date): Sql => {
  const isOver = sql`${expires} and valid_until <= ${now}`
  return sql`due_at <= ${now} and ${work === 'expiry' ? isOver : sql`not (${isOver})`}`
}

export function partnersDue(
  tx: Tx,
  work: DueReason,
  now: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with due identity verifications, without a lock, by an index of due verifications',
      (whose) => sql`/* identity-checks.partnersDue */
        select partner_id from customers.identity_verifications where ${dueFor(work, now)} and ${whose()}
        group by partner_id order by min(due_at), partner_id limit ${partnersMax}`,
    ),
  )
}

/** Reads when the next verification is due. */
export const nextVerificationDue = (after: Date): Sql =>
  dueWork(
    'reads when the next identity verification is due',
    (whose) => sql`/* identity-checks.nextVerificationDue */
      select due_at from customers.identity_verifications where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Reads when the next document expires. */
export const nextExpiryDue = (after: Date): Sql =>
  dueWork(
    'reads when the next document of a customer expires',
    (whose) => sql`/* identity-checks.nextExpiryDue */
      select valid_until as due_at from customers.identity_verifications
      where ${expires} and valid_until > ${after} and ${whose()} order by valid_until limit 1`,
  )

/** Returns when the oldest due verification became due. */
export async function oldestDue(tx: Tx, now: Date): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date | null }>(
    acrossPartners(
      'reads how long the oldest identity verification waits, by an index',
      sql`/* identity-checks.oldestDue */
        select min(due_at) as due_at from customers.identity_verifications where due_at <= ${now} and lease_id is null`,
    ),
  )
  return row?.dueAt ?? null
}

export type Claim = IdentityRow & { readonly leaseId: string }

/** Claims due rows until the lease expires. Then they are due again. */
export function claimDue(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  work: DueReason,
  now: Date,
  rowsMax: number,
): Promise<readonly Claim[]> {
  return tx.rows<Claim>(sql`/* identity-checks.claimDue */
    update customers.identity_verifications set lease_id = ${lease.id}, due_at = ${lease.until}
    where partner_id = ${partnerId} and id = any(array(
      select id from customers.identity_verifications where partner_id = ${partnerId} and ${dueFor(work, now)}
      order by due_at for update skip locked limit ${rowsMax}))
    returning ${columns}`)
}

/** Writes the outcome of a claim and releases it. Returns 0 if the lease was lost. */
export function endClaim(tx: Tx, claim: Claim, row: IdentityRow): Promise<number> {
  return tx.run(sql`/* identity-checks.endClaim */
    update customers.identity_verifications set status = ${row.status}, reason = ${row.reason},
      provider_session = ${row.providerSession}, provider_version = ${row.providerVersion}, content_sealed = ${row.contentSealed},
      session_expires_at = ${row.sessionExpiresAt}, valid_until = ${row.validUntil}, in_force = ${row.inForce},
      attempts = ${row.attempts}, due_at = ${row.dueAt}, lease_id = null, updated_at = ${row.updatedAt}, decided_at = ${row.decidedAt}
    where partner_id = ${claim.partnerId} and id = ${claim.id} and lease_id = ${claim.leaseId}`)
}

/** Replaces earlier decisions about the same kinds. The caller has locked the customer. */
export async function replaceEarlier(
  tx: Tx,
  { partnerId, id, customerId, kinds, decidedAt }: IdentityRow,
): Promise<void> {
  await tx.run(sql`/* identity-checks.replaceEarlier */
    update customers.identity_verifications set in_force = false, due_at = null, lease_id = null
    where partner_id = ${partnerId} and customer_id = ${customerId} and id <> ${id} and in_force
      and kinds <@ ${kinds}::text[] and decided_at <= ${decidedAt}`)
}

/**
 * Makes a verification due if the provider has a newer version. A worker that is calling the provider loses its lease,
 * because its response may be older. Returns 0 if the version is not newer, or there is no such verification.
 */
export function markDue(
  tx: Tx,
  { partnerId, id }: IdentityKey,
  { provider, version, now }: { readonly provider: string; readonly version: bigint; readonly now: Date },
): Promise<number> {
  return tx.run(sql`/* identity-checks.markDue */
    update customers.identity_verifications set due_at = ${now}, lease_id = null
    where partner_id = ${partnerId} and id = ${id} and provider = ${provider} and provider_version < ${version}
      and status <> 'Failed' and (in_force or decided_at is null)`)
}

export async function releaseLeases(tx: Tx, partnerId: string, now: Date): Promise<void> {
  await tx.run(sql`/* identity-checks.releaseLeases */
    update customers.identity_verifications set lease_id = null, due_at = ${now}
    where partner_id = ${partnerId} and lease_id is not null`)
}

/** Reads the undecided verifications of a customer. The caller has locked the customer. */
export function openVerifications(tx: Tx, partnerId: string, customerId: string): Promise<readonly IdentityRow[]> {
  return tx.rows(sql`/* identity-checks.openVerifications */
    select ${columns} from customers.identity_verifications
    where partner_id = ${partnerId} and customer_id = ${customerId} and (decided_at is null or due_at is not null) for update`)
}

export async function closeVerification(
  tx: Tx,
  { partnerId, id }: IdentityKey,
  { status, contentSealed, now }: Pick<IdentityRow, 'status' | 'contentSealed'> & { readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* identity-checks.closeVerification */
    update customers.identity_verifications set status = ${status}, content_sealed = ${contentSealed}, due_at = null, lease_id = null,
      updated_at = ${now}
    where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteVerifications(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* identity-checks.deleteVerifications */
    delete from customers.identity_verifications where partner_id = ${partnerId} and customer_id = ${customerId}`)
}

// The SQL of erasures at identity providers.

export type ErasureClaim = {
  readonly partnerId: string
  readonly id: string
  readonly provider: string
  readonly providerSession: string | null
  readonly attempts: number
}
type Key = Pick<ErasureClaim, 'partnerId' | 'id'>

/**
 * Queues erasures, including those that a provider refused before. `undecided`: only undecided verifications, not
 * proofs.
 */
export async function queueErasures(
  tx: Tx,
  partnerId: string,
  customerId: string,
  { which, dueAt, now }: { readonly which: 'undecided' | 'all'; readonly dueAt: Date; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* identity-checks.queueErasures */
    insert into customers.identity_erasures as kept
      (partner_id, id, provider, provider_session, attempts, due_at, refused_at, created_at)
    select partner_id, id, provider, provider_session, 0, ${dueAt}::timestamptz, null::timestamptz, ${now}::timestamptz
    from customers.identity_verifications where partner_id = ${partnerId} and customer_id = ${customerId}
      ${which === 'all' ? noSql : sql`and decided_at is null`}
    on conflict (partner_id, id) do update set due_at = excluded.due_at, refused_at = null`)
}

export function partnersWithErasures(
  tx: Tx,
  now: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with due erasures at identity providers, without a lock, by an index of due erasures',
      (whose) => sql`/* identity-checks.partnersWithErasures */
        select partner_id from customers.identity_erasures where due_at <= ${now} and ${whose()}
        group by partner_id order by min(due_at), partner_id limit ${partnersMax}`,
    ),
  )
}

/** Reads when the next erasure is due. */
export const erasuresDue = (after: Date): Sql =>
  dueWork(
    'reads when the next erasure at an identity provider is due',
    (whose) => sql`/* identity-checks.erasuresDue */
      select due_at from customers.identity_erasures where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Claims due erasures until the lease expires. There is no fence, because a provider may be called twice. */
export function claimErasures(
  tx: Tx,
  partnerId: string,
  { now, until, rowsMax }: { readonly now: Date; readonly until: Date; readonly rowsMax: number },
): Promise<readonly ErasureClaim[]> {
  return tx.rows<ErasureClaim>(sql`/* identity-checks.claimErasures */
    update customers.identity_erasures set due_at = ${until}, attempts = attempts + 1
    where partner_id = ${partnerId} and id = any(array(
      select id from customers.identity_erasures where partner_id = ${partnerId} and due_at <= ${now}
      order by due_at for update skip locked limit ${rowsMax}))
    returning partner_id, id, provider, provider_session, attempts`)
}

export async function deleteErasure(tx: Tx, { partnerId, id }: Key): Promise<void> {
  await tx.run(sql`/* identity-checks.deleteErasure */
    delete from customers.identity_erasures where partner_id = ${partnerId} and id = ${id}`)
}

export async function retryErasure(tx: Tx, { partnerId, id }: Key, dueAt: Date): Promise<void> {
  await tx.run(sql`/* identity-checks.retryErasure */
    update customers.identity_erasures set due_at = ${dueAt} where partner_id = ${partnerId} and id = ${id}`)
}

export async function refuseErasure(tx: Tx, { partnerId, id }: Key, now: Date): Promise<void> {
  await tx.run(sql`/* identity-checks.refuseErasure */
    update customers.identity_erasures set due_at = null, refused_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
}

/** The sealed content: the request, the link to the provider's page, and the findings. */
export type SealedContent = {
  readonly customerType: 'Individual' | 'Business' | 'SoleTrader'
  readonly subject: Readonly<Record<string, string>>
  readonly returnUrl: string | null
  readonly url: string | null
  readonly evidence: IdentityEvidence | null
}

const contentContext = (partnerId: string, id: string) => ['customers.identity_verifications', partnerId, id]

export const sealedIdentities: SealedColumn = {
  table: 'customers.identity_verifications',
  column: 'content_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => contentContext(partnerId, cell('id')),
}

export const createContentSealer = (sealer: Sealer) => ({
  seal: ({ partnerId, id }: RowKey, content: SealedContent): Uint8Array =>
    sealer.seal(JSON.stringify(content), contentContext(partnerId, id)),
  open: ({ partnerId, id, contentSealed }: RowKey & { readonly contentSealed: Uint8Array }): SealedContent =>
    ownJson<SealedContent>(sealer.open(contentSealed, contentContext(partnerId, id))),
})
export type ContentSealer = ReturnType<typeof createContentSealer>
