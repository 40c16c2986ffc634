/** The texts of what waits besides cases. */
import type { ConsoleLanguage } from '../console/language.ts'
import type { Waiting } from './waiting.ts'

type WaitingTexts = Readonly<Record<Waiting['kind'] | 'title' | 'since' | 'detail' | 'late' | 'failed', string>>

const en: WaitingTexts = {
  title: 'What else waits',
  since: 'Oldest since',
  detail: 'Detail',
  late: 'Not known yet: reading it takes longer than usual. Load the page again in a moment.',
  failed: 'It could not be read. The log of the service says why; the cases below are complete.',
  hits: 'Screening hits are open',
  heldPayouts: 'Payouts are held by screening or a rule',
  heldDeposits: 'Deposits are held by screening',
  changes: 'Changes wait for a second person',
  reviews: 'Reviews of customers are overdue',
  payoutStands: 'A payout stands still',
  depositStands: 'A deposit stands still',
  poolLow: 'A pool of IBANs is low',
}

const de: WaitingTexts = {
  title: 'Was noch wartet',
  since: 'Ältestes seit',
  detail: 'Einzelheit',
  late: 'Noch nicht bekannt: Das Lesen dauert länger als sonst. Laden Sie die Seite gleich noch einmal.',
  failed:
    'Es konnte nicht gelesen werden. Den Grund nennt das Protokoll des Dienstes; die Fälle unten sind vollständig.',
  hits: 'Treffer der Prüfung sind offen',
  heldPayouts: 'Auszahlungen werden von der Prüfung oder einer Regel gehalten',
  heldDeposits: 'Eingänge werden von der Prüfung gehalten',
  changes: 'Änderungen warten auf eine zweite Person',
  reviews: 'Überprüfungen von Kunden sind überfällig',
  payoutStands: 'Eine Auszahlung steht still',
  depositStands: 'Ein Eingang steht still',
  poolLow: 'Ein Vorrat an IBANs ist knapp',
}

export const waitingTexts: Readonly<Record<ConsoleLanguage, WaitingTexts>> = { en, de }
