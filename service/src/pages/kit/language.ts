/** The languages of the console, chosen as those of the payment page. */
import { preferredOf } from '../language.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'

export const consoleLanguages = ['en', 'de'] as const
export type ConsoleLanguage = (typeof consoleLanguages)[number]

export const consoleTexts: Readonly<Record<ConsoleLanguage, Texts>> = { en, de }

export const consoleLanguageOf = (chosen: string | null, header: string | undefined): ConsoleLanguage =>
  preferredOf(consoleLanguages, chosen, header) ?? 'en'
