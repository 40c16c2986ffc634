import { integer, type Settings } from '../../kernel/index.ts'

export const payoutsSettings = {
  PAYOUT_ATTEMPTS_MAX: {
    default: '300',
    description:
      'Attempts to submit a payout to a bank that does not answer. Then it fails as `BankUnreachable`, if the bank does not have it. 300 attempts take about a day',
    read: integer(1, 10_000, 300),
  },
} as const satisfies Settings
