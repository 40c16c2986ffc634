/** The receipt of a payment that has arrived, to print. */
import type { Payment } from '../modules/checkout/index.ts'
import { html } from './html.ts'
import { fill } from './language.ts'
import { layout, type View } from './layout.ts'
import { inFours } from './payment-page.ts'
import { accentUrlOf, amountIn, itemsOf, masthead } from './purchase.ts'

type Receipt = { readonly payment: Payment; readonly paidAt: Date; readonly token: string }

export function receiptPage(view: View, { payment, paidAt, token }: Receipt): string {
  const { t, language, query } = view
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  const rows = [
    [t.recipient, payment.payee],
    [t.amount, amountIn(payment, view)],
    [t.paidOn, `${date.format(paidAt)} UTC`],
    [t.reference, inFours(payment.creditorReference)],
    [t.transaction, payment.reference],
  ] as const
  return layout(view, {
    title: `${t.receipt} · ${payment.payee}`,
    accentUrl: accentUrlOf(payment, ''),
    main: html`<div class="card">
      ${masthead(payment, '')}
      <h1 class="outcome">${t.receipt}</h1>
      <p>${fill(t.completedText, { payee: payment.payee, amount: amountIn(payment, view) })}</p>
      ${itemsOf(view, payment)}
      <dl class="facts">
        ${rows.map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div> `,
        )}
      </dl>
      <p class="back"><a href="../${token}${query}">${t.toPayment}</a></p>
    </div>`,
  })
}
