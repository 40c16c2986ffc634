/** Pure: the statuses of a deposit. */
export const depositStatuses = [
  'Created',
  'Initiated',
  'Submitted',
  'Accepted',
  'Completed',
  'Failed',
  'Expired',
] as const
export type DepositStatus = (typeof depositStatuses)[number]

const transitions = {
  Created: ['Initiated', 'Failed', 'Expired'],
  Initiated: ['Submitted', 'Failed', 'Expired'],
  Submitted: ['Accepted', 'Failed'],
  Accepted: ['Completed', 'Failed'],
  Completed: [],
  Failed: [],
  Expired: [],
} as const satisfies Record<DepositStatus, readonly DepositStatus[]>

export function mayMove(from: DepositStatus, to: DepositStatus): boolean {
  return (transitions[from] as readonly DepositStatus[]).includes(to)
}

/** A deposit cannot expire once the bank has the payment. */
export const mayExpire = (status: DepositStatus) => mayMove(status, 'Expired')
