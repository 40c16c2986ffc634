import { integer, oneOf, type Settings } from '../../kernel/index.ts'

const daysMax = 3650

export const verificationSettings = {
  PAYEE_SCHEME: {
    default: 'sandbox; none in production',
    description:
      'The scheme that verifies whether a name and an IBAN belong together: `none`, or `sandbox` (answers by the name). The service always answers for its own IBANs itself',
    read: (value: string | undefined, mode) =>
      oneOf(['none', 'sandbox'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
  PAYEE_VERIFICATION_DAYS_MAX: {
    default: 'none: an answer does not age',
    description: 'Days after which the verification of a beneficiary is renewed, 1 to 3650',
    read: (value) => (value === undefined ? null : integer(1, daysMax, 1)(value)),
  },
} as const satisfies Settings
