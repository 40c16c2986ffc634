/** The bank of the payer, in the sandbox only: sign in, see the payment, approve, reject or leave. */
import { html, type Html } from './html.ts'
import { fill } from './language.ts'
import { countryDisplayName, layout, type View } from './layout.ts'
import { amountDue, groupInFours, type PaymentView } from './payment-page.ts'
import { formatAmount } from './purchase.ts'

export const nameCharsMax = 70

export function bankPage(view: View, shown: PaymentView, wrongName = false): string {
  const { t, language } = view
  const { visit, proposedCountry } = shown.payment
  const bank = fill(t.bankName, { country: countryDisplayName(visit?.bankCountry ?? proposedCountry, language) })
  const isSignedIn = Boolean(visit?.payerName) && !wrongName
  return layout(view, {
    title: `${isSignedIn ? t.confirm : t.signIn} · ${bank}`,
    look: 'bank',
    main: html`<div class="card">
      <p class="eyebrow">${bank}</p>
      ${isSignedIn ? decision(view, shown) : signIn(view, wrongName)}
      <p class="back"><a href="../${shown.token}${view.query}">${t.leave}</a></p>
    </div>`,
  })
}

function signIn({ t, query }: View, wrongName: boolean): Html {
  const error = html`<p class="error" id="name-error">${t.nameWrong}</p>`
  return html`<h1 class="outcome">${t.signIn}</h1>
    <p id="name-help">${t.signInText}</p>
    <form method="post" action="bank/sign-in${query}">
      <label for="name">${t.yourName}</label>
      ${wrongName && error}
      <input
        id="name"
        name="name"
        type="text"
        autocomplete="name"
        maxlength="${nameCharsMax}"
        required
        aria-describedby="${wrongName ? 'name-error name-help' : 'name-help'}"
        ${wrongName && html` aria-invalid="true"`}
      />
      <button type="submit" class="primary">${t.signIn}</button>
    </form>`
}

function decision(view: View, { payment }: PaymentView): Html {
  const { t, query } = view
  return html`<h1 class="outcome">${t.confirm}</h1>
    <p>${fill(t.signedInAs, { name: payment.visit?.payerName ?? '' })}</p>
    <dl class="facts">
      <div>
        <dt>${t.amount}</dt>
        <dd class="strong">${formatAmount(amountDue(payment), view)}</dd>
      </div>
      <div>
        <dt>${t.recipient}</dt>
        <dd>${payment.accountHolder}</dd>
      </div>
      <div>
        <dt>${t.iban}</dt>
        <dd class="code">${groupInFours(payment.iban)}</dd>
      </div>
      <div>
        <dt>${t.reference}</dt>
        <dd class="code">${groupInFours(payment.creditorReference)}</dd>
      </div>
    </dl>
    <div class="choices">
      <form method="post" action="bank/approve${query}">
        <button type="submit" class="primary">${t.approve}</button>
      </form>
      <form method="post" action="bank/reject${query}"><button type="submit">${t.reject}</button></form>
    </div>`
}
