/** Dependencies of the checkout module. */
import type { Access } from '../access/index.ts'
import type { Cursors } from '../kernel/api/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { Clock, Sealer } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { BankSimulator } from '../rails/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { Deposits } from '../deposits/index.ts'
import type { Payouts } from '../payouts/index.ts'

export type CheckoutDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly access: Pick<Access, 'partnerName'>
  readonly accounts: Pick<Accounts, 'create'>
  readonly customers: Pick<
    Customers,
    'accountNamesOf' | 'byEmail' | 'create' | 'hold' | 'idOf' | 'payersByIds' | 'refusalAbove' | 'requireCapability'
  >
  readonly deposits: Deposits
  readonly eventOutbox: EventOutbox
  readonly payouts: Pick<Payouts, 'acceptance' | 'byIds' | 'byKey'>
  /** The bank of the payer. Undefined: not in the sandbox. */
  readonly bank: Omit<BankSimulator, 'scheduleDeposit' | 'stepMs'> | undefined
  /** Permits http to localhost as a return URL. */
  readonly sandbox: boolean
  /** The URL under which payers reach the service. */
  readonly publicUrl: string
}
