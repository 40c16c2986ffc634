/** Operator actions on partners and their credentials: list, rotate, expire. */
import type { Permission } from '@partner-payments/wire'
import { notFound, type PageRequest, Refusal } from '../kernel/api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { IssuedCredential, IssueRequest } from './credentials.ts'
import { type Issuer, issuerOf } from './store.ts'
import * as store from './store.ts'

export type ListedPartner = store.ListedPartnerRow & {
  /** Valid now, without impersonation sessions. */
  readonly serviceAccounts: number
  readonly lastUsedAt: Date | null
}
/** A service account gets an end, or another one. Joins the transaction. */
export type OnExpiring = (
  tx: Tx,
  account: { readonly partnerId: string; readonly serviceAccountId: string; readonly expiresAt: Date },
) => void

export type ListedCredential = store.CredentialRow & { readonly status: 'valid' | 'expired' | 'revoked' }

type Rotation = {
  readonly partnerId: string
  readonly id: string
  readonly oldExpiresAt: Date
  readonly publicKeyPem?: string
  /** The maker of the new key. Absent: the operator. */
  readonly issuer?: Issuer | undefined
}

export type AccessManagement = {
  readonly partners: (tx: Tx) => Promise<readonly ListedPartner[]>
  /** Ids and names of all partners, in the order of their ids. Reads no credential. */
  readonly partnerNames: typeof store.partners
  /** The names of these partners, by their ids. */
  readonly namesOf: typeof store.namesOf
  /** All credentials of a partner, oldest first. Refuses: not_found (the partner). */
  readonly serviceAccounts: (tx: Tx, partnerId: string) => Promise<readonly ListedCredential[]>
  /**
   * Issues a new key and secret with the same name, permissions, addresses and end. The old ones stay valid until `oldExpiresAt`, or until
   * their own earlier end. Refuses: not_found (no valid account of this id, or an impersonation session).
   */
  readonly rotateServiceAccount: (tx: Tx, rotation: Rotation) => Promise<IssuedCredential>
  /** The newest first, one more than the limit. */
  readonly serviceAccountsPage: (
    tx: Tx,
    partnerId: string,
    page: PageRequest & { readonly status: store.CredentialStatus | undefined },
  ) => Promise<readonly ListedCredential[]>
  /** Undefined: no service account has the id. */
  readonly accountIfAny: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential | undefined>
  /** Refuses: not_found. */
  readonly serviceAccount: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential>
  /** The maker of a service account. Undefined: the operator, or no service account has the id. */
  readonly issuerOf: typeof issuerOf
  /** Counts those that can sign a request, without impersonation sessions. */
  readonly activeServiceAccounts: (tx: Tx, partnerId: string) => Promise<number>
  /** Locks an active service account of the partner until the end of the transaction. Refuses: not_found. */
  readonly lockServiceAccount: (tx: Tx, partnerId: string, id: string) => Promise<ListedCredential>
  /** Writes name, permissions, addresses and end of a service account that is locked. */
  readonly changeServiceAccount: typeof store.changeCredential
  /** The ids of the service accounts that a person or a key of the partner has made. */
  readonly issuedBy: typeof store.issuedBy
  /** Refuses: not_found (no such account, or already revoked). */
  readonly expireServiceAccount: (tx: Tx, partnerId: string, id: string, at: Date) => Promise<void>
  /** Expires every credential of a partner; returns how many. Refuses: not_found (the partner). */
  readonly expirePartner: (tx: Tx, partnerId: string, at: Date) => Promise<number>
  /** Closes a partner's credentials before it is moved: its requests get 401 after `credentialTtlMs`. */
  readonly closeCredentials: (tx: Tx, partnerId: string) => Promise<void>
  /** Reports whether the partner is closed for a move. People of its team are refused as long. */
  readonly isClosed: (tx: Tx, partnerId: string) => Promise<boolean>
  /** Reopens the credentials after a move, or after a move that failed. */
  readonly openCredentials: (tx: Tx, partnerId: string) => Promise<void>
}

const statusAt = ({ revokedAt, expiresAt }: store.CredentialRow, now: Date): ListedCredential['status'] => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid'
}

export function createManagement(deps: {
  readonly clock: Clock
  readonly issue: (tx: Tx, request: IssueRequest) => Promise<IssuedCredential>
  readonly requirePartner: (tx: Tx, partnerId: string) => Promise<void>
  readonly onExpiring: OnExpiring | undefined
}): AccessManagement {
  const { clock, issue, requirePartner, onExpiring } = deps

  const statusOf = (row: store.CredentialRow) => statusAt(row, clock.now())
  const listed = (rows: readonly store.CredentialRow[]) => rows.map((row) => ({ ...row, status: statusOf(row) }))
  const serviceAccounts = async (tx: Tx, partnerId: string): Promise<readonly ListedCredential[]> => {
    await requirePartner(tx, partnerId)
    return listed(await store.credentials(tx, partnerId))
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
    accountIfAny: async (tx, partnerId, id) =>
      listed([await store.credentialRow(tx, partnerId, id)].flatMap((row) => row ?? []))[0],
    serviceAccount: (tx, partnerId, id) => serviceAccount(store.credentialRow(tx, partnerId, id)),
    activeServiceAccounts: (tx, partnerId) => store.countActive(tx, partnerId, clock.now()),
    lockServiceAccount,
    changeServiceAccount: async (tx, row) => {
      await store.changeCredential(tx, row)
      const { partnerId, serviceAccountId, expiresAt } = row
      if (expiresAt !== null) onExpiring?.(tx, { partnerId, serviceAccountId, expiresAt })
    },
    issuerOf,
    issuedBy: store.issuedBy,
    partnerNames: store.partners,
    namesOf: store.namesOf,
    partners: async (tx) => {
      const totals = new Map((await store.credentialTotals(tx, clock.now())).map((row) => [row.partnerId, row]))
      return (await store.partners(tx)).map((row) => {
        const total = totals.get(row.partnerId)
        return { ...row, serviceAccounts: total?.serviceAccounts ?? 0, lastUsedAt: total?.lastUsedAt ?? null }
      })
    },
    serviceAccounts,
    rotateServiceAccount: async (tx, { partnerId, id, oldExpiresAt, publicKeyPem, issuer = null }) => {
      const old = await lockServiceAccount(tx, partnerId, id)
      const permissions = old.permissions as readonly Permission[]
      const { name, allowedAddresses, expiresAt } = old
      // With the end as well: a key that has one would else replace itself for ever.
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
      return store.expireAll(tx, partnerId, at)
    },
    closeCredentials: store.closeCredentials,
    isClosed: store.isClosed,
    openCredentials: store.openCredentials,
  }
}
