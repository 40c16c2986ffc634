/** Pure: the states of a transaction. */
import type { TransactionStatus } from '@partner-payments/wire'

export type FinalStatus = Exclude<TransactionStatus, 'Pending'>

/** Contract page: Pending leads to exactly one of four final statuses. */
const transitions = {
  Pending: ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'],
  Completed: [],
  Unsuccessful: [],
  Cancelled: [],
  Expired: [],
} as const satisfies Record<TransactionStatus, readonly TransactionStatus[]>

export function mayMove(from: TransactionStatus, to: TransactionStatus): boolean {
  return (transitions[from] as readonly TransactionStatus[]).includes(to)
}
