/** The settings of screening. */
import { oneOf, type Settings } from '../kernel/index.ts'

export const screeningSettings = {
  PEP_HITS: {
    default: 'review',
    description:
      'What a hit on a list of politically exposed persons does. `review`: payments continue, and a confirmed hit gives the customer the risk `high` and a review that is due. `hold`: its payments also wait, as for a sanctions list',
    read: (value: string | undefined) => oneOf(['review', 'hold'], 'review')(value),
  },
  SECOND_DATUM: {
    default: 'birth-or-country',
    description:
      'What excludes a hit of a customer whose name has only common words. `birth-or-country`: dates of birth that contradict, and nationalities if the name is not whole. `birth`: only dates of birth. `off`: nothing; every name that reaches the score is a hit',
    read: (value: string | undefined) => oneOf(['birth-or-country', 'birth', 'off'], 'birth-or-country')(value),
  },
} as const satisfies Settings
