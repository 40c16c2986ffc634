/** The payment page: the payment details, the progress, or the outcome. */
import { amountText } from '../kernel/index.ts'
import { epcText, type PaymentPage } from '../checkout/index.ts'
import { readBritishAccount } from '../rails/index.ts'
import { html, type Html } from './html.ts'
import { fill } from './language.ts'
import { countryDisplayName, layout, type View } from './layout.ts'
import { accentUrl, formatAmount, itemTable, masthead } from './purchase.ts'
import { deadline, lateLines } from './deadline.ts'
import { qrCode } from './qr.ts'

export type PaymentView = { readonly payment: PaymentPage; readonly token: string; readonly now: Date }

/** Returns a version of the page's content, which changes whenever the content changes. */
export const pageState = ({ depositStatus, due, mayPay, visit, late }: PaymentPage): string =>
  [
    ...[depositStatus, due, mayPay ? 'payable' : 'over', visit?.decision ?? (visit ? 'begun' : 'new')],
    ...late.map(({ state }) => state),
  ].join('-')

/** Returns the amount that is still to be paid. */
export const amountDue = ({ due: amount, currency }: PaymentPage) => ({ amount, currency })

/** Groups digits in fours, as banks print them. */
export const groupInFours = (text: string): string => text.replaceAll(/(.{4})(?=.)/g, '$1 ')

/** Writes a sort code as British banks print it: 20-00-00. */
const groupInPairs = (text: string): string => text.replaceAll(/(..)(?=.)/g, '$1-')

export function paymentPage(view: View, shown: PaymentView): string {
  const { payment, token, now } = shown
  const amount = formatAmount(payment.mayPay ? amountDue(payment) : payment, view)
  const isFinal = ['Completed', 'Failed', 'Expired'].includes(payment.status)
  return layout(view, {
    title: `${pageHeading(view, payment)} · ${payment.payee}`,
    accentUrl: accentUrl(payment, `${token}/`),
    state: pageState(payment),
    ...(isFinal ? {} : { statusUrl: `${token}/status`, serverTime: now.toISOString() }),
    ...(payment.mayPay ? { expiresAt: payment.expiresAt.toISOString() } : {}),
    main: html`<div class="card">
      ${masthead(payment, `${token}/`)} ${payment.mayPay ? toPay(view, shown, amount) : underWay(view, payment, amount)}
      ${
        payment.status === 'Completed' &&
        html`<p class="back"><a href="${token}/receipt${view.query}">${view.t.receipt}</a></p>`
      }
      ${payment.returnUrl !== null && wayBack(view, payment, payment.returnUrl)}
    </div>`,
  })
}

/**
 * Summarises the page in one line: the title of the tab, and the text that a screen reader hears when the status
 * changes.
 */
function pageHeading(view: View, payment: PaymentPage): string {
  const { t } = view
  if (payment.mayPay) return fill(t.titleOpen, { amount: formatAmount(amountDue(payment), view), payee: payment.payee })
  switch (payment.status) {
    case 'Completed':
      return t.completed
    case 'Failed':
      return t.failed
    case 'Expired':
      return t.expired
    case 'Open':
    case 'Processing':
      return isUnderWay(payment) ? t.processing : t.timeOver
  }
}

/** Reports whether the bank has the payment or is about to get it. Otherwise the session expires in a moment. */
const isUnderWay = ({ depositStatus, visit }: PaymentPage): boolean =>
  ['Submitted', 'Accepted'].includes(depositStatus) || Boolean(visit?.decision)

function toPay(view: View, shown: PaymentView, amount: string): Html {
  const { t } = view
  const { payment } = shown
  return html`<header>
      <p class="eyebrow">${fill(t.payTo, { payee: payment.payee })}</p>
      <h1 class="amount" tabindex="-1">${amount}</h1>
      ${payment.due !== payment.amount && html`<p>${fill(t.paidSoFar, paidAmounts(view, payment))}</p>`}
      ${deadline(view, payment, shown.now)} ${itemTable(view, payment)}
    </header>
    ${payment.bankCountries.length > 0 && !payment.visit?.decision && bankForm(view, shown)}
    ${transfer(view, payment, amount)}`
}

const paidAmounts = (view: View, { amount, due, currency }: PaymentPage) => ({
  paid: formatAmount({ amount: amount - due, currency }, view),
  amount: formatAmount({ amount, currency }, view),
})

function bankForm({ t, query, language }: View, { payment, token }: PaymentView): Html {
  const { bankCountries, paymentCountry, proposedCountry, visit } = payment
  const options = bankCountries.map((code) =>
    code === proposedCountry
      ? html`<option value="${code}" selected>${countryDisplayName(code, language)}</option>`
      : html`<option value="${code}">${countryDisplayName(code, language)}</option>`,
  )
  const choice = html`<label for="country">${t.bankCountry}</label>
    <select id="country" name="country" autocomplete="country">
      ${options}
    </select>`
  return html`<section aria-labelledby="with-bank">
    <h2 id="with-bank">${t.withBank}</h2>
    <p>${t.withBankText}</p>
    <form method="post" action="${token}/pay${query}">
      ${paymentCountry === null && visit === undefined && choice}
      <button type="submit" class="primary">${visit === undefined ? t.withBank : t.continueAtBank}</button>
    </form>
  </section>`
}

function transfer({ t }: View, payment: PaymentPage, amount: string): Html {
  const { payee, accountHolder, iban, bic, creditorReference, currency } = payment
  const epc = epcText({ ...payment, amount: payment.due })
  const british = currency === 'GBP' ? readBritishAccount(iban) : undefined
  const rows = [
    row(t.recipient, accountHolder, accountHolder, t.copy),
    ...(british === undefined
      ? [
          row(t.iban, groupInFours(iban), iban, t.copy, true),
          ...(bic === null ? [] : [row(t.bic, bic, bic, t.copy, true)]),
        ]
      : [
          row(t.sortCode, groupInPairs(british.sortCode), british.sortCode, t.copy, true),
          row(t.accountNumber, british.accountNumber, british.accountNumber, t.copy, true),
        ]),
    row(t.amount, amount, amountText(payment.due, currency), t.copy),
    row(t.reference, groupInFours(creditorReference), creditorReference, t.copy, true),
  ]
  const code =
    epc === undefined
      ? undefined
      : html`<figure>
          ${qrCode(epc, t.qrLabel)}
          <figcaption>${t.scan}</figcaption>
        </figure>`
  return html`<section aria-labelledby="by-transfer">
    <h2 id="by-transfer">${t.byTransfer}</h2>
    <p>${payment.inParts ? t.byPartsText : t.byTransferText}</p>
    ${currency !== 'EUR' && british === undefined && html`<p>${t.abroadText}</p>`}
    ${accountHolder !== payee && html`<p>${fill(t.recipientText, { payee })}</p>`}
    <div class="transfer">
      <dl data-copied="${t.copied}">${rows}</dl>
      ${code}
    </div>
  </section>`
}

/** Renders a label, its value and a copy button, which is hidden without JavaScript. */
const row = (name: string, shown: string, copied: string, copy: string, isCode = false): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>
      <span class="${isCode ? 'code' : 'value'}">${shown}</span
      ><button type="button" class="copy" data-copy="${copied}" hidden>
        ${copy}<span class="away"> ${name}</span>
      </button>
    </dd>
  </div> `

const marks = {
  Completed: 'M5 13l4 4L19 7',
  Failed: 'M6 6l12 12M18 6L6 18',
  Expired: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
} as const

function underWay(view: View, payment: PaymentPage, amount: string): Html {
  const { t } = view
  const { status, payee } = payment
  const facts = html`<dl class="facts">
    <div>
      <dt>${t.recipient}</dt>
      <dd>${payee}</dd>
    </div>
    <div>
      <dt>${t.amount}</dt>
      <dd>${amount}</dd>
    </div>
    <div>
      <dt>${t.reference}</dt>
      <dd class="code">${groupInFours(payment.creditorReference)}</dd>
    </div>
  </dl>`
  if (status === 'Open' || status === 'Processing')
    return html`<h1 class="outcome" tabindex="-1">${pageHeading(view, payment)}</h1>
      ${
        isUnderWay(payment) &&
        html`<p>${t.processingText}</p>
          ${progress(view, payment)}`
      }
      <noscript
        ><p><a class="button" href="">${t.reload}</a></p></noscript
      >
      ${facts}`
  const text = { Completed: t.completedText, Failed: t.failedText, Expired: t.expiredText }[status]
  return html`<svg class="mark ${status.toLowerCase()}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="${marks[status]}" />
    </svg>
    <h1 class="outcome" tabindex="-1">${pageHeading(view, payment)}</h1>
    <p>${fill(text, { payee, amount })}</p>
    ${lateLines(view, payment)} ${facts}`
}

function progress({ t }: View, { depositStatus }: PaymentPage): Html {
  const reached = {
    Created: 1,
    Initiated: 1,
    Submitted: 1,
    PartiallyPaid: 1,
    Accepted: 2,
    Completed: 3,
    Failed: 3,
    Expired: 3,
  }[depositStatus]
  const steps = [t.stepBegun, t.stepBank, t.stepConfirmed, t.stepCredited].map((name, at) =>
    at === reached
      ? html`<li class="now" aria-current="step">${name}</li>`
      : html`<li class="${at < reached ? 'done' : 'next'}">${name}</li>`,
  )
  return html`<ol class="steps" aria-label="${t.progress}">
    ${steps}
  </ol>`
}

/**
 * Renders the link back to the shop. The URL was validated when the session was opened. The script follows the link after the payment has
 * arrived, and a payer can stop it (WCAG 2.2.1).
 */
function wayBack({ t }: View, { key, status }: PaymentPage, returnUrl: string): Html {
  const [, address = '', fragment = ''] = /^([^#]*)(.*)$/.exec(returnUrl) ?? []
  // A parser could rewrite the query, and the shop may have signed it.
  const href = `${address}${address.includes('?') ? '&' : '?'}sessionId=${key.id}${fragment}`
  const { host } = new URL(returnUrl)
  const returning = html`<p class="returning" hidden>
    ${fill(t.returning, { host })} <button type="button" class="stay">${t.stay}</button>
  </p>`
  return html`${status === 'Completed' && returning}
    <p class="back"><a class="return" href="${href}" rel="noreferrer">${fill(t.back, { host })}</a></p>`
}
