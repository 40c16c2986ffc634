/** The settings of the operator's staff. */
import { oneOf, type Settings } from '../kernel/index.ts'

export const staffSettings = {
  TWO_PERSONS: {
    default: 'off in a sandbox; on in production',
    description:
      'Whether changes of limits, fees, approvals, cooling-offs, gates, parts of balances, credentials and staff, and ends of blocks, wait for a second person who has signed in (`operator change list`)',
    read: (value: string | undefined, mode) => oneOf(['on', 'off'], mode === 'sandbox' ? 'off' : 'on')(value),
  },
} as const satisfies Settings
