/** The operations of access. */
import { type Permission, permissions as allPermissions } from '@partner-payments/wire'
import { type Caller, type Nonce, type OpenNonce, Refusal } from '../kernel/api/index.ts'
import { after, type Clock, minuteMs, newId, nilId, partnerKey, type Sealer, tokenHash } from '../kernel/index.ts'
import {
  type Batcher,
  type BatcherOptions,
  createBatcher,
  type Database,
  type SealedColumn,
  type Tx,
  withoutTransaction,
} from '../postgres/index.ts'
import {
  createCredentialCache,
  createCredentialIssuer,
  type Credential,
  type IssuedCredential,
  type CredentialRequest,
  secretContext,
  toCredential,
} from './credentials.ts'
import { type AccessManagement, createManagement, type ExpiryListener } from './management.ts'
import * as store from './store.ts'
import { linkTokenPartnerId, newLinkToken } from './rules.ts'

export type Access = NonceRegister &
  AccessManagement &
  Support & {
    readonly createPartner: (tx: Tx, name: string, id?: string) => Promise<string>
    /** Replaces the legal name and the owners of a partner, which are screened like its name. Refuses: not_found. */
    readonly setOwners: (tx: Tx, partnerId: string, named: PartnerOwners) => Promise<void>
    /** Reads all names of a partner and its owners, by role: `name`, `legalName`, `owner1`. Empty: no such partner. */
    readonly partnerNamesByRole: (tx: Tx, partnerId: string) => Promise<readonly PartnerName[]>
    /** Adds the operator as the partner whose ledger holds unclaimed money, unless it exists. */
    readonly addOperator: (tx: Tx, id: string) => Promise<void>
    readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
    readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
    /** Uses the given public key, or generates an RSA 2048 key pair. Refuses: not_found (the partner). */
    readonly createServiceAccount: (
      tx: Tx,
      request: Omit<CredentialRequest, 'impersonatedBy'>,
    ) => Promise<IssuedCredential>
    /**
     * Issues a credential that is valid for `minutes` (1 to 60) and contains the name of the staff member. It has every
     * permission, but the gateway blocks its writes. Refuses: not_found (the partner).
     */
    readonly impersonate: (tx: Tx, partnerId: string, staff: string, minutes: number) => Promise<IssuedCredential>
    /** Revokes a service account. Refuses: not_found (no such account, or already revoked). */
    readonly revoke: (tx: Tx, partnerId: string, serviceAccountId: string) => Promise<void>
    /** Finds the credential of a key. Undefined: the key is unknown, revoked or expired. Caches results for two seconds. */
    readonly credential: (apiKey: string) => Promise<Credential | undefined>
    /** Reads the credential of a caller. Refuses: not_found (revoked meanwhile). */
    readonly callerCredential: (caller: Caller) => Promise<Credential>
    /** Records that the caller's signature was verified. Returns at once; the time is written later, at most once a minute. */
    readonly recordUse: (caller: Caller) => void
  }

const impersonationMinutesMax = 60

/** The legal name and the owners of a partner. `legalName`: null if it equals the name. */
export type PartnerOwners = { readonly legalName: string | null; readonly owners: readonly string[] }
export type PartnerName = { readonly role: string; readonly name: string }

export function createAccess(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** Called in the transaction that sets the names of a partner. `before`: the previous names. */
  readonly onNamed?: (tx: Tx, partnerId: string, before: readonly PartnerName[]) => Promise<void>
  readonly onExpiring?: ExpiryListener
}): Access {
  const { clock, sealer, onNamed, onExpiring } = deps
  const issueAny = createCredentialIssuer(deps)
  const issue: typeof issueAny = async (tx, request) => {
    const issued = await issueAny(tx, request)
    const { partnerId, expiresAt = null, impersonatedBy = null } = request
    if (expiresAt !== null && impersonatedBy === null)
      onExpiring?.(tx, { partnerId, serviceAccountId: issued.serviceAccountId, expiresAt })
    return issued
  }
  const requirePartner = async (tx: Tx, partnerId: string) => {
    if (!(await store.partnerById(tx, partnerId))) throw new Refusal('not_found', 'No such partner.')
  }
  const namesOf = async (tx: Tx, partnerId: string): Promise<readonly PartnerName[]> =>
    (await store.otherPartnerNames(tx, partnerId)).map(({ id, role, nameSealed }) => ({
      role,
      name: sealer.open(nameSealed, partnerNameContext(partnerId, id)),
    }))
  return {
    createPartner: async (tx, name, id = newId()) => {
      await store.insertPartner(tx, id, name, clock.now())
      await onNamed?.(tx, id, [])
      return id
    },
    setOwners: async (tx, partnerId, { legalName, owners }) => {
      await requirePartner(tx, partnerId)
      const named = [
        ...(legalName === null ? [] : [{ role: 'legalName', name: legalName }]),
        ...owners.map((name, index) => ({ role: `owner${index + 1}`, name })),
      ]
      const before = await namesOf(tx, partnerId)
      await store.replacePartnerNames(
        tx,
        partnerId,
        named.map(({ role, name }) => {
          const id = newId()
          return { partnerId, id, role, nameSealed: sealer.seal(name, partnerNameContext(partnerId, id)) }
        }),
      )
      await onNamed?.(tx, partnerId, before)
    },
    partnerNamesByRole: async (tx, partnerId) => {
      const partner = await store.partnerById(tx, partnerId)
      return partner === undefined ? [] : [{ role: 'name', name: partner.name }, ...(await namesOf(tx, partnerId))]
    },
    addOperator: (tx, id) => store.insertOperator(tx, id, clock.now()),
    partnerIds: store.partnerIds,
    partnerName: async (tx, partnerId) => (await store.partnerById(tx, partnerId))?.name ?? '',
    createServiceAccount: issue,
    impersonate: (tx, partnerId, staff, minutes) => {
      const expiresAt = after(clock.now(), Math.min(Math.max(minutes, 1), impersonationMinutesMax) * minuteMs)
      // With all permissions, the gateway refuses writes with impersonation_write_blocked instead of permission_denied.
      const request = { partnerId, name: `Impersonation by ${staff}`, permissions: allPermissions }
      return issue(tx, { ...request, impersonatedBy: staff, expiresAt })
    },
    revoke: async (tx, partnerId, serviceAccountId) => {
      const revoked = await store.revokeServiceAccount(tx, partnerId, serviceAccountId, clock.now())
      if (revoked === 0) throw new Refusal('not_found', 'No such service account.')
    },
    credential: createCredentialCache(deps),
    callerCredential: async ({ partnerId, serviceAccountId }) => {
      const row = await store.serviceAccountById(deps.db, partnerId, serviceAccountId)
      if (row === undefined) throw new Refusal('not_found', 'No such service account.')
      return toCredential(row, deps.sealer)
    },
    recordUse: createUseRecorder(deps),
    ...createManagement({ clock, issue, requirePartner, onExpiring }),
    ...createNonceRegister(deps),
    ...createSupport(deps),
  }
}

// The sealed API secrets, and the names of partners and their owners.

export const sealedApiSecrets: SealedColumn = {
  table: 'access.service_accounts',
  column: 'api_secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}

const partnerNameContext = (partnerId: string, id: string): readonly string[] => ['access.partner_names', partnerId, id]

export const sealedPartnerNames: SealedColumn = {
  table: 'access.partner_names',
  column: 'name_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => partnerNameContext(partnerId, cell('id')),
}

// Support sessions: impersonations in the partner's console. They are read-only, and end with the impersonation.

export type SupportSession = Omit<store.SupportSessionRow, 'permissions'> & {
  readonly permissions: readonly Permission[]
}

type Support = {
  /** Issues a code that opens the console once, within two minutes. */
  readonly beginSupport: (
    tx: Tx,
    impersonation: { readonly partnerId: string; readonly id: string; readonly reason: string },
  ) => Promise<{ readonly code: string; readonly codeExpiresAt: Date }>
  /** Opens the session of a code. Undefined: the code is wrong, was used or has expired, or the impersonation has ended. */
  readonly openSupport: (tx: Tx, code: string) => Promise<(SupportSession & { readonly token: string }) | undefined>
  /** Finds a session. Undefined: no such session, or its impersonation has expired or was revoked. */
  readonly supportSession: (token: string) => Promise<SupportSession | undefined>
}

const codeMs = 2 * minuteMs

function createSupport({ db, clock }: { readonly db: Database; readonly clock: Clock }): Support {
  const findSession = async (tx: Tx, token: string): Promise<SupportSession | undefined> => {
    const partnerId = linkTokenPartnerId(token)
    if (partnerId === undefined) return undefined
    const row = await store.supportSessionByToken(tx, partnerId, tokenHash(token), clock.now())
    return row && { ...row, permissions: row.permissions.split(' ').filter(Boolean) as Permission[] }
  }
  return {
    beginSupport: async (tx, { partnerId, id, reason }) => {
      const code = newLinkToken(partnerId)
      const createdAt = clock.now()
      const codeExpiresAt = after(createdAt, codeMs)
      await store.insertSupportSession(tx, {
        partnerId,
        id,
        reason,
        codeHash: tokenHash(code),
        codeExpiresAt,
        createdAt,
      })
      return { code, codeExpiresAt }
    },
    openSupport: async (tx, code) => {
      const partnerId = linkTokenPartnerId(code)
      if (partnerId === undefined) return undefined
      const token = newLinkToken(partnerId)
      const hashes = { codeHash: tokenHash(code), tokenHash: tokenHash(token) }
      if (!(await store.redeemSupportCode(tx, partnerId, { ...hashes, now: clock.now() }))) return undefined
      const session = await findSession(tx, token)
      return session && { ...session, token }
    },
    supportSession: (token) => findSession(db, token),
  }
}

// Nonces are consumed in batches: in their own statements, or in the transaction of the request.

/** `fresh`: false for a replay. `durable` resolves when the nonce is on disk. */
export type ConsumedNonce = { readonly fresh: boolean; readonly durable: () => Promise<void> }

type NonceRegister = {
  /**
   * Consumes a nonce. With `asyncCommit` the commit does not wait for the disk, and the caller must not answer before `durable`
   * resolves. It resolves at once if a durable commit followed.
   */
  readonly consumeNonce: (nonce: Nonce, asyncCommit: boolean) => Promise<ConsumedNonce>
  /** Deletes a limited number of expired nonces, and returns how many. Their timestamps are outside the window by then. */
  readonly sweepNonces: () => Promise<number>
}

const noncesPerBatchMax = 256
const batchesUnderWayMax = 2
const sweepNoncesMax = 10_000
const sweepPartnersMax = 100

function createNonceRegister(deps: { readonly db: Database; readonly clock: Clock }): NonceRegister {
  const { db, clock } = deps
  const { unflushed } = db
  const batches = {
    work: consumeNonces,
    callsMax: noncesPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Nonce) => partnerId,
  }
  const consume = createBatcher({ ...batches, db })
  const consumeAsync = createBatcher({ ...batches, db: withoutTransaction(unflushed) })
  let sweptUpTo = nilId
  return {
    consumeNonce: async (nonce, asyncCommit) => {
      // On a sharded database, a later commit on another shard would not flush the nonce.
      if (db.sharded || !asyncCommit) return { fresh: await consume(nonce), durable: () => Promise.resolve() }
      const fresh = await consumeAsync(nonce)
      const mark = unflushed.mark()
      return { fresh, durable: () => unflushed.flushed(mark) }
    },
    sweepNonces: async () => {
      const now = clock.now()
      const partnerIds = await store.partnersWithExpiredNonces(db, now, sweptUpTo, sweepPartnersMax)
      // The next sweep continues here, because otherwise the first busy partners would take up every sweep.
      sweptUpTo = partnerIds.length < sweepPartnersMax ? nilId : (partnerIds.at(-1) ?? nilId)
      let swept = 0
      for (const partnerId of partnerIds) swept += await store.deleteExpiredNonces(db, partnerId, now, sweepNoncesMax)
      return swept
    },
  }
}

/** Consumes nonces, and returns true for each new one. Of two equal nonces in a batch, the second is a replay. */
async function consumeNonces(tx: Tx, nonces: readonly Nonce[]): Promise<readonly boolean[]> {
  if (nonces.length === 0) return []
  const nonceKey = (row: Omit<Nonce, 'expiresAt'>) => partnerKey(row.partnerId, row.serviceAccountId, row.nonce)
  const fresh = new Set((await store.insertNonces(tx, nonces)).map(nonceKey))
  return nonces.map((nonce) => fresh.delete(nonceKey(nonce)))
}

/** The results of the reads before the work of a batch. `replays`: calls whose nonce was consumed before. */
type BatchChecks<In, Read> = { readonly replays: ReadonlySet<In>; readonly read: Read }

/**
 * Creates a batcher whose transactions also consume the nonces of their calls, so that a call and its nonce commit together or
 * not at all. Refuses a replay (401 nonce_replayed) before `work` sees it.
 */
export function createNonceBatcher<In extends { readonly nonce: OpenNonce | undefined }, Out, Read>(
  options: BatcherOptions<In, Out, Read> & { readonly read: (tx: Tx, calls: readonly In[]) => Promise<Read> },
): Batcher<In, Out> {
  const batched = createBatcher<In, Out, BatchChecks<In, Read>>({
    ...options,
    read: async (tx, calls) => {
      const open = calls.flatMap((call) => (call.nonce && !call.nonce.consumed ? [{ call, nonce: call.nonce }] : []))
      const consuming = consumeNonces(
        tx,
        open.map(({ nonce }) => nonce),
      )
      const [fresh, read] = await Promise.all([consuming, options.read(tx, calls)])
      return { replays: new Set(open.filter((_, index) => !fresh[index]).map(({ call }) => call)), read }
    },
    work: async (tx, calls, { replays, read }, line) => {
      if (replays.size === 0) return options.work(tx, calls, read, line)
      const admitted = calls.filter((call) => !replays.has(call))
      const outcomes = await options.work(tx, admitted, read, line)
      const byCall = new Map(admitted.map((call, index) => [call, outcomes[index] as Out | Refusal]))
      return calls.map((call) =>
        replays.has(call) ? new Refusal('nonce_replayed') : (byCall.get(call) as Out | Refusal),
      )
    },
  })
  // A result or a refusal means that the transaction committed. Any other failure means that it did not.
  const markConsumed = ({ nonce }: In) => {
    if (nonce) nonce.consumed = true
  }
  return async (call) => {
    try {
      const outcome = await batched(call)
      markConsumed(call)
      return outcome
    } catch (error) {
      if (error instanceof Refusal) markConsumed(call)
      throw error
    }
  }
}

const usesPerBatchMax = 500
const recordedMax = 10_000

/**
 * Creates the recorder of the last use of credentials. It writes at most once a minute, outside the request's transaction, and
 * returns at once. A use that cannot be written is written with the next one.
 */
function createUseRecorder(deps: { readonly db: Tx; readonly clock: Clock }) {
  const { db, clock } = deps
  const recordedMs = new Map<string, number>()
  const record = createBatcher({
    db: withoutTransaction(db),
    work: async (tx: Tx, uses: readonly store.CredentialUse[]) => {
      await store.recordUses(tx, uses)
      return uses.map(() => undefined)
    },
    callsMax: usesPerBatchMax,
    batchesMax: 1,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return ({ partnerId, serviceAccountId: id }: Caller): void => {
    const key = partnerKey(partnerId, id)
    const usedAt = clock.now()
    const last = recordedMs.get(key)
    if (last !== undefined && Math.abs(usedAt.getTime() - last) < minuteMs) return
    if (recordedMs.size >= recordedMax) recordedMs.clear()
    recordedMs.set(key, usedAt.getTime())
    record({ partnerId, id, usedAt }).catch(() => recordedMs.delete(key))
  }
}
