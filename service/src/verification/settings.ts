import { oneOf, type Settings } from '../kernel/index.ts'

export const verificationSettings = {
  PAYEE_SCHEME: {
    default: 'sandbox; none in production',
    description:
      'Whom the service asks whether a name and an IBAN belong together: `none`, or `sandbox` (answers by the name). It always answers for its own IBANs itself',
    read: (value: string | undefined, mode) =>
      oneOf(['none', 'sandbox'], mode === 'sandbox' ? 'sandbox' : 'none')(value),
  },
} as const satisfies Settings
