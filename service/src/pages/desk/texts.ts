/** The texts of the desk in each language, by the subject of their pages. */
import type { ConsoleLanguage } from '../kit/language.ts'
import type { Words } from '../kit/texts/en.ts'
import { acts as actsDe } from './texts/de/acts.ts'
import { parties as partiesDe } from './texts/de/parties.ts'
import { cases as casesDe } from './texts/de/cases.ts'
import { people as peopleDe } from './texts/de/people.ts'
import { payments as paymentsDe } from './texts/de/payments.ts'
import { screening as screeningDe } from './texts/de/screening.ts'
import { queue as queueDe } from './texts/de/queue.ts'
import { acts as actsEn } from './texts/en/acts.ts'
import { parties as partiesEn } from './texts/en/parties.ts'
import { cases as casesEn } from './texts/en/cases.ts'
import { people as peopleEn } from './texts/en/people.ts'
import { payments as paymentsEn } from './texts/en/payments.ts'
import { screening as screeningEn } from './texts/en/screening.ts'
import { queue as queueEn } from './texts/en/queue.ts'

const en = { ...actsEn, ...casesEn, ...partiesEn, ...peopleEn, ...paymentsEn, ...screeningEn, ...queueEn } as const
export type DeskTexts = Words<typeof en>
/** The name of a runbook, which is also the name of its file. */
export type Runbook = keyof DeskTexts['runbooks']
export const deskTexts: Readonly<Record<ConsoleLanguage, DeskTexts>> = {
  en,
  de: { ...actsDe, ...casesDe, ...partiesDe, ...peopleDe, ...paymentsDe, ...screeningDe, ...queueDe },
}
