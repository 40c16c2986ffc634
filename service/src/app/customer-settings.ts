/** The settings of customers: whose money pays, what they may do, and how long their data are kept. */
import { identitySettings } from '../parties/identity-port/settings.ts'
import { integer, oneOf, type Settings } from '../kernel/index.ts'
import { monitoringSettings } from '../monitoring/settings.ts'
import { screeningSettings } from '../screening/settings.ts'

export const customerSettings = {
  ...screeningSettings,
  ...monitoringSettings,
  ...identitySettings,
  CUSTOMER_RETENTION_YEARS: {
    default: '5',
    description:
      'Years after the request for erasure, or a later payment, for which the names, birth date, address, identifiers and payments of an erased customer are kept (AMLD, Art. 40)',
    read: integer(0, 30, 5),
  },
  CUSTOMER_MONEY: {
    default: 'pooled in a sandbox; segregated in production',
    description:
      'Whether a new balance is `segregated`, so that a payout for a customer uses only the money of that customer, or `pooled`. Balances that exist stay as they are (`operator segregation set`)',
    read: (value: string | undefined, mode) =>
      oneOf(['pooled', 'segregated'], mode === 'sandbox' ? 'pooled' : 'segregated')(value),
  },
  KYC_GATES: {
    default: 'open in a sandbox; strict in production',
    description:
      'What customers may do whose partner has no gate (`operator gate set`). `open`: everything. `strict`: only one whose verification is `Complete` opens accounts, receives and pays',
    read: (value: string | undefined, mode) => oneOf(['open', 'strict'], mode === 'sandbox' ? 'open' : 'strict')(value),
  },
  CUSTOMER_IDENTIFIERS: {
    default: 'unique',
    description:
      'Whether a `partnerCustomerIdentifier` names one customer (`unique`: another one with it is 409) or several (`shared`)',
    read: (value: string | undefined) => oneOf(['unique', 'shared'], 'unique')(value),
  },
} as const satisfies Settings
