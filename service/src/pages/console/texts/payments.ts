import { paymentsDe } from './payments-de.ts'
import { paymentsEn, type PaymentTexts } from './payments-en.ts'

/** Texts of the pages for transactions, payouts and payees. */
export const paymentTexts: Readonly<Record<'en' | 'de', PaymentTexts>> = { en: paymentsEn, de: paymentsDe }
