import { integer, type Settings } from '../kernel/index.ts'

const daysMax = 365

export const payoutsSettings = {
  DUPLICATE_PAYMENT_DAYS: {
    default: '14',
    description:
      'Days within which a payout of the same amount to the same account counts as a possible duplicate of an earlier payout, or of the next payout of a standing order. With the same reference it counts for a year. 0: only with the same reference',
    read: integer(0, daysMax, 14),
  },
} as const satisfies Settings
