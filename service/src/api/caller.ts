/** The authenticated caller. The gateway creates it once the signature is verified; modules see nothing else of authentication. */
import type { Permission, SignedApproval } from '@partner-payments/wire'

/** Null: no end. An empty list: any address. */
export type KeyBounds = { readonly expiresAt: Date | null; readonly allowedAddresses: readonly string[] }

export type Caller = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** The end and the addresses of a service account, which its holder passes to no other one. Absent: a person, or a key without either. */
  readonly bounds?: KeyBounds
  /** Time at which the person signed in in the console. Absent: a service account. */
  readonly signedInAt?: Date
  /** The staff member of an impersonation session. Its writes are refused. */
  readonly impersonatedBy?: string
  /** How the person has confirmed this request. Only for requests that a page has asked to confirm. */
  readonly confirmation?: SignedApproval
  /** Id of the request that it sends. */
  readonly requestId?: string
}
