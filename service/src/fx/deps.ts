/** Dependencies of the verbs of fx. */
import type { Clock } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Database } from '../postgres/index.ts'
import type { FxTerms, Rates } from '../rates/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { Transactions } from '../transactions/index.ts'

export type FxDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly customers: Pick<
    Customers,
    'heldPayersByIds' | 'lockHolders' | 'payersByIds' | 'presentIdOf' | 'refusalAbove'
  >
  readonly ledger: Ledger
  readonly rates: Rates
  readonly transactions: Transactions
  readonly terms: FxTerms
}
