/** The confirmation of a payout that was paid, as a document for the payee or the files of the partner. Pure. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { ReceiptDocument } from '../../typesetting/index.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { formatAccount, moneyText, referenceText, serviceReference, timeText } from '../kit/parts.ts'
import { fill } from '../language.ts'
import { texts } from './texts/index.ts'

/** Builds the confirmation of a payout. The invoice number comes first, because the reader looks for it. */
export function confirmationDocument(
  view: ConsoleView,
  payer: string,
  payout: Omit<ResponseOf<'getPayout'>, 'status'>,
): ReceiptDocument {
  const { payments: p, sending: s } = texts[view.language]
  const { beneficiaryName: payee, currency, endToEndId } = payout
  const amount = moneyText(view, decimalText(payout.amount), currency)
  const service = serviceReference(payout)
  const createdAt = new Date(payout.updatedAt)
  return {
    title: s.confirmation,
    issuer: payer,
    language: view.language,
    createdAt,
    brand: undefined,
    lead: [fill(s.confirmed, { payer, payee, amount })],
    facts: [
      [p.reference, referenceText(payout)],
      [p.payee, payee],
      [p.account, formatAccount(payout.beneficiaryAccount)],
      [p.amount, amount],
      [s.paidOn, timeText(view, createdAt)],
      [p.endToEndId, endToEndId],
      ...(service === undefined ? [] : [[p.serviceReference, service] as const]),
    ],
    tables: [],
    note: undefined,
  }
}
