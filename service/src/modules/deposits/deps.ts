/** What the deposits module is composed of. */
import type { Access } from '../../access/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Customers } from '../customers/index.ts'
import type { Transactions } from '../transactions/index.ts'

export type DepositsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly access: Access
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly transactions: Transactions
  readonly railId: string
}

/** The accounts of a credit: from the bank's settlement account to the partner's balance. */
export const credit = ({ railId }: DepositsDeps, partnerId: string) =>
  ({ partnerId, debit: `settlement.${railId}`, credit: 'balance' }) as const
