import { integer, type Mode, oneOf, type Settings } from '../kernel/index.ts'

export const railsSettings = {
  RAIL: {
    default: 'sandbox; none in production',
    description: '`sandbox` or `none`: the bank connector that carries payouts',
    read: (value: string | undefined, mode: Mode) =>
      oneOf(['sandbox', 'none'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
  SANDBOX_BANK_DELAY_MS: {
    default: '500',
    description: 'Milliseconds between two steps of the sandbox bank',
    read: integer(0, 3_600_000, 500),
  },
} as const satisfies Settings
