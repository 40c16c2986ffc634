import { integer, type Settings } from '../kernel/index.ts'

const daysMax = 365

export const payoutsSettings = {
  DUPLICATE_PAYMENT_DAYS: {
    default: '14',
    description:
      'Days for which a payout of the same amount to the same account may be a repetition of an earlier one, or of the next one of a standing order. With the same reference it may be one for a year. 0: only with the same reference',
    read: integer(0, daysMax, 14),
  },
} as const satisfies Settings
