import { integer, oneOf, type Settings } from '../kernel/index.ts'

const daysMax = 3650

export const verificationSettings = {
  PAYEE_SCHEME: {
    default: 'sandbox; none in production',
    description:
      'Whom the service asks whether a name and an IBAN belong together: `none`, or `sandbox` (answers by the name). It always answers for its own IBANs itself',
    read: (value: string | undefined, mode) =>
      oneOf(['none', 'sandbox'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
  PAYEE_VERIFICATION_DAYS_MAX: {
    default: 'none: an answer does not age',
    description: 'A verification of a beneficiary that is older than so many days is asked for again, 1 to 3650',
    read: (value) => (value === undefined ? null : integer(1, daysMax, 1)(value)),
  },
} as const satisfies Settings
