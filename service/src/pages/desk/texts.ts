/** The texts of the desk in each language, by the subject of their pages. */
import type { ConsoleLanguage } from '../kit/language.ts'
import type { Words } from '../kit/texts/en.ts'
import { cases as casesDe } from './texts/de/cases.ts'
import { people as peopleDe } from './texts/de/people.ts'
import { payments as paymentsDe } from './texts/de/payments.ts'
import { screening as screeningDe } from './texts/de/screening.ts'
import { queue as queueDe } from './texts/de/queue.ts'
import { cases as casesEn } from './texts/en/cases.ts'
import { people as peopleEn } from './texts/en/people.ts'
import { payments as paymentsEn } from './texts/en/payments.ts'
import { screening as screeningEn } from './texts/en/screening.ts'
import { queue as queueEn } from './texts/en/queue.ts'

const en = { ...casesEn, ...peopleEn, ...paymentsEn, ...screeningEn, ...queueEn } as const
export type DeskTexts = Words<typeof en>
export const deskTexts: Readonly<Record<ConsoleLanguage, DeskTexts>> = {
  en,
  de: { ...casesDe, ...peopleDe, ...paymentsDe, ...screeningDe, ...queueDe },
}
