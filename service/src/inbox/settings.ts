import { integer, type Settings } from '../kernel/index.ts'

const gatherSecondsDefault = 120

export const inboxSettings = {
  INBOX_GATHER_SECONDS: {
    default: String(gatherSecondsDefault),
    description:
      'Seconds for which the mail of a person who is told at once waits for more, so that what happens together comes in one mail',
    read: integer(0, 3600, gatherSecondsDefault),
  },
} as const satisfies Settings
