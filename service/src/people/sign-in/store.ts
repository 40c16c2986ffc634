/** All SQL of sign-in. */
import { dueWork, insertBy, sql, type Tx } from '../../postgres/index.ts'

export type PasswordRow = {
  readonly hash: string
  readonly totpSealed: Buffer
  readonly totpStep: bigint
  /** Attempts since the last success, including this one. */
  readonly failures: number
}

/** Sets the password of a member, or replaces it together with its authenticator app. */
export async function setPassword(
  tx: Tx,
  partnerId: string,
  memberId: string,
  row: Omit<PasswordRow, 'failures'>,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* sign_in.setPassword */
    insert into sign_in.passwords (partner_id, member_id, hash, totp_sealed, totp_step, failures, created_at)
    values (${partnerId}, ${memberId}, ${row.hash}, ${row.totpSealed}, ${row.totpStep}, 0, ${now})
    on conflict (partner_id, member_id) do update set hash = excluded.hash, totp_sealed = excluded.totp_sealed,
      totp_step = excluded.totp_step, failures = 0, blocked_until = null, created_at = excluded.created_at`)
}

/**
 * Counts an attempt before it is checked, so that concurrent attempts cannot exceed the limit. The last allowed attempt
 * blocks the password until `blockedUntil`. Undefined: no such member, or blocked.
 */
export function beginAttempt(
  tx: Tx,
  partnerId: string,
  memberId: string,
  limit: { readonly failuresMax: number; readonly blockedUntil: Date; readonly now: Date },
): Promise<PasswordRow | undefined> {
  const { failuresMax, blockedUntil, now } = limit
  return tx.row<PasswordRow>(sql`/* sign_in.beginAttempt */
    update sign_in.passwords set
      failures = case when blocked_until is null then failures else 0 end + 1,
      blocked_until = case when case when blocked_until is null then failures else 0 end + 1 >= ${failuresMax}
        then ${blockedUntil}::timestamptz end
    where partner_id = ${partnerId} and member_id = ${memberId} and (blocked_until is null or blocked_until <= ${now})
    returning hash, totp_sealed, totp_step, failures`)
}

/** Records a successful attempt. `step` is null for a recovery code. False: a code of this time step or a later one was accepted meanwhile. */
export async function recordSuccessfulAttempt(
  tx: Tx,
  partnerId: string,
  memberId: string,
  step: bigint | null,
): Promise<boolean> {
  const changed = await tx.run(sql`/* sign_in.recordSuccessfulAttempt */
    update sign_in.passwords set failures = 0, blocked_until = null, totp_step = coalesce(${step}, totp_step)
    where partner_id = ${partnerId} and member_id = ${memberId} and (${step}::bigint is null or totp_step < ${step})`)
  return changed === 1
}

const newRecoveryCodes = insertBy<{ partnerId: string; memberId: string; codeHash: Buffer }>(
  { partnerId: 'uuid', memberId: 'uuid', codeHash: 'bytea' },
  [['partnerId', 'memberId']],
)

/** Replaces the recovery codes of a member. */
export async function setRecoveryCodes(
  tx: Tx,
  partnerId: string,
  memberId: string,
  hashes: readonly Buffer[],
): Promise<void> {
  const rows = hashes.map((codeHash) => ({ partnerId, memberId, codeHash }))
  await tx.run(sql`/* sign_in.setRecoveryCodes */
    delete from sign_in.recovery_codes where partner_id = ${partnerId} and member_id = ${memberId}`)
  await tx.run(sql`/* sign_in.setRecoveryCodes */
    insert into sign_in.recovery_codes (partner_id, member_id, code_hash) ${newRecoveryCodes(tx, rows)}`)
}

/** Uses a recovery code once. False: no such code, or it was used. */
export async function useRecoveryCode(
  tx: Tx,
  partnerId: string,
  memberId: string,
  hash: Buffer,
  now: Date,
): Promise<boolean> {
  const used = await tx.run(sql`/* sign_in.useRecoveryCode */
    update sign_in.recovery_codes set used_at = ${now}
    where partner_id = ${partnerId} and member_id = ${memberId} and code_hash = ${hash} and used_at is null`)
  return used === 1
}

export type PasskeyRow = {
  readonly id: string
  readonly memberId: string
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly counter: bigint
  readonly transports: readonly string[]
  readonly backedUp: boolean
}

/** Inserts a passkey. False: its id exists, which happens only with a forged or copied credential, because authenticators create unique ids. */
export async function insertPasskey(tx: Tx, partnerId: string, row: PasskeyRow, now: Date): Promise<boolean> {
  const inserted = await tx.run(sql`/* sign_in.insertPasskey */
    insert into sign_in.passkeys (partner_id, id, member_id, credential_id, public_key, counter, transports, backed_up,
      created_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.credentialId}, ${row.publicKey}, ${row.counter},
      ${row.transports}::text[], ${row.backedUp}, ${now})
    on conflict (partner_id, credential_id) do nothing`)
  return inserted === 1
}

export function findPasskey(tx: Tx, partnerId: string, credentialId: Buffer): Promise<PasskeyRow | undefined> {
  return tx.row<PasskeyRow>(sql`/* sign_in.findPasskey */
    select id, member_id, credential_id, public_key, counter, transports, backed_up from sign_in.passkeys
    where partner_id = ${partnerId} and credential_id = ${credentialId}`)
}

export function listPasskeys(
  tx: Tx,
  partnerId: string,
  memberId: string,
): Promise<readonly Pick<PasskeyRow, 'credentialId' | 'transports'>[]> {
  return tx.rows(sql`/* sign_in.listPasskeys */
    select credential_id, transports from sign_in.passkeys where partner_id = ${partnerId} and member_id = ${memberId}`)
}

export async function recordPasskeyUse(
  tx: Tx,
  partnerId: string,
  use: { readonly id: string; readonly counter: bigint; readonly backedUp: boolean; readonly now: Date },
): Promise<void> {
  await tx.run(sql`/* sign_in.recordPasskeyUse */
    update sign_in.passkeys set counter = ${use.counter}, backed_up = ${use.backedUp}, last_used_at = ${use.now}
    where partner_id = ${partnerId} and id = ${use.id}`)
}

/** Records an answered challenge, and deletes expired ones. False: it was answered before. */
export async function recordChallengeAnswer(
  tx: Tx,
  partnerId: string,
  challenge: Buffer,
  { expiresAt, now }: { readonly expiresAt: Date; readonly now: Date },
): Promise<boolean> {
  await tx.run(sql`/* sign_in.recordChallengeAnswer */
    delete from sign_in.answered_challenges where partner_id = ${partnerId} and expires_at < ${now}`)
  const added = await tx.run(sql`/* sign_in.recordChallengeAnswer */
    insert into sign_in.answered_challenges (partner_id, challenge, expires_at)
    values (${partnerId}, ${challenge}, ${expiresAt}) on conflict do nothing`)
  return added === 1
}

/** How a session was opened. `sso`: by the partner's provider. */
export type SignInMethod = 'passkey' | 'password' | 'sso'
export type SessionRow = {
  readonly id: string
  readonly memberId: string
  readonly tokenHash: Buffer
  readonly factor: SignInMethod
  readonly ip: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
  /** True if the session was unused for more than five minutes: its person must sign in again before a page shows money. */
  readonly rested: boolean
}

const sessionColumns = sql`id, member_id, token_hash, factor, ip, user_agent, created_at, last_used_at, expires_at, rested`

export async function insertSession(tx: Tx, partnerId: string, row: Omit<SessionRow, 'rested'>): Promise<void> {
  await tx.run(sql`/* sign_in.insertSession */
    insert into sign_in.sessions (partner_id, id, member_id, token_hash, factor, ip, user_agent, created_at, last_used_at,
      expires_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.tokenHash}, ${row.factor}, ${row.ip}, ${row.userAgent},
      ${row.createdAt}, ${row.lastUsedAt}, ${row.expiresAt})`)
}

/** A session is alive if it was used after `usedAfter` and has not expired at `now`. */
export type SessionTimes = { readonly usedAfter: Date; readonly now: Date }

export function findSession(
  tx: Tx,
  partnerId: string,
  tokenHash: Buffer,
  { usedAfter, now }: SessionTimes,
): Promise<SessionRow | undefined> {
  return tx.row<SessionRow>(sql`/* sign_in.findSession */
    select ${sessionColumns} from sign_in.sessions
    where partner_id = ${partnerId} and token_hash = ${tokenHash} and last_used_at > ${usedAfter} and expires_at > ${now}`)
}

/** Records the use of a session. If the last use was before `restedBefore`, the session counts as rested until it ends. */
export async function recordSessionUse(
  tx: Tx,
  partnerId: string,
  id: string,
  { now, restedBefore }: { readonly now: Date; readonly restedBefore: Date },
): Promise<void> {
  await tx.run(sql`/* sign_in.recordSessionUse */
    update sign_in.sessions set last_used_at = greatest(last_used_at, ${now}), rested = rested or last_used_at <= ${restedBefore}
    where partner_id = ${partnerId} and id = ${id}`)
}

export async function replaceToken(tx: Tx, partnerId: string, id: string, tokenHash: Buffer): Promise<void> {
  await tx.run(sql`/* sign_in.replaceToken */
    update sign_in.sessions set token_hash = ${tokenHash} where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists the sessions of a member, newest first. */
export function listSessions(
  tx: Tx,
  partnerId: string,
  memberId: string,
  { usedAfter, now }: SessionTimes,
): Promise<readonly SessionRow[]> {
  return tx.rows<SessionRow>(sql`/* sign_in.listSessions */
    select ${sessionColumns} from sign_in.sessions
    where partner_id = ${partnerId} and member_id = ${memberId} and last_used_at > ${usedAfter} and expires_at > ${now}
    order by id desc`)
}

/** Locks a session against its end. False: it has ended. */
export async function holdSession(
  tx: Tx,
  { partnerId, memberId, id }: Pick<SessionRow, 'memberId' | 'id'> & { readonly partnerId: string },
): Promise<boolean> {
  const row = await tx.row(sql`/* sign_in.holdSession */
    select id from sign_in.sessions where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} for key share`)
  return row !== undefined
}

export function endSession(tx: Tx, partnerId: string, memberId: string, id: string): Promise<number> {
  return tx.run(sql`/* sign_in.endSession */
    delete from sign_in.sessions where partner_id = ${partnerId} and member_id = ${memberId} and id = ${id}`)
}

/** Ends the sessions of a member, except the one with `keptId`. */
export function endSessions(tx: Tx, partnerId: string, memberId: string, keptId: string | null): Promise<number> {
  return tx.run(sql`/* sign_in.endSessions */
    delete from sign_in.sessions
    where partner_id = ${partnerId} and member_id = ${memberId} and id is distinct from ${keptId}::uuid`)
}

/** Deletes the sessions of a member that have ended: last used at `usedAfter` or earlier, or expired at `now`. */
export async function deleteEndedSessions(
  tx: Tx,
  partnerId: string,
  memberId: string,
  { usedAfter, now }: SessionTimes,
): Promise<void> {
  await tx.run(sql`/* sign_in.deleteEndedSessions */
    delete from sign_in.sessions
    where partner_id = ${partnerId} and member_id = ${memberId} and (last_used_at <= ${usedAfter} or expires_at <= ${now})`)
}

export type FactorList = {
  readonly passkeys: readonly {
    readonly id: string
    readonly createdAt: Date
    readonly lastUsedAt: Date | null
    readonly backedUp: boolean
  }[]
  /** When the password was set. Null: there is no password. */
  readonly passwordSince: Date | null
  readonly recoveryCodesLeft: number
}

export async function factorList(tx: Tx, partnerId: string, memberId: string): Promise<FactorList> {
  const passkeys = await tx.rows<FactorList['passkeys'][number]>(sql`/* sign_in.factorList */
    select id, created_at, last_used_at, backed_up from sign_in.passkeys
    where partner_id = ${partnerId} and member_id = ${memberId} order by id`)
  const since = await passwordSince(tx, partnerId, memberId)
  const codes = await tx.rows(sql`/* sign_in.factorList */
    select 1 as code from sign_in.recovery_codes
    where partner_id = ${partnerId} and member_id = ${memberId} and used_at is null`)
  return { passkeys, passwordSince: since ?? null, recoveryCodesLeft: codes.length }
}

/** Reads when the password of a member was set. Undefined: there is none. */
export async function passwordSince(tx: Tx, partnerId: string, memberId: string): Promise<Date | undefined> {
  const row = await tx.row<{ readonly createdAt: Date }>(sql`/* sign_in.passwordSince */
    select created_at from sign_in.passwords where partner_id = ${partnerId} and member_id = ${memberId}`)
  return row?.createdAt
}

/** Locks the passkeys of a member and returns their ids. */
export async function lockPasskeys(tx: Tx, partnerId: string, memberId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(sql`/* sign_in.lockPasskeys */
    select id from sign_in.passkeys where partner_id = ${partnerId} and member_id = ${memberId} order by id for update`)
  return rows.map(({ id }) => id)
}

export async function deletePasskey(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* sign_in.deletePasskey */
    delete from sign_in.passkeys where partner_id = ${partnerId} and id = ${id}`)
}

/** Deletes the password, recovery codes and passkeys of a member. */
export async function deleteFactors(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* sign_in.deleteFactors */
    delete from sign_in.passwords where partner_id = ${partnerId} and member_id = ${memberId}`)
  await tx.run(sql`/* sign_in.deleteFactors */
    delete from sign_in.recovery_codes where partner_id = ${partnerId} and member_id = ${memberId}`)
  await tx.run(sql`/* sign_in.deleteFactors */
    delete from sign_in.passkeys where partner_id = ${partnerId} and member_id = ${memberId}`)
}

/** Lists the factors of members. */
export function listFactors(
  tx: Tx,
  partnerId: string,
  memberIds: readonly string[],
): Promise<readonly { readonly memberId: string; readonly factor: SignInMethod }[]> {
  return tx.rows(sql`/* sign_in.listFactors */
    select member_id, 'password' as factor from sign_in.passwords
    where partner_id = ${partnerId} and member_id = any(${memberIds}::uuid[])
    union
    select member_id, 'passkey' from sign_in.passkeys
    where partner_id = ${partnerId} and member_id = any(${memberIds}::uuid[])
    union
    select member_id, 'sso' from sign_in.identities
    where partner_id = ${partnerId} and member_id = any(${memberIds}::uuid[])`)
}

// The SQL of devices: the browsers in which a member has signed in.

type Device = { readonly memberId: string; readonly hash: Buffer }

/** Records the use of a device. True: it is new for the member. Of two concurrent calls, only one returns true. */
export async function recordDevice(
  tx: Tx,
  partnerId: string,
  { memberId, hash }: Device,
  { now, usedAfter, devicesMax }: { readonly now: Date; readonly usedAfter: Date; readonly devicesMax: number },
): Promise<boolean> {
  await tx.run(sql`/* sign_in.recordDevice */
    delete from sign_in.known_devices
    where partner_id = ${partnerId} and member_id = ${memberId} and last_used_at <= ${usedAfter}`)
  const known = await tx.run(sql`/* sign_in.recordDevice */
    update sign_in.known_devices set last_used_at = greatest(last_used_at, ${now})
    where partner_id = ${partnerId} and member_id = ${memberId} and device_hash = ${hash}`)
  if (known === 1) return false
  const added = await tx.run(sql`/* sign_in.recordDevice */
    insert into sign_in.known_devices (partner_id, member_id, device_hash, first_used_at, last_used_at)
    values (${partnerId}, ${memberId}, ${hash}, ${now}, ${now}) on conflict do nothing`)
  await tx.run(sql`/* sign_in.recordDevice */
    delete from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId} and device_hash in (
      select device_hash from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId}
      order by device_hash = ${hash} desc, last_used_at desc, device_hash offset ${devicesMax})`)
  return added === 1
}

export async function deleteDevices(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* sign_in.deleteDevices */
    delete from sign_in.known_devices where partner_id = ${partnerId} and member_id = ${memberId}`)
}

// The SQL of kept forms: what a person had typed before the session ended.

/** Finds the member of a session, including an expired one. */
export async function findMemberByToken(tx: Tx, partnerId: string, tokenHash: Buffer): Promise<string | undefined> {
  const row = await tx.row<{ readonly memberId: string }>(sql`/* sign_in.findMemberByToken */
    select member_id from sign_in.sessions where partner_id = ${partnerId} and token_hash = ${tokenHash}`)
  return row?.memberId
}

type FormKey = { readonly id: string; readonly memberId: string; readonly deviceHash: Buffer }

export async function insertForm(
  tx: Tx,
  partnerId: string,
  {
    id,
    memberId,
    deviceHash,
    formSealed,
    expiresAt,
  }: FormKey & { readonly formSealed: Buffer; readonly expiresAt: Date },
): Promise<void> {
  await tx.run(sql`/* sign_in.insertForm */
    insert into sign_in.kept_forms (partner_id, id, member_id, device_hash, form_sealed, expires_at)
    values (${partnerId}, ${id}, ${memberId}, ${deviceHash}, ${formSealed}, ${expiresAt})`)
}

/** Deletes the oldest forms of a member beyond the limit. */
export async function deleteOldForms(tx: Tx, partnerId: string, memberId: string, formsMax: number): Promise<void> {
  await tx.run(sql`/* sign_in.deleteOldForms */
    delete from sign_in.kept_forms where partner_id = ${partnerId} and member_id = ${memberId} and id in (
      select id from sign_in.kept_forms where partner_id = ${partnerId} and member_id = ${memberId}
      order by id desc offset ${formsMax})`)
}

export function findForm(
  tx: Tx,
  partnerId: string,
  { id, memberId, deviceHash, now }: FormKey & { readonly now: Date },
): Promise<{ readonly formSealed: Buffer } | undefined> {
  return tx.row(sql`/* sign_in.findForm */
    select form_sealed from sign_in.kept_forms
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and device_hash = ${deviceHash} and expires_at > ${now}`)
}

export async function deleteForm(tx: Tx, partnerId: string, { id, memberId, deviceHash }: FormKey): Promise<void> {
  await tx.run(sql`/* sign_in.deleteForm */
    delete from sign_in.kept_forms
    where partner_id = ${partnerId} and id = ${id} and member_id = ${memberId} and device_hash = ${deviceHash}`)
}

export async function deleteForms(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* sign_in.deleteForms */
    delete from sign_in.kept_forms where partner_id = ${partnerId} and member_id = ${memberId}`)
}

export async function partnersWithExpiredForms(tx: Tx, now: Date, partnersMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly partnerId: string }>(
    dueWork(
      'finds partners with expired kept forms, without a lock',
      (whose) => sql`/* sign_in.partnersWithExpiredForms */
      select distinct partner_id from sign_in.kept_forms where expires_at <= ${now} and ${whose()} limit ${partnersMax}`,
    ),
  )
  return rows.map(({ partnerId }) => partnerId)
}

export function deleteExpiredForms(tx: Tx, partnerId: string, now: Date): Promise<number> {
  return tx.run(sql`/* sign_in.deleteExpiredForms */
    delete from sign_in.kept_forms where partner_id = ${partnerId} and expires_at <= ${now}`)
}

// The SQL of identities: a member's account at a provider of single sign-on.

export type Identity = { readonly issuer: string; readonly subject: string }

/** Finds the member of an identity, even a removed member. */
export async function findMember(
  tx: Tx,
  partnerId: string,
  { issuer, subject }: Identity,
): Promise<string | undefined> {
  const row = await tx.row<{ readonly memberId: string }>(sql`/* sign_in.findMember */
    select member_id from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and subject = ${subject}`)
  return row?.memberId
}

/**
 * Connects an identity with a member, and replaces the member's previous identity at the provider. `replaced`: the
 * previous member of the identity. False: another member has connected the identity meanwhile.
 */
export async function connectIdentity(
  tx: Tx,
  partnerId: string,
  { issuer, subject }: Identity,
  { memberId, replaced, now }: { readonly memberId: string; readonly replaced: string | null; readonly now: Date },
): Promise<boolean> {
  await tx.run(sql`/* sign_in.connectIdentity */
    delete from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and member_id = ${memberId} and subject <> ${subject}`)
  const connected = await tx.run(sql`/* sign_in.connectIdentity */
    insert into sign_in.identities (partner_id, issuer, subject, member_id, connected_at)
    values (${partnerId}, ${issuer}, ${subject}, ${memberId}, ${now})
    on conflict (partner_id, issuer, subject) do update
      set member_id = excluded.member_id, connected_at = excluded.connected_at
      where identities.member_id = excluded.member_id or identities.member_id = ${replaced}::uuid`)
  return connected === 1
}

/** Disconnects a member from all providers. */
export async function forgetIdentities(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* sign_in.forgetIdentities */
    delete from sign_in.identities where partner_id = ${partnerId} and member_id = ${memberId}`)
}

/** Reads when a member was connected with a provider. */
export async function findConnectionTime(
  tx: Tx,
  partnerId: string,
  issuer: string,
  memberId: string,
): Promise<Date | undefined> {
  const row = await tx.row<{ readonly connectedAt: Date }>(sql`/* sign_in.findConnectionTime */
    select connected_at from sign_in.identities
    where partner_id = ${partnerId} and issuer = ${issuer} and member_id = ${memberId}`)
  return row?.connectedAt
}

export async function recordIdentityUse(
  tx: Tx,
  partnerId: string,
  { issuer, subject }: Identity,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* sign_in.recordIdentityUse */
    update sign_in.identities set last_used_at = ${now}
    where partner_id = ${partnerId} and issuer = ${issuer} and subject = ${subject}`)
}
