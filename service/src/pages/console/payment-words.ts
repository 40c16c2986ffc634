/** Words of statuses and of other values of the API, in the language of the page. An unknown value is shown as it is. */
import type { Html } from '../html.ts'
import { badge } from './components.ts'
import { paymentTexts } from './texts/payments.ts'
import type { ConsoleView } from './view.ts'

export const wordOf = (words: Readonly<Record<string, string>>, value: string): string => words[value] ?? value

const tones: Readonly<Record<string, 'good' | 'warning' | 'bad'>> = {
  Completed: 'good',
  PendingApproval: 'warning',
  Expired: 'warning',
  Failed: 'bad',
  Returned: 'bad',
  Unsuccessful: 'bad',
}

export const transactionBadge = ({ language }: ConsoleView, status: string): Html =>
  badge(tones[status] ?? 'neutral', wordOf(paymentTexts[language].transactionStatus, status))

export const payoutBadge = ({ language }: ConsoleView, status: string): Html =>
  badge(tones[status] ?? 'neutral', wordOf(paymentTexts[language].payoutStatus, status))
