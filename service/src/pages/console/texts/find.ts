/** Texts of the search. */
const en = {
  title: 'Find',
  label: 'Find a payment, payout, payee or customer',
  placeholder: 'Find…',
  found: 'Found',
  kind: 'Kind',
  amount: 'Amount',
  nothing: 'Nothing was found for “{text}”.',
  nothingTyped: 'Type what you look for.',
  what: 'You can search by the beginning of a reference, by an end-to-end id, an idempotency key, the id of a payout, payee, customer or request, the IBAN or name of a payee, and by the name, email or identifier of a customer.',
  kinds: { transaction: 'Transaction', payout: 'Payout', payee: 'Payee', customer: 'Customer', request: 'Request' },
} as const

const de: {
  readonly [K in keyof typeof en]: (typeof en)[K] extends string
    ? string
    : Readonly<Record<keyof (typeof en)['kinds'], string>>
} = {
  title: 'Suche',
  label: 'Zahlung, Auszahlung, Empfänger oder Kunden suchen',
  placeholder: 'Suchen…',
  found: 'Gefunden',
  kind: 'Art',
  amount: 'Betrag',
  nothing: 'Für „{text}“ wurde nichts gefunden.',
  nothingTyped: 'Geben Sie ein, was Sie suchen.',
  what: 'Sie können nach dem Anfang einer Referenz suchen, nach einer End-to-End-Id, einem Idempotenzschlüssel, der Id einer Auszahlung, eines Empfängers, Kunden oder einer Anfrage, IBAN oder Name eines Empfängers und nach Name, E-Mail oder Kennung eines Kunden.',
  kinds: {
    transaction: 'Transaktion',
    payout: 'Auszahlung',
    payee: 'Empfänger',
    customer: 'Kunde',
    request: 'Anfrage',
  },
}

export const findTexts = { en, de } as const
