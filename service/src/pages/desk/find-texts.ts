/** The texts of the search at the desk. `{name}` is replaced. */
import type { ConsoleLanguage } from '../console/language.ts'

const en = {
  title: 'Find',
  text: 'Searches all partners. The audit log of the operator has each search and the ids that it found.',
  label: 'What do you look for?',
  help: 'Any ID or reference, your IBAN, email address or name of a customer, the name of a partner or of a bank file, or an amount such as 12.50 EUR or 12.50 EUR 2026-11-24 (UTC).',
  find: 'Find',
  refused: 'Type 1 to 140 characters.',
  none: 'Nothing was found',
  noneText:
    'IDs, references, email addresses, IBANs and names of files must be whole. An amount is the one that left the balance.',
  more: 'There is more than this page shows, which is 50 of each kind. Search for something narrower.',
  partly:
    'Payouts and IDs of customers were searched at the first {count} partners only. The command payment find searches all, or one.',
  payouts: 'Payouts',
  deposits: 'Deposits',
  deposit: 'Deposit ID',
  files: 'Bank files',
  file: 'File',
  messageId: 'Message ID',
  connector: 'Connector',
  cases: 'Cases',
  customers: 'Customers',
  partners: 'Partners',
  reference: 'Reference',
  partner: 'Partner',
  partnerId: 'Partner ID',
  status: 'Status',
  amount: 'Amount',
  created: 'Created',
  endToEndId: 'End-to-end ID',
  payout: 'Payout ID',
  case: 'Case',
  openCase: 'Open case',
  customer: 'Customer ID',
  iban: 'IBAN',
} as const
type FindTexts = Readonly<Record<keyof typeof en, string>>

const de: FindTexts = {
  title: 'Suche',
  text: 'Durchsucht alle Partner. Das Protokoll des Betreibers hält jede Suche fest, mit den gefundenen IDs.',
  label: 'Was suchen Sie?',
  help: 'Eine ID oder Referenz, Ihre IBAN, E-Mail-Adresse oder Name eines Kunden, Name eines Partners oder einer Bankdatei oder einen Betrag wie 12.50 EUR oder 12.50 EUR 2026-11-24 (UTC).',
  find: 'Suchen',
  refused: 'Geben Sie 1 bis 140 Zeichen ein.',
  none: 'Nichts gefunden',
  noneText:
    'IDs, Referenzen, E-Mail-Adressen, IBANs und Namen von Dateien müssen vollständig sein. Ein Betrag ist der, um den sich das Guthaben verringert hat.',
  more: 'Es gibt mehr, als diese Seite zeigt: 50 von jeder Art. Suchen Sie genauer.',
  partly:
    'Auszahlungen und IDs von Kunden wurden nur bei den ersten {count} Partnern gesucht. Der Befehl payment find durchsucht alle oder einen.',
  payouts: 'Auszahlungen',
  deposits: 'Eingänge',
  deposit: 'ID des Eingangs',
  files: 'Bankdateien',
  file: 'Datei',
  messageId: 'Nachrichten-ID',
  connector: 'Konnektor',
  cases: 'Fälle',
  customers: 'Kunden',
  partners: 'Partner',
  reference: 'Referenz',
  partner: 'Partner',
  partnerId: 'ID des Partners',
  status: 'Status',
  amount: 'Betrag',
  created: 'Angelegt',
  endToEndId: 'End-to-End-ID',
  payout: 'ID der Auszahlung',
  case: 'Fall',
  openCase: 'Fall öffnen',
  customer: 'ID des Kunden',
  iban: 'IBAN',
}

export const findTexts: Readonly<Record<ConsoleLanguage, FindTexts>> = { en, de }
