/** What the deposits module is composed of. */
import type { Access } from '../../access/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Cases } from '../../cases/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Customers } from '../customers/index.ts'
import type { Transactions } from '../transactions/index.ts'

export type DepositsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly access: Access
  readonly cases: Pick<Cases, 'record'>
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly transactions: Transactions
}

/** The accounts of a credit: from the settlement account of a connector to the partner's balance. */
export const credit = (connector: string, partnerId: string) =>
  ({ partnerId, debit: `settlement.${connector}`, credit: 'balance' }) as const
