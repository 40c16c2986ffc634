/** Pure: the statuses of a deposit. */
export const depositStatuses = [
  'Created',
  'Initiated',
  'Submitted',
  'PartiallyPaid',
  'Accepted',
  'Screening',
  'Completed',
  'Failed',
  'Expired',
] as const
export type DepositStatus = (typeof depositStatuses)[number]
