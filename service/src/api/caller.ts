/** The authenticated caller. The gateway creates it once the signature is verified; modules see nothing else of authentication. */
import type { Permission, SignedApproval } from '@partner-payments/wire'

export type Caller = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** The staff member of an impersonation session. Its writes are refused. */
  readonly impersonatedBy?: string
  /** How the person has confirmed this request. Only for requests that a page has asked to confirm. */
  readonly confirmation?: SignedApproval
  /** Id of the request that it sends. */
  readonly requestId?: string
}
