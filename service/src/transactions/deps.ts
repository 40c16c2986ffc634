/** Dependencies of the verbs of transactions. */
import type { Cursors } from '../kernel/api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Audit } from '../audit/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { Database } from '../postgres/index.ts'
import type { Customers } from '../parties/customers/index.ts'

export type TransactionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly audit: Pick<Audit, 'append' | 'proof' | 'makerOf'>
  /** How far the clocks of the processes and of the database may differ. */
  readonly clockDifferenceMsMax: number
}
