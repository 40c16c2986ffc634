/** Who is calling: made by the gateway once the signature holds, and the only thing that modules know of authentication. */
import type { Permission } from '@partner-payments/wire'

export type Caller = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly permissions: readonly Permission[]
  /** The staff member behind an impersonation session; its writes are refused. */
  readonly impersonatedBy?: string
}
