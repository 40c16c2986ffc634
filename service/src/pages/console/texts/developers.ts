import { developersDe } from './developers-de.ts'
import { developersEn, type DeveloperTexts } from './developers-en.ts'

/** Texts of the pages for developers. */
export const developerTexts: Readonly<Record<'en' | 'de', DeveloperTexts>> = { en: developersEn, de: developersDe }
