/** The verbs of access. */
import { type Permission, permissions as allPermissions } from '@partner-payments/wire'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { after, type Clock, minuteMs, newId, type Sealer } from '../kernel/index.ts'
import type { Database, SealedColumn, Tx } from '../postgres/index.ts'
import {
  createCredentialCache,
  createIssuer,
  type Credential,
  type IssuedCredential,
  secretContext,
  toCredential,
} from './credentials.ts'
import { type AccessManagement, createManagement } from './management.ts'
import { createNonceRegister, type NonceRegister } from './nonces.ts'
import * as store from './store.ts'
import { createUseRecorder } from './uses.ts'
import { createHash } from 'node:crypto'
import { linkTokenPartner, newLinkToken } from './rules.ts'

type ServiceAccountRequest = {
  readonly partnerId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly publicKeyPem?: string
  /** Null or absent: no end. */
  readonly expiresAt?: Date | null
  /** Addresses and networks from which it may be used. Absent or empty: any address. */
  readonly allowedAddresses?: readonly string[]
  /** The maker. Absent: the operator. */
  readonly issuer?: store.Issuer
}

export type Access = NonceRegister &
  AccessManagement &
  Support & {
    readonly createPartner: (tx: Tx, name: string, id?: string) => Promise<string>
    /** Replaces the legal name and the owners of a partner, which screening compares with its name. Refuses: not_found. */
    readonly nameOwners: (tx: Tx, partnerId: string, named: NamedPartner) => Promise<void>
    /** Every name of a partner and of its owners: `name`, `legalName`, `owner1`. Empty: no such partner. */
    readonly namesOfPartner: (tx: Tx, partnerId: string) => Promise<readonly PartnerName[]>
    /** Adds the operator: the partner whose ledger holds unclaimed money. Changes nothing if it exists. */
    readonly addOperator: (tx: Tx, id: string) => Promise<void>
    readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
    readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
    /** Uses the given public key, or generates an RSA 2048 key pair. Refuses: not_found (the partner). */
    readonly createServiceAccount: (tx: Tx, request: ServiceAccountRequest) => Promise<IssuedCredential>
    /**
     * Issues a credential that is valid for `minutes` (1 to 60) and marked with the staff member. It has every permission;
     * the gateway blocks its writes. Refuses: not_found (the partner).
     */
    readonly impersonate: (tx: Tx, partnerId: string, staff: string, minutes: number) => Promise<IssuedCredential>
    /** Refuses: not_found (no such account, or already revoked). */
    readonly revoke: (tx: Tx, partnerId: string, serviceAccountId: string) => Promise<void>
    /** Returns undefined for a key that is unknown, revoked or expired. Results are cached for two seconds. */
    readonly credential: (apiKey: string) => Promise<Credential | undefined>
    /** The credential of a caller. Refuses: not_found (revoked meanwhile). */
    readonly credentialOf: (caller: Caller) => Promise<Credential>
    /** Notes that the caller's signature was verified. Returns at once; the time is written later, once a minute. */
    readonly recordUse: (caller: Caller) => void
  }

const impersonationMinutesMax = 60

/** `legalName` null: the name of the partner is its legal name. */
export type NamedPartner = { readonly legalName: string | null; readonly owners: readonly string[] }
export type PartnerName = { readonly role: string; readonly name: string }

export function createAccess(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** Joins the transaction that names a partner. `before`: the names that are replaced. */
  readonly onNamed?: (tx: Tx, partnerId: string, before: readonly PartnerName[]) => Promise<void>
}): Access {
  const { clock, sealer, onNamed } = deps
  const issue = createIssuer(deps)
  const requirePartner = async (tx: Tx, partnerId: string) => {
    if (!(await store.partnerById(tx, partnerId))) throw new Refusal('not_found', 'No such partner.')
  }
  const namesOf = async (tx: Tx, partnerId: string): Promise<readonly PartnerName[]> =>
    (await store.namesOfOwners(tx, partnerId)).map(({ id, role, nameSealed }) => ({
      role,
      name: sealer.open(nameSealed, partnerNameContext(partnerId, id)),
    }))
  return {
    createPartner: async (tx, name, id = newId()) => {
      await store.insertPartner(tx, id, name, clock.now())
      await onNamed?.(tx, id, [])
      return id
    },
    nameOwners: async (tx, partnerId, { legalName, owners }) => {
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
    namesOfPartner: async (tx, partnerId) => {
      const partner = await store.partnerById(tx, partnerId)
      return partner === undefined ? [] : [{ role: 'name', name: partner.name }, ...(await namesOf(tx, partnerId))]
    },
    addOperator: (tx, id) => store.insertOperator(tx, id, clock.now()),
    partnerIds: store.partnerIds,
    partnerName: async (tx, partnerId) => (await store.partnerById(tx, partnerId))?.name ?? '',
    createServiceAccount: issue,
    impersonate: (tx, partnerId, staff, minutes) => {
      const expiresAt = after(clock.now(), Math.min(Math.max(minutes, 1), impersonationMinutesMax) * minuteMs)
      // With all permissions, a write is refused as impersonation_write_blocked and not as permission_denied.
      const request = { partnerId, name: `Impersonation by ${staff}`, permissions: allPermissions }
      return issue(tx, { ...request, impersonatedBy: staff, expiresAt })
    },
    revoke: async (tx, partnerId, serviceAccountId) => {
      const revoked = await store.revokeServiceAccount(tx, partnerId, serviceAccountId, clock.now())
      if (revoked === 0) throw new Refusal('not_found', 'No such service account.')
    },
    credential: createCredentialCache(deps),
    credentialOf: async ({ partnerId, serviceAccountId }) => {
      const row = await store.serviceAccountById(deps.db, partnerId, serviceAccountId)
      if (row === undefined) throw new Refusal('not_found', 'No such service account.')
      return toCredential(row, deps.sealer)
    },
    recordUse: createUseRecorder(deps),
    ...createManagement({ clock, issue, requirePartner }),
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

// Support sessions: an impersonation in the console of the partner. They are read only, and end with the impersonation.

export type SupportSession = Omit<store.SupportRow, 'permissions'> & { readonly permissions: readonly Permission[] }

type Support = {
  /** Issues the code by which the console opens, once and within two minutes. */
  readonly beginSupport: (
    tx: Tx,
    impersonation: { readonly partnerId: string; readonly id: string; readonly reason: string },
  ) => Promise<{ readonly code: string; readonly codeExpiresAt: Date }>
  /** Opens the session of a code. Undefined: the code is wrong, was used or is over, or the impersonation has ended. */
  readonly openSupport: (tx: Tx, code: string) => Promise<(SupportSession & { readonly token: string }) | undefined>
  /** Undefined: no such session, or its impersonation has expired or was revoked. */
  readonly supportSession: (token: string) => Promise<SupportSession | undefined>
}

const codeMs = 2 * minuteMs
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

function createSupport({ db, clock }: { readonly db: Database; readonly clock: Clock }): Support {
  const sessionOf = async (tx: Tx, token: string): Promise<SupportSession | undefined> => {
    const partnerId = linkTokenPartner(token)
    if (partnerId === undefined) return undefined
    const row = await store.supportByToken(tx, partnerId, hashOf(token), clock.now())
    return row && { ...row, permissions: row.permissions.split(' ').filter(Boolean) as Permission[] }
  }
  return {
    beginSupport: async (tx, { partnerId, id, reason }) => {
      const code = newLinkToken(partnerId)
      const createdAt = clock.now()
      const codeExpiresAt = after(createdAt, codeMs)
      await store.insertSupport(tx, { partnerId, id, reason, codeHash: hashOf(code), codeExpiresAt, createdAt })
      return { code, codeExpiresAt }
    },
    openSupport: async (tx, code) => {
      const partnerId = linkTokenPartner(code)
      if (partnerId === undefined) return undefined
      const token = newLinkToken(partnerId)
      const hashes = { codeHash: hashOf(code), tokenHash: hashOf(token) }
      if (!(await store.useCode(tx, partnerId, { ...hashes, now: clock.now() }))) return undefined
      const session = await sessionOf(tx, token)
      return session && { ...session, token }
    },
    supportSession: (token) => sessionOf(db, token),
  }
}
