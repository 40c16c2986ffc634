/** The receipt of a payment that has arrived, as a page and as a PDF. */
import type { PaymentPage, PaymentReceipt } from '../checkout/index.ts'
import type { DocumentBrand, ReceiptDocument } from '../typesetting/index.ts'
import { html, type Html } from './html.ts'
import { fill } from './language.ts'
import { layout, type View } from './layout.ts'
import { groupInFours } from './payment-page.ts'
import { accentUrl, formatAmount, itemTable, masthead } from './purchase.ts'

type ReceiptView = PaymentReceipt & { readonly token: string }

export function receiptPage(view: View, { payment, paidAt, refunds, token }: ReceiptView): string {
  const { t, query } = view
  return layout(view, {
    title: `${t.receipt} · ${payment.payee}`,
    accentUrl: accentUrl(payment, ''),
    main: html`<div class="card">
      ${masthead(payment, '')}
      <h1 class="outcome">${t.receipt}</h1>
      <p>${fill(t.completedText, { payee: payment.payee, amount: formatAmount(payment, view) })}</p>
      ${payment.accountHolder !== payment.payee && html`<p>${holderText(view, payment)}</p>`}
      ${itemTable(view, payment)}
      <dl class="facts">
        ${receiptFacts(view, payment, paidAt).map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div> `,
        )}
      </dl>
      ${payment.parts.length > 1 && partTable(view, payment)}
      ${refunds.length > 0 && refundTable(view, payment, refunds)}
      <p class="back"><a href="receipt.pdf${query}">${t.receiptPdf}</a></p>
      <p class="back"><a href="../${token}${query}">${t.toPayment}</a></p>
    </div>`,
  })
}

/** Lists the parts that were paid, without their payers: several people may see the receipt. */
function partTable(view: View, { currency, parts }: PaymentReceipt['payment']): Html {
  const { t, language } = view
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' })
  return html`<h2>${t.parts}</h2>
    <table class="items">
      <caption class="away">
        ${t.parts}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.date}</th>
          <th scope="col">${t.amount}</th>
        </tr>
      </thead>
      <tbody>
        ${parts.map(
          ({ amount, receivedAt }) =>
            html`<tr>
              <th scope="row"><time datetime="${receivedAt.toISOString()}">${day.format(receivedAt)}</time></th>
              <td>${formatAmount({ amount, currency }, view)}</td>
            </tr> `,
        )}
      </tbody>
    </table>`
}

/** Explains why the payer's bank statement shows another name than the shop's. */
const holderText = ({ t }: View, { payee, accountHolder: holder }: PaymentPage): string =>
  fill(t.holderText, { payee, holder })

function receiptFacts(
  view: View,
  payment: PaymentReceipt['payment'],
  paidAt: Date,
): readonly (readonly [string, string])[] {
  const { t, language } = view
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return [
    [t.paidTo, payment.payee],
    [t.holder, payment.accountHolder],
    [t.amount, formatAmount(payment, view)],
    [t.paidOn, `${date.format(paidAt)} UTC`],
    [t.reference, groupInFours(payment.creditorReference)],
    [t.transaction, payment.reference],
  ]
}

export function receiptDocument(
  view: View,
  { payment, paidAt, refunds }: PaymentReceipt,
  brand: DocumentBrand | undefined,
): ReceiptDocument {
  const { t, language } = view
  const { payee, description, lineItems, currency, parts } = payment
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' })
  const money = (amount: PaymentPage['amount']) => formatAmount({ amount, currency }, view)
  const items = (lineItems ?? []).map(({ name, quantity, amount }) => [name, String(quantity), money(amount)] as const)
  const paid = parts.map((part, index) => [String(index + 1), day.format(part.receivedAt), money(part.amount)] as const)
  const returned = refunds.map(
    ({ amount, state, at }) => [t[refundTexts[state]], day.format(at), money(amount)] as const,
  )
  return {
    title: t.receipt,
    issuer: payee,
    language,
    brand,
    createdAt: paidAt,
    lead: [
      fill(t.completedText, { payee, amount: formatAmount(payment, view) }),
      ...(payment.accountHolder === payee ? [] : [holderText(view, payment)]),
      ...(description === null ? [] : [description]),
    ],
    facts: receiptFacts(view, payment, paidAt),
    tables: [
      { heads: [t.parts, t.date, t.amount] as const, rows: paid.length > 1 ? paid : [] },
      { heads: [t.item, t.quantity, t.amount] as const, rows: items },
      { heads: [t.refundState, t.date, t.amount] as const, rows: returned },
    ].filter(({ rows }) => rows.length > 0),
    note: refunds.some(({ state }) => state === 'failed') ? fill(t.refundFailedText, { payee }) : undefined,
  }
}

const refundTexts = { underWay: 'refundUnderWay', sent: 'refundSent', failed: 'refundFailed' } as const

/** Lists refunds to the payer: under way, sent or failed. */
function refundTable(
  view: View,
  { currency, payee }: PaymentReceipt['payment'],
  refunds: PaymentReceipt['refunds'],
): Html {
  const { t, language } = view
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' })
  const hasFailed = refunds.some(({ state }) => state === 'failed')
  return html`<h2>${t.refunds}</h2>
    <table class="items">
      <caption class="away">
        ${t.refunds}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.refundState}</th>
          <th scope="col">${t.date}</th>
          <th scope="col">${t.amount}</th>
        </tr>
      </thead>
      <tbody>
        ${refunds.map(
          ({ amount, state, at }) =>
            html`<tr>
              <th scope="row">${t[refundTexts[state]]}</th>
              <td><time datetime="${at.toISOString()}">${day.format(at)}</time></td>
              <td>${formatAmount({ amount, currency }, view)}</td>
            </tr> `,
        )}
      </tbody>
    </table>
    ${hasFailed && html`<p>${fill(t.refundFailedText, { payee })}</p>`}`
}
