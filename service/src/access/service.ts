/** The verbs of access. */
import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { type Permission, permissions as allPermissions } from '@partner-payments/wire'
import { type Caller, type Nonce, Refusal } from '../api/index.ts'
import { after, type Clock, minuteMs, newId, nilId, randomToken, type Sealer, secondMs } from '../kernel/index.ts'
import { createBatcher, type Database, type Tx, withoutTransaction } from '../postgres/index.ts'
import { spendNonces } from './nonces.ts'
import { apiKeyPartner, newApiKey } from './rules.ts'
import * as store from './store.ts'

export type Credential = { readonly caller: Caller; readonly apiSecret: string; readonly publicKey: KeyObject }

/** Shown once, when it is made. `privateKeyPem` is absent where the partner brought its own public key. */
export type IssuedCredential = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly privateKeyPem?: string
}

type ServiceAccountRequest = {
  readonly partnerId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly publicKeyPem?: string
}

export type SpentNonce = { readonly fresh: boolean; readonly durable: () => Promise<void> }

export type Access = {
  readonly createPartner: (tx: Tx, name: string, id?: string) => Promise<string>
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** RSA 2048; the private key is generated here unless the partner brings its public key. */
  readonly createServiceAccount: (tx: Tx, request: ServiceAccountRequest) => Promise<IssuedCredential>
  /** A marked credential that may read everything and write nothing, for `minutes` (1 to 60). */
  readonly impersonate: (tx: Tx, partnerId: string, staff: string, minutes: number) => Promise<IssuedCredential>
  readonly revoke: (tx: Tx, partnerId: string, serviceAccountId: string) => Promise<void>
  /** The credential of an API key, or undefined: unknown, revoked or expired. Remembered for two seconds. */
  readonly credential: (apiKey: string) => Promise<Credential | undefined>
  /**
   * Spends a nonce, which is fresh once per service account. `swiftly`: it is there for
   * all to see at once, and on the disk when `durable` resolves, for free where a durable commit has followed; nothing may
   * be answered before.
   */
  readonly spendNonce: (nonce: Nonce, swiftly: boolean) => Promise<SpentNonce>
  /** Forgets nonces that no timestamp could make acceptable again; answers how many. */
  readonly sweepNonces: () => Promise<number>
}

const generateKeys = promisify(generateKeyPair)
const rsaBits = 2048
/** How long a revoked key may still be accepted by a process that has just seen it. */
const credentialTtlMs = 2 * secondMs
const credentialsCachedMax = 10_000
const credentialsPerBatchMax = 100
const impersonationMinutesMax = 60
const sweepNoncesMax = 10_000
const sweepPartnersMax = 100
const noncesPerBatchMax = 256
const batchesUnderWayMax = 2

const secretContext = (partnerId: string, id: string) => ['access.api_secret', partnerId, id]

export function createAccess(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** The database is sharded by partner: a batch is of one. */
  readonly sharded?: boolean
}): Access {
  const { db, clock, sealer } = deps
  let sweptUpTo = nilId
  const { sharded = false } = deps
  const batches = {
    work: spendNonces,
    callsMax: noncesPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Nonce) => partnerId,
    sharded,
  }
  const spend = createBatcher({ ...batches, db })
  // One statement needs no `begin`. What a shard has not flushed is no other shard's commit to flush.
  const { unflushed } = db
  const spendSwiftly = createBatcher({ ...batches, db: withoutTransaction(unflushed) })

  const issue = async (
    tx: Tx,
    request: ServiceAccountRequest & { readonly impersonatedBy?: string; readonly expiresAt?: Date },
  ): Promise<IssuedCredential> => {
    const { partnerId, name, permissions } = request
    if (!(await store.partnerById(tx, partnerId))) throw new Refusal('not_found', 'No such partner.')
    const generated =
      request.publicKeyPem === undefined ? await generateKeys('rsa', { modulusLength: rsaBits }) : undefined
    const publicKey = generated?.publicKey ?? createPublicKey(request.publicKeyPem ?? '')
    const [id, apiKey, apiSecret] = [newId(), newApiKey(partnerId), randomToken()]
    await store.insertServiceAccount(
      tx,
      {
        partnerId,
        id,
        name,
        apiKey,
        permissions,
        apiSecretSealed: sealer.seal(apiSecret, secretContext(partnerId, id)),
        publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        impersonatedBy: request.impersonatedBy ?? null,
        expiresAt: request.expiresAt ?? null,
      },
      clock.now(),
    )
    const privateKeyPem = generated?.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { partnerId, serviceAccountId: id, apiKey, apiSecret, ...(privateKeyPem ? { privateKeyPem } : {}) }
  }

  return {
    createPartner: async (tx, name, id = newId()) => {
      await store.insertPartner(tx, id, name, clock.now())
      return id
    },
    partnerIds: store.partnerIds,
    partnerName: async (tx, partnerId) => (await store.partnerById(tx, partnerId))?.name ?? '',
    createServiceAccount: issue,
    impersonate: (tx, partnerId, staff, minutes) => {
      const expiresAt = after(clock.now(), Math.min(Math.max(minutes, 1), impersonationMinutesMax) * minuteMs)
      // All permissions, so that a write is told apart as blocked, not as lacking a permission.
      const request = { partnerId, name: `Impersonation by ${staff}`, permissions: allPermissions }
      return issue(tx, { ...request, impersonatedBy: staff, expiresAt })
    },
    revoke: async (tx, partnerId, serviceAccountId) => {
      const revoked = await store.revokeServiceAccount(tx, partnerId, serviceAccountId, clock.now())
      if (revoked === 0) throw new Refusal('not_found', 'No such service account.')
    },
    credential: createCredentialCache(deps),
    spendNonce: async (nonce, swiftly) => {
      if (sharded || !swiftly) return { fresh: await spend(nonce), durable: () => Promise.resolve() }
      const fresh = await spendSwiftly(nonce)
      const mark = unflushed.mark()
      return { fresh, durable: () => unflushed.flushed(mark) }
    },
    sweepNonces: async () => {
      const now = clock.now()
      const partnerIds = await store.partnersWithExpiredNonces(db, now, sweptUpTo, sweepPartnersMax)
      // On from here the next time: while many are busy, the first ones always have something.
      sweptUpTo = partnerIds.length < sweepPartnersMax ? nilId : (partnerIds.at(-1) ?? nilId)
      let swept = 0
      for (const partnerId of partnerIds) swept += await store.deleteExpiredNonces(db, partnerId, now, sweepNoncesMax)
      return swept
    },
  }
}

/** Each looked at once every two seconds; keys are parsed and secrets opened once, as long as the row is the same. */
function createCredentialCache({
  db,
  clock,
  sealer,
  sharded = false,
}: Parameters<typeof createAccess>[0]): Access['credential'] {
  type Cached = { readonly row: store.ServiceAccountRead; readonly credential: Credential; until: number }
  const cache = new Map<string, Cached>()
  // Those that ran out together are looked at together: a thousand partners are not a thousand statements.
  const find = createBatcher({
    db: withoutTransaction(db),
    work: findServiceAccounts,
    callsMax: credentialsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
    sharded,
  })
  const looking = new Map<string, Promise<store.ServiceAccountRead | undefined>>()
  const look = (partnerId: string, apiKey: string) => {
    const under = looking.get(apiKey) ?? find({ partnerId, apiKey }).finally(() => looking.delete(apiKey))
    looking.set(apiKey, under)
    return under
  }
  const make = (row: store.ServiceAccountRead): Credential => {
    const { partnerId } = row
    return {
      caller: {
        partnerId,
        serviceAccountId: row.id,
        name: row.name,
        permissions: row.permissions.split(' ').filter(Boolean) as Permission[],
        ...(row.impersonatedBy === null ? {} : { impersonatedBy: row.impersonatedBy }),
      },
      apiSecret: sealer.open(row.apiSecretSealed, secretContext(partnerId, row.id)),
      publicKey: createPublicKey(row.publicKeyPem),
    }
  }

  return async (apiKey) => {
    const partnerId = apiKeyPartner(apiKey)
    if (partnerId === undefined) return undefined
    const now = clock.now()
    const alive = ({ expiresAt }: store.ServiceAccountRead) => expiresAt === null || expiresAt > now
    const cached = cache.get(apiKey)
    if (cached && cached.until > now.getTime()) return alive(cached.row) ? cached.credential : undefined
    const row = await look(partnerId, apiKey)
    if (!row || !alive(row)) {
      cache.delete(apiKey)
      return undefined
    }
    const credential = cached && isSame(cached.row, row) ? cached.credential : make(row)
    if (cache.size >= credentialsCachedMax) cache.clear()
    cache.set(apiKey, { row, credential, until: now.getTime() + credentialTtlMs })
    return credential
  }
}

const isSame = (a: store.ServiceAccountRead, b: store.ServiceAccountRead): boolean =>
  a.id === b.id &&
  a.name === b.name &&
  a.permissions === b.permissions &&
  a.publicKeyPem === b.publicKeyPem &&
  a.impersonatedBy === b.impersonatedBy &&
  a.apiSecretSealed.equals(b.apiSecretSealed)

async function findServiceAccounts(
  tx: Tx,
  wanted: readonly { readonly partnerId: string; readonly apiKey: string }[],
): Promise<readonly (store.ServiceAccountRead | undefined)[]> {
  const rows = await store.serviceAccountsByKey(tx, wanted)
  const byKey = new Map(rows.map((row) => [`${row.partnerId} ${row.apiKey}`, row]))
  return wanted.map(({ partnerId, apiKey }) => byKey.get(`${partnerId} ${apiKey}`))
}
