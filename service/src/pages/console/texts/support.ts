/** The texts of support sessions, in the console and at the desk. */
import type { ConsoleLanguage } from '../language.ts'

const en = {
  band: 'Support session of {staff}. Reason: {reason}. Read only, ends {time}.',
  end: 'End support session',
  title: 'Open the console of the partner',
  text: 'You read as the partner and change nothing. The Admins of the partner know your name and the reason.',
  open: 'Open console',
  readOnly: 'A support session is read only',
  readOnlyText: 'Nothing was changed. Staff of the operator cannot pay, approve or change anything here.',
  back: 'Back to the console',
  role: 'Operator of the service',
  sessions: 'Support sessions',
  sessionsText: 'Staff of the operator read as your business in these sessions. They cannot change anything.',
  staff: 'Session',
  begun: 'Begun',
  ends: 'Ends',
  actions: 'Actions',
  endOne: 'End',
  toConsole: 'Go to the console',
  toConsoleText: 'The link works once, within two minutes.',
} as const

/** Every text of support sessions. `{name}` is replaced. */
type SupportTexts = Readonly<Record<keyof typeof en, string>>

const de: SupportTexts = {
  band: 'Support-Sitzung von {staff}. Grund: {reason}. Nur lesend, endet {time}.',
  end: 'Support-Sitzung beenden',
  title: 'Konsole des Partners öffnen',
  text: 'Sie lesen als der Partner und ändern nichts. Die Admins des Partners kennen Ihren Namen und den Grund.',
  open: 'Konsole öffnen',
  readOnly: 'Eine Support-Sitzung liest nur',
  readOnlyText: 'Nichts wurde geändert. Personal des Betreibers kann hier nichts zahlen, freigeben oder ändern.',
  back: 'Zurück zur Konsole',
  role: 'Betreiber des Dienstes',
  sessions: 'Support-Sitzungen',
  sessionsText: 'In diesen Sitzungen liest Personal des Betreibers als Ihr Unternehmen. Es kann nichts ändern.',
  staff: 'Sitzung',
  begun: 'Begonnen',
  ends: 'Endet',
  actions: 'Aktionen',
  endOne: 'Beenden',
  toConsole: 'Zur Konsole',
  toConsoleText: 'Der Link gilt einmal, innerhalb von zwei Minuten.',
}

export const supportTexts: Readonly<Record<ConsoleLanguage, SupportTexts>> = { en, de }
