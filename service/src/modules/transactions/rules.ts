/** Pure: the states of a transaction. */
import type { ErrorKey, TransactionStatus } from '@partner-payments/wire'

export type FinalStatus = Exclude<TransactionStatus, 'Pending'>

/** Contract page: Pending leads to exactly one of the four; all four are final. */
export const transitions = {
  Pending: ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'],
  Completed: [],
  Unsuccessful: [],
  Cancelled: [],
  Expired: [],
} as const satisfies Record<TransactionStatus, readonly TransactionStatus[]>

export function mayMove(from: TransactionStatus, to: TransactionStatus): boolean {
  return (transitions[from] as readonly TransactionStatus[]).includes(to)
}

export type Conclusion = { readonly status: FinalStatus; readonly errorKey?: ErrorKey }
