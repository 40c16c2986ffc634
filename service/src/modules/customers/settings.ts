import { oneOf, type Settings } from '../../kernel/index.ts'
import { gateDefaults } from './gate-rules.ts'

export const customerSettings = {
  KYC_GATES: {
    default: 'open in a sandbox; strict in production',
    description:
      'What customers may do whose partner has no gate (`operator gate set`). `open`: everything. `strict`: only one whose verification is `Complete` opens accounts, receives and pays',
    read: (value: string | undefined, mode) => oneOf(gateDefaults, mode === 'sandbox' ? 'open' : 'strict')(value),
  },
} as const satisfies Settings
