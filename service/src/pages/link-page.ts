/** The page of a payment link: who is paid and for what, and the form that opens a session for the payer. */
import { emailCharsMax } from '@partner-payments/wire'
import { amountLeast, amountMost, type LinkClosedReason, type PayerPaymentLink } from '../checkout/index.ts'
import { nameCharsMax } from './bank-page.ts'
import { html, type Html } from './html.ts'
import { fill } from './language.ts'
import { layout, type View } from './layout.ts'
import { accentUrl, formatAmount, itemTable, masthead } from './purchase.ts'

export type LinkForm = {
  readonly formId: string
  readonly name: string
  readonly email: string
  readonly amount: string
  readonly wrong: ReadonlySet<'name' | 'email' | 'amount'>
}

type LinkView = {
  readonly link: PayerPaymentLink
  readonly token: string
  readonly form: LinkForm
  readonly closed: LinkClosedReason | undefined
}

export function linkPage(view: View, { link, token, form, closed }: LinkView): string {
  const { t } = view
  const { payee, amount, currency, description, lineItems } = link
  const sum = amount === null ? undefined : formatAmount({ amount, currency }, view)
  return layout(view, {
    title: `${closed ? t.linkClosed : fill(t.payTo, { payee })} · ${payee}`,
    accentUrl: accentUrl(link, `${token}/`),
    main: html`<div class="card">
      ${masthead(link, `${token}/`)}
      <header>
        ${
          closed
            ? html`<h1 class="outcome" tabindex="-1">${t.linkClosed}</h1>
                <p>${fill(t[closedTexts[closed]], { payee })}</p>`
            : html`${sum !== undefined && html`<p class="eyebrow">${fill(t.payTo, { payee })}</p>`}
                <h1 class="amount" tabindex="-1">${sum ?? fill(t.payTo, { payee })}</h1>`
        }
        ${itemTable(view, { description, lineItems, currency, amount: amount ?? 0n })}
      </header>
      ${!closed && payerForm(view, link, token, form)}
    </div>`,
  })
}

const closedTexts = {
  inactive: 'linkInactive',
  ended: 'linkEnded',
  full: 'linkFull',
  busy: 'linkBusy',
  stopped: 'linkStopped',
} as const

function payerForm(view: View, link: PayerPaymentLink, token: string, form: LinkForm): Html {
  const { t, query } = view
  const bounds = boundTexts(view, link)
  const name = { id: 'name', label: t.payerName, value: form.name, error: form.wrong.has('name') && t.nameWrong }
  const email = { id: 'email', label: t.payerEmail, value: form.email, error: form.wrong.has('email') && t.emailWrong }
  const amount = {
    id: 'amount',
    label: fill(t.enterAmount, { currency: link.currency }),
    value: form.amount,
    error: form.wrong.has('amount') && fill(t.amountWrong, bounds),
    ...(hasOwnBounds(link) ? { help: fill(t.amountBounds, bounds) } : {}),
  }
  return html`<section aria-label="${t.linkPay}">
    <p>${t.linkText}</p>
    ${link.accountHolder !== link.payee && html`<p>${fill(t.holderText, { payee: link.payee, holder: link.accountHolder })}</p>`}
    <form method="post" action="${token}${query}">
      <input type="hidden" name="form" value="${form.formId}" />
      ${link.amount === null && field(amount, html` inputmode="decimal" required`)}
      ${field(name, html` autocomplete="name" maxlength="${nameCharsMax}" required`)}
      ${field(email, html` autocomplete="email" inputmode="email" maxlength="${emailCharsMax}"`)}
      <button type="submit" class="primary">${t.linkPay}</button>
    </form>
  </section>`
}

/** Reports whether the link has narrower amount limits than other payments. */
const hasOwnBounds = ({ amountMin, amountMax }: PayerPaymentLink): boolean =>
  amountMin > amountLeast || amountMax < amountMost

const boundTexts = (view: View, { amountMin, amountMax, currency }: PayerPaymentLink) => ({
  least: formatAmount({ amount: amountMin, currency }, view),
  most: formatAmount({ amount: amountMax, currency }, view),
})

type Field = {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly help?: string
  readonly error: string | false
}

function field({ id, label, value, help, error }: Field, more: Html): Html {
  const notes = [error !== false && `${id}-error`, help !== undefined && `${id}-help`].filter(Boolean).join(' ')
  return html`<label for="${id}">${label}</label>
    ${help !== undefined && html`<p id="${id}-help" class="means">${help}</p>`}
    ${error !== false && html`<p class="error" id="${id}-error">${error}</p>`}
    <input
      id="${id}"
      name="${id}"
      type="text"
      value="${value}"
      ${more}
      ${notes !== '' && html` aria-describedby="${notes}"`}
      ${error !== false && html` aria-invalid="true"`}
    />`
}
