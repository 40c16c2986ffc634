import { customersDe } from './customers-de.ts'
import { customersEn, type CustomerTexts } from './customers-en.ts'

/** Texts of the pages for customers. */
export const customerTexts: Readonly<Record<'en' | 'de', CustomerTexts>> = { en: customersEn, de: customersDe }
