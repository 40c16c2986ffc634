/** Issues the credentials of service accounts, and caches them to verify requests. */
import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { Permission } from '@partner-payments/wire'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { type Clock, newId, partnerKey, randomToken, type Sealer, secondMs } from '../kernel/index.ts'
import { createBatcher, type Tx, withoutTransaction } from '../postgres/index.ts'
import { apiKeyPartnerId, newApiKey } from './rules.ts'
import * as store from './store.ts'
import { BlockList, isIP } from 'node:net'

export type Credential = {
  readonly caller: Caller
  readonly apiSecret: string
  readonly publicKey: KeyObject
  /** Reports whether a client with this address may use the credential. Undefined: every client may. */
  readonly allows?: ((ip: string) => boolean) | undefined
}

/** A new credential, shown once. `privateKeyPem` is absent if the partner supplied its own public key. */
export type IssuedCredential = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly privateKeyPem?: string
}

export type CredentialRequest = {
  readonly partnerId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly publicKeyPem?: string
  readonly impersonatedBy?: string
  /** Null or absent: no expiry. */
  readonly expiresAt?: Date | null
  /** The person or key that creates the service account. Absent: the operator. */
  readonly issuer?: store.Issuer | null
  /** Addresses and networks of allowed clients. Absent or empty: any address. */
  readonly allowedAddresses?: readonly string[]
}

const generateKeys = promisify(generateKeyPair)
const rsaBits = 2048
/** How long a process may still accept a revoked key. */
export const credentialTtlMs = 2 * secondMs
const credentialsCachedMax = 10_000
const credentialsPerBatchMax = 100
const batchesUnderWayMax = 2

export const secretContext = (partnerId: string, id: string) => ['access.api_secret', partnerId, id]

export function createCredentialIssuer({ clock, sealer }: { readonly clock: Clock; readonly sealer: Sealer }) {
  return async (tx: Tx, request: CredentialRequest): Promise<IssuedCredential> => {
    const { partnerId, name, permissions } = request
    if (!(await store.partnerById(tx, partnerId))) throw new Refusal('not_found', 'No such partner.')
    const generated =
      request.publicKeyPem === undefined ? await generateKeys('rsa', { modulusLength: rsaBits }) : undefined
    const publicKey = generated?.publicKey ?? createPublicKey(request.publicKeyPem ?? '')
    const id = newId()
    const apiKey = newApiKey(partnerId)
    const apiSecret = randomToken()
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
        allowedAddresses: request.allowedAddresses ?? [],
        impersonatedBy: request.impersonatedBy ?? null,
        issuer: request.issuer ?? null,
        expiresAt: request.expiresAt ?? null,
      },
      clock.now(),
    )
    const privateKeyPem = generated?.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return { partnerId, serviceAccountId: id, apiKey, apiSecret, ...(privateKeyPem ? { privateKeyPem } : {}) }
  }
}

type CachedCredential = {
  readonly row: store.ServiceAccountRow
  readonly credential: Credential
  readonly until: number
}

/**
 * Caches credentials by key, and reads the row of a key again after `credentialTtlMs`. Parses the public key and decrypts the
 * secret again only if the row has changed.
 */
export function createCredentialCache(deps: {
  readonly db: Tx
  readonly clock: Clock
  readonly sealer: Sealer
}): (apiKey: string) => Promise<Credential | undefined> {
  const { clock, sealer } = deps
  const cache = new Map<string, CachedCredential>()
  const read = createRowReader(deps)
  return async (apiKey) => {
    const partnerId = apiKeyPartnerId(apiKey)
    if (partnerId === undefined) return undefined
    const now = clock.now()
    const isValid = ({ expiresAt }: store.ServiceAccountRow) => expiresAt === null || expiresAt > now
    const cached = cache.get(apiKey)
    if (cached && cached.until > now.getTime()) return isValid(cached.row) ? cached.credential : undefined
    const row = await read(partnerId, apiKey)
    if (!row || !isValid(row)) {
      cache.delete(apiKey)
      return undefined
    }
    const credential = cached && isSame(cached.row, row) ? cached.credential : toCredential(row, sealer)
    if (cache.size >= credentialsCachedMax) cache.clear()
    cache.set(apiKey, { row, credential, until: now.getTime() + credentialTtlMs })
    return credential
  }
}

/**
 * Creates the function that reads the row of a key. Concurrent reads of different keys share a statement, and those of
 * the same key share a read.
 */
function createRowReader({ db }: { readonly db: Tx }) {
  const find = createBatcher({
    db: withoutTransaction(db),
    work: findServiceAccounts,
    callsMax: credentialsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
  })
  const pending = new Map<string, Promise<store.ServiceAccountRow | undefined>>()
  return (partnerId: string, apiKey: string) => {
    const reading = pending.get(apiKey) ?? find({ partnerId, apiKey }).finally(() => pending.delete(apiKey))
    pending.set(apiKey, reading)
    return reading
  }
}

export function toCredential(row: store.ServiceAccountRow, sealer: Sealer): Credential {
  const { partnerId, expiresAt } = row
  const allowedAddresses = row.allowedAddresses.split(' ').filter(Boolean)
  return {
    caller: {
      partnerId,
      serviceAccountId: row.id,
      name: row.name,
      permissions: row.permissions.split(' ').filter(Boolean) as Permission[],
      ...(expiresAt === null && allowedAddresses.length === 0 ? {} : { bounds: { expiresAt, allowedAddresses } }),
      ...(row.impersonatedBy === null ? {} : { impersonatedBy: row.impersonatedBy }),
    },
    apiSecret: sealer.open(row.apiSecretSealed, secretContext(partnerId, row.id)),
    publicKey: createPublicKey(row.publicKeyPem),
    allows: createAddressCheck(allowedAddresses),
  }
}

const isSame = (a: store.ServiceAccountRow, b: store.ServiceAccountRow): boolean =>
  a.id === b.id &&
  a.name === b.name &&
  a.permissions === b.permissions &&
  a.allowedAddresses === b.allowedAddresses &&
  a.publicKeyPem === b.publicKeyPem &&
  a.impersonatedBy === b.impersonatedBy &&
  a.expiresAt?.getTime() === b.expiresAt?.getTime() &&
  a.apiSecretSealed.equals(b.apiSecretSealed)

async function findServiceAccounts(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly apiKey: string }[],
): Promise<readonly (store.ServiceAccountRow | undefined)[]> {
  const rows = await store.serviceAccountsByKey(tx, keys)
  const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.apiKey), row]))
  return keys.map(({ partnerId, apiKey }) => byKey.get(partnerKey(partnerId, apiKey)))
}

// Pure: the addresses and networks (CIDR) from which a service account may be used.

type Family = 'ipv4' | 'ipv6'
const familyBits: Readonly<Record<Family, number>> = { ipv4: 32, ipv6: 128 }

const addressFamily = (address: string): Family | undefined =>
  isIP(address) === 4 ? 'ipv4' : isIP(address) === 6 ? 'ipv6' : undefined

type Network = { readonly address: string; readonly bits: number; readonly family: Family }

/**
 * Parses `203.0.113.7`, `203.0.113.0/24` or `2001:db8::/32`. Undefined: the text is neither an address nor a network.
 */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = addressFamily(address)
  if (family === undefined || rest.length > 0 || address.includes('%')) return undefined
  if (prefix === undefined) return { address, bits: familyBits[family], family }
  const bits = /^(?:0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : Infinity
  return bits <= familyBits[family] ? { address, bits, family } : undefined
}

/** The prefix of an IPv4 client's address on a dual-stack socket. */
const mapped = /^::ffff:(?=\d+\.)/i

/** Creates the check of client addresses. Undefined: every address is allowed, and there is nothing to check. */
export function createAddressCheck(networks: readonly string[]): ((ip: string) => boolean) | undefined {
  if (networks.length === 0) return undefined
  const list = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network) list.addSubnet(network.address, network.bits, network.family)
  }
  return (ip) => {
    const address = ip.replace(mapped, '')
    const family = addressFamily(address)
    return family !== undefined && list.check(address, family)
  }
}

/** Reports whether the outer networks contain every inner network. An empty list means every address. */
export function isWithinNetworks(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true
  const around = outer.flatMap((text) => parseNetwork(text) ?? [])
  return (
    inner.length > 0 &&
    inner.every((text) => {
      const network = parseNetwork(text)
      return network !== undefined && around.some((each) => contains(each, network))
    })
  )
}

function contains(outer: Network, inner: Network): boolean {
  if (outer.family !== inner.family || outer.bits > inner.bits) return false
  const list = new BlockList()
  list.addSubnet(outer.address, outer.bits, outer.family)
  return list.check(inner.address, inner.family)
}
