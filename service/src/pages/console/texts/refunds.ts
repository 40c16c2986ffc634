/** Texts of the refunds of checkout sessions. */
import type { Words } from './payments-en.ts'

const en = {
  refunds: 'Refunds',
  none: 'Nothing of this payment was refunded.',
  refunded: 'Refunded',
  nothingLeft: 'The whole payment is refunded, or its refunds are on their way.',
  refund: 'Refund payment',
  amount: 'Amount in {currency}',
  amountHelp: 'At most {left}. Write 1250.00 for one thousand two hundred and fifty.',
  reference: 'Reference for the payer',
  referenceHelp: 'The payer reads it on the statement. At most 140 characters.',
  reason: 'Your reason',
  reasonHelp: 'For your own records. The payer does not see it.',
  part: 'Payment that goes back',
  partOf: '{amount} from {payer}',
  preview: 'Check refund',
  previewTitle: 'Check the refund',
  previewText: 'Nothing is sent yet.',
  payerUnread: 'The account that paid',
  effectMoney: 'The amount and the fee of a payout leave your balance.',
  effectRules: 'Limits, approvals and checks are those of payouts. A second person may have to approve it.',
  effectFinal: 'Once the bank has the refund, it cannot be cancelled.',
  leftAfter: 'Still refundable afterwards',
  send: 'Refund {amount}',
  change: 'Change',
  created: 'The refund is accepted. Its payout shows how far it is.',
  refusal: {
    checkout_session_not_paid: 'Only a payment that has arrived can be refunded, while you have its money.',
    refund_exceeds_payment: 'The refunds of a payment, or of its part, add up to its amount at most.',
    payer_account_unknown: 'The account that paid cannot be paid. Send the money by a payout to a payee.',
    account_blocked: 'Your account, or that of the customer, is blocked for payouts.',
    limit_exceeded: 'The refund is above a limit that the operator has set.',
  },
} as const

const de: Words<typeof en> = {
  refunds: 'Erstattungen',
  none: 'Von dieser Zahlung wurde nichts erstattet.',
  refunded: 'Erstattet',
  nothingLeft: 'Die ganze Zahlung ist erstattet, oder ihre Erstattungen sind unterwegs.',
  refund: 'Zahlung erstatten',
  amount: 'Betrag in {currency}',
  amountHelp: 'Höchstens {left}. Schreiben Sie 1250,00 für eintausendzweihundertfünfzig.',
  reference: 'Referenz für den Zahler',
  referenceHelp: 'Der Zahler liest sie auf dem Kontoauszug. Höchstens 140 Zeichen.',
  reason: 'Ihr Grund',
  reasonHelp: 'Für Ihre Unterlagen. Der Zahler sieht ihn nicht.',
  part: 'Zahlung, die zurückgeht',
  partOf: '{amount} von {payer}',
  preview: 'Erstattung prüfen',
  previewTitle: 'Prüfen Sie die Erstattung',
  previewText: 'Noch wird nichts gesendet.',
  payerUnread: 'Das Konto, das gezahlt hat',
  effectMoney: 'Der Betrag und die Gebühr einer Auszahlung verlassen Ihr Guthaben.',
  effectRules:
    'Limits, Freigaben und Prüfungen sind die von Auszahlungen. Vielleicht muss eine zweite Person sie freigeben.',
  effectFinal: 'Sobald die Bank die Erstattung hat, kann sie nicht mehr storniert werden.',
  leftAfter: 'Danach noch erstattbar',
  send: '{amount} erstatten',
  change: 'Ändern',
  created: 'Die Erstattung ist angenommen. Ihre Auszahlung zeigt, wie weit sie ist.',
  refusal: {
    checkout_session_not_paid: 'Nur eine eingegangene Zahlung kann erstattet werden, solange Sie ihr Geld haben.',
    refund_exceeds_payment: 'Die Erstattungen einer Zahlung oder eines Teils ergeben höchstens dessen Betrag.',
    payer_account_unknown:
      'Das Konto, das gezahlt hat, kann nicht bezahlt werden. Senden Sie das Geld als Auszahlung an einen Empfänger.',
    account_blocked: 'Ihr Konto oder das des Kunden ist für Auszahlungen gesperrt.',
    limit_exceeded: 'Die Erstattung liegt über einem Limit, das der Betreiber gesetzt hat.',
  },
}

export const refundTexts = { en, de } as const
