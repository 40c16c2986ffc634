/** Operations that list, rotate and expire the credentials of partners, for the operator and for partners. */
import type { Permission } from '@partner-payments/wire'
import { notFound, type PageRequest, Refusal } from '../kernel/api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { IssuedCredential, CredentialRequest } from './credentials.ts'
import * as store from './store.ts'

export type ListedPartner = store.ListedPartnerRow & {
  /** Number of valid service accounts, without impersonation sessions. */
  readonly serviceAccounts: number
  readonly lastUsedAt: Date | null
}
/** Called when the expiry of a service account is set or changed, in the same transaction. */
export type ExpiryListener = (
  tx: Tx,
  account: { readonly partnerId: string; readonly serviceAccountId: string; readonly expiresAt: Date },
) => void

export type ListedCredential = store.CredentialRow & { readonly status: 'valid' | 'expired' | 'revoked' }

type Rotation = {
  readonly partnerId: string
  readonly id: string
  readonly oldExpiresAt: Date
  readonly publicKeyPem?: string
  /** The person or key that rotates the service account. Absent: the operator. */
  readonly issuer?: store.Issuer | undefined
}

export type AccessManagement = {
  readonly partners: (tx: Tx) => Promise<readonly ListedPartner[]>
  /** Lists ids and names of all partners, in the order of their ids, without reading credentials. */
  readonly partnerNames: typeof store.listPartners
  /** Reads the names of partners, by their ids. */
  readonly namesOf: typeof store.partnerNamesById
  /** Lists all credentials of a partner, oldest first. Refuses: not_found (the partner). */
  readonly serviceAccounts: (tx: Tx, partnerId: string) => Promise<readonly ListedCredential[]>
  /**
   * Issues a new key and secret with the same name, permissions, addresses and expiry. The old ones stay valid until `oldExpiresAt`, or until
   * their own earlier expiry. Refuses: not_found (no valid account with this id, or an impersonation session).
   */
  readonly rotateServiceAccount: (tx: Tx, rotation: Rotation) => Promise<IssuedCredential>
  /** Lists service accounts, newest first, and one more than the limit. */
  readonly serviceAccountsPage: (
    tx: Tx,
    partnerId: string,
    page: PageRequest & { readonly status: store.CredentialStatus | undefined },
  ) => Promise<readonly ListedCredential[]>
  /** Reads a service account. Undefined: no account has the id. */
  readonly findServiceAccount: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential | undefined>
  /** Reads a service account. Refuses: not_found. */
  readonly serviceAccount: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential>
  /** Reads who created a service account. Undefined: the operator, or no account has the id. */
  readonly issuerOf: typeof store.serviceAccountIssuer
  /** Counts the partner's service accounts that can sign requests, without impersonation sessions. */
  readonly activeServiceAccounts: (tx: Tx, partnerId: string) => Promise<number>
  /** Locks an active service account until the end of the transaction. Refuses: not_found. */
  readonly lockServiceAccount: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential>
  /** Writes name, permissions, addresses and expiry of a locked service account. */
  readonly changeServiceAccount: typeof store.updateCredential
  /** Lists the ids of service accounts that a person or a key of the partner created. */
  readonly issuedBy: typeof store.serviceAccountIdsByIssuer
  /** Sets the expiry of a service account. Refuses: not_found (no such account, or already revoked). */
  readonly expireServiceAccount: (tx: Tx, partnerId: string, id: string, at: Date) => Promise<void>
  /** Expires every credential of a partner, and returns how many. Refuses: not_found (the partner). */
  readonly expirePartner: (tx: Tx, partnerId: string, at: Date) => Promise<number>
  /** Closes the credentials of a partner before its move to another database. Its requests get 401 after `credentialTtlMs`. */
  readonly closeCredentials: (tx: Tx, partnerId: string) => Promise<void>
  /** Reports whether the partner is closed for a move to another database. The members of its team are refused too. */
  readonly isClosed: (tx: Tx, partnerId: string) => Promise<boolean>
  /** Reopens the credentials after a move or a failed move. */
  readonly openCredentials: (tx: Tx, partnerId: string) => Promise<void>
}

const statusAt = ({ revokedAt, expiresAt }: store.CredentialRow, now: Date): ListedCredential['status'] => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

export function createManagement(deps: {
  readonly clock: Clock
  readonly issue: (tx: Tx, request: CredentialRequest) => Promise<IssuedCredential>
  readonly requirePartner: (tx: Tx, partnerId: string) => Promise<void>
  readonly onExpiring: ExpiryListener | undefined
}): AccessManagement {
  const { clock, issue, requirePartner, onExpiring } = deps

  const statusOf = (row: store.CredentialRow) => statusAt(row, clock.now())
  const listed = (rows: readonly store.CredentialRow[]) => rows.map((row) => ({ ...row, status: statusOf(row) }))
  const serviceAccounts = async (tx: Tx, partnerId: string): Promise<readonly ListedCredential[]> => {
    await requirePartner(tx, partnerId)
    return listed(await store.listCredentials(tx, partnerId))
  }

  const serviceAccount = async (
    row: Promise<store.CredentialRow | undefined>,
    isFit: (listed: ListedCredential) => boolean = () => true,
  ) => {
    const [found] = listed([await row].filter((each) => each !== undefined))
    if (found === undefined || !isFit(found)) throw notFound('service account')
    return found
  }

  const lockServiceAccount = (tx: Tx, partnerId: string, id: string) =>
    serviceAccount(
      store.lockCredential(tx, partnerId, id),
      ({ status, impersonatedBy }) => status === 'valid' && impersonatedBy === null,
    )

  return {
    serviceAccountsPage: async (tx, partnerId, page) =>
      listed(await store.credentialsPage(tx, partnerId, { ...page, now: clock.now() })),
    findServiceAccount: async (tx, partnerId, id) =>
      listed([await store.credentialRow(tx, partnerId, id)].flatMap((row) => row ?? []))[0],
    serviceAccount: (tx, partnerId, id) => serviceAccount(store.credentialRow(tx, partnerId, id)),
    activeServiceAccounts: (tx, partnerId) => store.countActiveServiceAccounts(tx, partnerId, clock.now()),
    lockServiceAccount,
    changeServiceAccount: async (tx, row) => {
      await store.updateCredential(tx, row)
      const { partnerId, serviceAccountId, expiresAt } = row
      if (expiresAt !== null) onExpiring?.(tx, { partnerId, serviceAccountId, expiresAt })
    },
    issuerOf: store.serviceAccountIssuer,
    issuedBy: store.serviceAccountIdsByIssuer,
    partnerNames: store.listPartners,
    namesOf: store.partnerNamesById,
    partners: async (tx) => {
      const totals = new Map((await store.credentialTotals(tx, clock.now())).map((row) => [row.partnerId, row]))
      return (await store.listPartners(tx)).map((row) => {
        const total = totals.get(row.partnerId)
        return { ...row, serviceAccounts: total?.serviceAccounts ?? 0, lastUsedAt: total?.lastUsedAt ?? null }
      })
    },
    serviceAccounts,
    rotateServiceAccount: async (tx, { partnerId, id, oldExpiresAt, publicKeyPem, issuer = null }) => {
      const old = await lockServiceAccount(tx, partnerId, id)
      const permissions = old.permissions as readonly Permission[]
      const { name, allowedAddresses, expiresAt } = old
      // The new key keeps the expiry, because otherwise an expiring key could replace itself for ever.
      const request = { partnerId, name, permissions, allowedAddresses, expiresAt, issuer }
      const issued = await issue(tx, publicKeyPem === undefined ? request : { ...request, publicKeyPem })
      await store.setReplaces(tx, partnerId, issued.serviceAccountId, id)
      if (old.expiresAt === null || old.expiresAt > oldExpiresAt)
        await store.expireServiceAccount(tx, partnerId, id, oldExpiresAt)
      return issued
    },
    expireServiceAccount: async (tx, partnerId, id, at) => {
      if ((await store.expireServiceAccount(tx, partnerId, id, at)) === 0)
        throw new Refusal('not_found', 'No such service account.')
    },
    expirePartner: async (tx, partnerId, at) => {
      await requirePartner(tx, partnerId)
      return store.expireAllCredentials(tx, partnerId, at)
    },
    closeCredentials: store.closeCredentials,
    isClosed: store.areCredentialsClosed,
    openCredentials: store.openCredentials,
  }
}
