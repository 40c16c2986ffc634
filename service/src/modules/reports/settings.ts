import { integer, type Settings } from '../../kernel/index.ts'

const keptDaysMax = 3_650
const clockDifferenceMsMax = 600_000

export const reportSettings = {
  REPORT_KEPT_DAYS: {
    default: '30',
    description: 'Days after which a report and its file are deleted, counted from when it is ready',
    read: integer(1, keptDaysMax, 30),
  },
  REPORT_WRITERS: {
    default: '2',
    description: 'Reports that one process writes at the same time',
    read: integer(1, 16, 2),
  },
  REPORT_CLOCK_DIFFERENCE_MS: {
    default: '30000; 1000 in a sandbox',
    description:
      'A report waits so many milliseconds longer than the transactions of its period: the difference between the clocks of the processes and the database',
    read: (value, mode) => integer(0, clockDifferenceMsMax, mode === 'sandbox' ? 1_000 : 30_000)(value),
  },
} as const satisfies Settings
