/** The receipt of a payment that has arrived, to print. */
import type { Receipt } from '../modules/checkout/index.ts'
import { html, type Html } from './html.ts'
import { fill } from './language.ts'
import { layout, type View } from './layout.ts'
import { inFours } from './payment-page.ts'
import { accentUrlOf, amountIn, itemsOf, masthead } from './purchase.ts'

type Shown = Receipt & { readonly token: string }

export function receiptPage(view: View, { payment, paidAt, refunds, token }: Shown): string {
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
      ${payment.parts.length > 1 && partsOf(view, payment)} ${refunds.length > 0 && refundsOf(view, payment, refunds)}
      <p class="back"><a href="../${token}${query}">${t.toPayment}</a></p>
    </div>`,
  })
}

/** Lists the parts that paid. Several persons may see the receipt: it does not name who paid. */
function partsOf(view: View, { currency, parts }: Receipt['payment']): Html {
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
              <td>${amountIn({ amount, currency }, view)}</td>
            </tr> `,
        )}
      </tbody>
    </table>`
}

const states = { underWay: 'refundUnderWay', sent: 'refundSent', failed: 'refundFailed' } as const

/** Lists the money that went back to the payer, or is on its way. */
function refundsOf(view: View, { currency, payee }: Receipt['payment'], refunds: Receipt['refunds']): Html {
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
              <th scope="row">${t[states[state]]}</th>
              <td><time datetime="${at.toISOString()}">${day.format(at)}</time></td>
              <td>${amountIn({ amount, currency }, view)}</td>
            </tr> `,
        )}
      </tbody>
    </table>
    ${hasFailed && html`<p>${fill(t.refundFailedText, { payee })}</p>`}`
}
