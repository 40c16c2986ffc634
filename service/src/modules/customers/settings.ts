import { oneOf, type Settings } from '../../kernel/index.ts'
import { gateDefaults } from './gate-rules.ts'
import { identifierUses } from './identifiers.ts'

export const customerSettings = {
  KYC_GATES: {
    default: 'open in a sandbox; strict in production',
    description:
      'What customers may do whose partner has no gate (`operator gate set`). `open`: everything. `strict`: only one whose verification is `Complete` opens accounts, receives and pays',
    read: (value: string | undefined, mode) => oneOf(gateDefaults, mode === 'sandbox' ? 'open' : 'strict')(value),
  },
  CUSTOMER_IDENTIFIERS: {
    default: 'unique',
    description:
      'Whether a `partnerCustomerIdentifier` names one customer (`unique`: another one with it is 409) or several (`shared`)',
    read: oneOf(identifierUses, 'unique'),
  },
} as const satisfies Settings
