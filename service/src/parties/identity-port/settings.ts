import { oneOf, refuseSetting, type Settings } from '../../kernel/index.ts'

export const identitySettings = {
  IDENTITY_PROVIDER: {
    default: 'simulated in a sandbox; none in production',
    description:
      'The identity provider that verifies customers: `none` (the operation is refused), or `simulated`, whose page lets a developer choose the outcome. Production refuses `simulated`',
    read: (value: string | undefined, mode) =>
      oneOf(['none', 'simulated'], mode === 'sandbox' ? 'simulated' : 'none')(value),
  },
  IDENTITY_REQUIRED: {
    default: 'no',
    description:
      'Whether a customer is `Complete` only with an approved identity verification of its present name: `yes` or `no`. Applies to a customer when it is next changed or judged. An expired or declined verification counts always',
    read: (value: string | undefined) => oneOf(['no', 'yes'], 'no')(value) === 'yes',
  },
  IDENTITY_SIMULATOR_URL: {
    default: 'this process, on OPS_PORT',
    description:
      'Address of the simulated identity provider for workers and browsers, if it runs in another process: `http://host:port/identity-simulator`',
    read: (value: string | undefined) => {
      if (value === undefined) return undefined
      return /^https?:$/.test(URL.parse(value)?.protocol ?? '')
        ? value.replace(/\/$/, '')
        : refuseSetting('must be an http or https URL')
    },
  },
} as const satisfies Settings
