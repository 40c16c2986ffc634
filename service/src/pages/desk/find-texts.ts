/** The texts of the search at the desk. `{name}` is replaced. */
import type { ConsoleLanguage } from '../console/language.ts'

const en = {
  title: 'Find',
  text: 'Searches all partners. The audit log of the operator has each search and the ids that it found.',
  label: 'What do you look for?',
  help: 'A reference, an end-to-end ID, the ID of a payout, an instruction, a customer or a partner, your IBAN of a customer, the name of a partner, or an amount such as 12.50 EUR or 12.50 EUR 2026-11-24 (UTC).',
  find: 'Find',
  refused: 'Type 1 to 140 characters.',
  none: 'Nothing was found',
  noneText: 'Ids, references and IBANs must be whole. An amount is the one that left the balance.',
  more: 'There is more than this page shows, which is 50 of each kind. Search for something narrower.',
  partly:
    'Payouts and IDs of customers were searched at the first {count} partners only. The command payment find searches all, or one.',
  payouts: 'Payouts',
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
  call: 'Command that shows a payout with its timeline, and what to do next',
} as const
type FindTexts = Readonly<Record<keyof typeof en, string>>

const de: FindTexts = {
  title: 'Suche',
  text: 'Durchsucht alle Partner. Das Protokoll des Betreibers hält jede Suche fest, mit den gefundenen IDs.',
  label: 'Was suchen Sie?',
  help: 'Eine Referenz, eine End-to-End-ID, die ID einer Auszahlung, eines Auftrags, eines Kunden oder eines Partners, Ihre IBAN eines Kunden, den Namen eines Partners oder einen Betrag wie 12.50 EUR oder 12.50 EUR 2026-11-24 (UTC).',
  find: 'Suchen',
  refused: 'Geben Sie 1 bis 140 Zeichen ein.',
  none: 'Nichts gefunden',
  noneText:
    'IDs, Referenzen und IBANs müssen vollständig sein. Ein Betrag ist der, um den sich das Guthaben verringert hat.',
  more: 'Es gibt mehr, als diese Seite zeigt: 50 von jeder Art. Suchen Sie genauer.',
  partly:
    'Auszahlungen und IDs von Kunden wurden nur bei den ersten {count} Partnern gesucht. Der Befehl payment find durchsucht alle oder einen.',
  payouts: 'Auszahlungen',
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
  call: 'Befehl, der eine Auszahlung mit ihrem Verlauf zeigt und sagt, was zu tun ist',
}

export const findTexts: Readonly<Record<ConsoleLanguage, FindTexts>> = { en, de }
