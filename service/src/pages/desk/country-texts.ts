/** The texts of the rules for countries at the desk. `{name}` is replaced. */
import type { ConsoleLanguage } from '../kit/language.ts'

const en = {
  countries: 'Countries',
  countriesText:
    'Rules for countries under embargo hold for all partners. Each change compares all names with the rules again, which can take minutes.',
  none: 'No country has a rule',
  noneText: 'Payments to and from all countries go on. Your institution decides which countries it serves.',
  country: 'Country',
  side: 'For',
  action: 'Rule',
  payouts: 'Payouts to accounts there',
  deposits: 'Money from accounts there',
  customers: 'Customers who live there or are nationals',
  refuse: 'Refuse',
  review: 'Review',
  remove: 'Remove the rule',
  refuseHelp: 'New requests are refused. Payments that exist wait for two persons.',
  reviewHelp: 'New and existing payments wait for two persons.',
  removeHelp: 'New payments go on. Open hits stay until persons have decided.',
  change: 'Change rules',
  codes: 'Countries',
  codesHelp: 'Codes of two letters with commas, such as IR, KP.',
  sidesMissing: 'Choose at least one side.',
  actionMissing: 'Choose a rule.',
  note: 'Note',
  noteHelp: 'The source of the change, such as a regulation. It stands in the audit log.',
  propose: 'Change rules',
  waits: 'Another person has to approve the change before it holds.',
  done: 'The rules hold now.',
  waiting: 'Changes that wait',
  readOnly: 'Your role does not change rules for countries.',
} as const
export type CountryTexts = Readonly<Record<keyof typeof en, string>>

const de: CountryTexts = {
  countries: 'Länder',
  countriesText:
    'Regeln für Länder unter Embargo gelten für alle Partner. Jede Änderung vergleicht alle Namen erneut mit den Regeln, was Minuten dauern kann.',
  none: 'Kein Land hat eine Regel',
  noneText:
    'Zahlungen in alle und aus allen Ländern laufen weiter. Ihr Institut entscheidet, welche Länder es bedient.',
  country: 'Land',
  side: 'Für',
  action: 'Regel',
  payouts: 'Auszahlungen auf Konten dort',
  deposits: 'Geld von Konten dort',
  customers: 'Kunden, die dort wohnen oder Staatsangehörige sind',
  refuse: 'Ablehnen',
  review: 'Prüfen',
  remove: 'Regel entfernen',
  refuseHelp: 'Neue Anfragen werden abgelehnt. Bestehende Zahlungen warten auf zwei Personen.',
  reviewHelp: 'Neue und bestehende Zahlungen warten auf zwei Personen.',
  removeHelp: 'Neue Zahlungen laufen weiter. Offene Treffer bleiben, bis Personen entschieden haben.',
  change: 'Regeln ändern',
  codes: 'Länder',
  codesHelp: 'Codes aus zwei Buchstaben mit Kommas, etwa IR, KP.',
  sidesMissing: 'Wählen Sie mindestens eine Seite.',
  actionMissing: 'Wählen Sie eine Regel.',
  note: 'Notiz',
  noteHelp: 'Die Quelle der Änderung, etwa eine Verordnung. Sie steht im Prüfprotokoll.',
  propose: 'Regeln ändern',
  waits: 'Eine andere Person muss die Änderung bestätigen, bevor sie gilt.',
  done: 'Die Regeln gelten jetzt.',
  waiting: 'Wartende Änderungen',
  readOnly: 'Ihre Rolle ändert keine Regeln für Länder.',
}

export const countryTexts: Readonly<Record<ConsoleLanguage, CountryTexts>> = { en, de }
