/** The purchase of a payer: the partner's logo, the description, and the line items with their sum. */
import { amountText, type Currency, type Minor } from '../kernel/index.ts'
import type { Payment } from '../checkout/index.ts'
import { html, type Html } from './html.ts'
import type { View } from './layout.ts'

export const amountIn = (
  { amount, currency }: { readonly amount: Minor; readonly currency: Currency },
  { language }: View,
): string =>
  // The text of the number, because a binary number does not hold every amount.
  new Intl.NumberFormat(language, { style: 'currency', currency }).format(amountText(amount, currency) as `${number}`)

/** Changes with the branding, so that no page has the files of an earlier one. */
type Branded = Pick<Payment, 'branding' | 'payee'>

const versionOf = (payment: Branded): string => String(payment.branding?.updatedAt.getTime() ?? 0)

/** Undefined: the partner has no colours. `root`: the path from the page to the files of the payment. */
export const accentUrlOf = (payment: Branded, root: string): string | undefined =>
  payment.branding?.colour || payment.branding?.colourDark ? `${root}accent.css?v=${versionOf(payment)}` : undefined

export const masthead = (payment: Branded, root: string): Html | undefined =>
  payment.branding?.hasLogo
    ? html`<img class="partner-logo" src="${root}logo?v=${versionOf(payment)}" alt="${payment.payee}" />`
    : undefined

type Bought = Pick<Payment, 'description' | 'lineItems' | 'currency' | 'amount'>

export function itemsOf(view: View, { description, lineItems, currency, amount }: Bought): Html {
  const { t } = view
  const rows = lineItems?.map(
    (item) =>
      html`<tr>
        <th scope="row">${item.name}</th>
        <td>${item.quantity}</td>
        <td>${amountIn({ amount: item.amount, currency }, view)}</td>
      </tr> `,
  )
  return html`${description !== null && html`<p class="description">${description}</p>`}
  ${
    rows &&
    html`<table class="items">
      <caption class="away">
        ${t.items}
      </caption>
      <thead>
        <tr>
          <th scope="col">${t.item}</th>
          <th scope="col">${t.quantity}</th>
          <th scope="col">${t.amount}</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" colspan="2">${t.total}</th>
          <td>${amountIn({ amount, currency }, view)}</td>
        </tr>
      </tfoot>
    </table>`
  }`
}
