/** The texts of reviews at the desk. */
import type { ConsoleLanguage } from '../kit/language.ts'

const en = {
  reviews: 'Reviews',
  reviewsText:
    'Customers whose review is due, of all partners, the longest overdue first. A review is recorded by a command.',
  none: 'No review is overdue',
  noneText: 'A review is due after a time that depends on the class of risk. This command records one:',
  call: 'Command that records a review',
  missing: 'Command that lists the customers of a partner without a review',
  customer: 'Customer',
  partner: 'Partner',
  due: 'Due',
  risk: 'Risk',
  reviewed: 'Last review',
  by: 'Reviewed by',
  low: 'Low',
  medium: 'Medium',
  high: 'High',
} as const
type ReviewTexts = Readonly<Record<keyof typeof en, string>>

const de: ReviewTexts = {
  reviews: 'Überprüfungen',
  reviewsText:
    'Kunden aller Partner, deren Überprüfung fällig ist, die am längsten überfälligen zuerst. Ein Befehl hält eine Überprüfung fest.',
  none: 'Keine Überprüfung ist überfällig',
  noneText: 'Wann eine Überprüfung fällig ist, hängt von der Risikoklasse ab. Dieser Befehl hält eine fest:',
  call: 'Befehl, der eine Überprüfung festhält',
  missing: 'Befehl, der die Kunden eines Partners ohne Überprüfung auflistet',
  customer: 'Kunde',
  partner: 'Partner',
  due: 'Fällig',
  risk: 'Risiko',
  reviewed: 'Letzte Überprüfung',
  by: 'Überprüft durch',
  low: 'Niedrig',
  medium: 'Mittel',
  high: 'Hoch',
}

export const reviewTexts: Readonly<Record<ConsoleLanguage, ReviewTexts>> = { en, de }
