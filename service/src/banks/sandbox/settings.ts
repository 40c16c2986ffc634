/** The settings of the sandbox bank and the simulated chain. */
import { integer, type Settings } from '../../kernel/index.ts'

export const sandboxSettings = {
  SANDBOX_BANK_DELAY_MS: {
    default: '500',
    description: 'Milliseconds between two steps of the sandbox bank, and between two blocks of the simulated chain',
    read: integer(0, 3_600_000, 500),
  },
} as const satisfies Settings
