/** The purchase of a payer: the partner's logo, the description, and the line items with their sum. */
import { amountText, type Money } from '../kernel/index.ts'
import type { PaymentPage } from '../checkout/index.ts'
import { html, type Html } from './html.ts'
import type { View } from './layout.ts'

export const formatAmount = ({ amount, currency }: Money, { language }: View): string =>
  // `Intl` formats the text exactly; a double does not hold every amount.
  new Intl.NumberFormat(language, { style: 'currency', currency }).format(amountText(amount, currency) as `${number}`)

/** The version in file names changes with the branding, so that browsers load the new files. */
type BrandedPayment = Pick<PaymentPage, 'branding' | 'payee'>

const brandingVersion = (payment: BrandedPayment): string => String(payment.branding?.updatedAt.getTime() ?? 0)

/** Returns the URL of the colours. Undefined: the partner has no colours. `root`: the path from the page to the files of the payment. */
export const accentUrl = (payment: BrandedPayment, root: string): string | undefined =>
  payment.branding?.colour || payment.branding?.colourDark
    ? `${root}accent.css?v=${brandingVersion(payment)}`
    : undefined

export const masthead = (payment: BrandedPayment, root: string): Html | undefined =>
  payment.branding?.hasLogo
    ? html`<img class="partner-logo" src="${root}logo?v=${brandingVersion(payment)}" alt="${payment.payee}" />`
    : undefined

type Purchase = Pick<PaymentPage, 'description' | 'lineItems' | 'currency' | 'amount'>

export function itemTable(view: View, { description, lineItems, currency, amount }: Purchase): Html {
  const { t } = view
  const rows = lineItems?.map(
    (item) =>
      html`<tr>
        <th scope="row">${item.name}</th>
        <td>${item.quantity}</td>
        <td>${formatAmount({ amount: item.amount, currency }, view)}</td>
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
          <td>${formatAmount({ amount, currency }, view)}</td>
        </tr>
      </tfoot>
    </table>`
  }`
}
