/** The texts of the console by subject: one catalogue for each language and area. Missing or unknown keys do not compile. */
import type { ConsoleLanguage } from '../../kit/language.ts'
import type { Words } from '../../kit/texts/en.ts'
import { actsDe } from './de/acts.ts'
import { bulkDe } from './de/bulk.ts'
import { collectionsDe } from './de/collections.ts'
import { customersDe } from './de/customers.ts'
import { developersDe } from './de/developers.ts'
import { paymentsDe } from './de/payments.ts'
import { payoutsDe } from './de/payouts.ts'
import { reportsDe } from './de/reports.ts'
import { teamDe } from './de/team.ts'
import { actsEn } from './en/acts.ts'
import { bulkEn } from './en/bulk.ts'
import { collectionsEn } from './en/collections.ts'
import { customersEn } from './en/customers.ts'
import { developersEn } from './en/developers.ts'
import { paymentsEn } from './en/payments.ts'
import { payoutsEn } from './en/payouts.ts'
import { reportsEn } from './en/reports.ts'
import { teamEn } from './en/team.ts'

const en = {
  ...actsEn,
  ...teamEn,
  ...paymentsEn,
  ...payoutsEn,
  ...bulkEn,
  ...collectionsEn,
  ...customersEn,
  ...developersEn,
  ...reportsEn,
}
const de: Words<typeof en> = {
  ...actsDe,
  ...teamDe,
  ...paymentsDe,
  ...payoutsDe,
  ...bulkDe,
  ...collectionsDe,
  ...customersDe,
  ...developersDe,
  ...reportsDe,
}

export type ConsoleTexts = Words<typeof en>
export const texts: Readonly<Record<ConsoleLanguage, ConsoleTexts>> = { en, de }
