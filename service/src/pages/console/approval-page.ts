/** The page on which a second person approves or rejects a payout. The amount and the payee are what the person signs. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { errorSummary, field, hiddenField, message, time } from './components.ts'
import { inFours } from './lists.ts'
import { grouped } from './money.ts'
import { passkeyForm } from './passkey-form.ts'
import { approvalTexts } from './texts/approvals.ts'
import { type ConsoleView, shell } from './view.ts'

type Beyond = {
  readonly currency: string
  /** Numbers in major units. */
  readonly most: string
  readonly left: string
  readonly resetsAt: Date
}

type Approval = {
  readonly id: string
  /** The number in major units. */
  readonly amount: string
  readonly currency: string
  readonly payeeName: string
  readonly payeeAccount: string
  readonly reference: string
  readonly requestedName: string
  readonly approvalExpiresAt: Date
  readonly nonce: string
  /** PublicKeyCredentialRequestOptionsJSON. Absent: the person has no passkey. */
  readonly passkeyOptions?: string | undefined
  readonly needsPasskey: boolean
  /** The daily maximum of the person that this payout would pass. The page then has no form to approve it. */
  readonly beyond?: Beyond
  readonly errors?: Readonly<Record<string, string>>
}

export function approvalPage(view: ConsoleView, payout: Approval): string {
  const t = approvalTexts[view.language]
  const { errors = {} } = payout
  const sum = `${grouped(view.language, payout.amount)} ${payout.currency}`
  const problems = Object.entries(errors).map(([name, text]) => (name === 'form' ? { text } : { text, field: name }))
  return shell(view, {
    title: t.title,
    hasErrors: problems.length > 0,
    main: html`<div class="card">
      ${errorSummary(view, problems)}
      <h1>${t.title}</h1>
      <p class="lead">${fill(t.lead, { name: payout.requestedName })}</p>
      <dl class="signed">
        <div>
          <dt>${t.amount}</dt>
          <dd class="sum">${sum}</dd>
        </div>
        <div>
          <dt>${t.payee}</dt>
          <dd>${payout.payeeName}</dd>
        </div>
        <div>
          <dt>${t.account}</dt>
          <dd class="code">${inFours(payout.payeeAccount)}</dd>
        </div>
        <div>
          <dt>${t.reference}</dt>
          <dd class="code">${payout.reference}</dd>
        </div>
        <div>
          <dt>${t.validUntil}</dt>
          <dd>${time(view, payout.approvalExpiresAt)}</dd>
        </div>
      </dl>
      ${payout.beyond === undefined ? confirmation(view, payout, sum) : overMaximum(view, payout.beyond)}
      ${rejection(view, payout)}
      <p class="foot"><a href="${view.root}payouts/${payout.id}">${t.back}</a></p>
    </div>`,
  })
}

function overMaximum(view: ConsoleView, { currency, most, left, resetsAt }: Beyond): Html {
  const money = (amount: string) => `${grouped(view.language, amount)} ${currency}`
  const { beyond, beyondUntil } = approvalTexts[view.language]
  const text = fill(beyond, { most: money(most), left: money(left) })
  return html`${message('warning', text)}
    <p>${beyondUntil} ${time(view, resetsAt)}</p>`
}

function confirmation(view: ConsoleView, payout: Approval, sum: string): Html {
  const t = approvalTexts[view.language]
  const { id, nonce, passkeyOptions: options, needsPasskey, errors = {} } = payout
  const action = `${view.root}payouts/${id}/approve`
  const label = fill(t.approve, { amount: sum })
  if (options !== undefined)
    return passkeyForm(view, {
      action,
      kind: 'get',
      options,
      label,
      title: t.passkeyTitle,
      text: t.passkeyText,
      fields: [['nonce', nonce]],
    })
  if (needsPasskey) return message('warning', t.passkeyOnly)
  return html`<section class="way" aria-labelledby="code-title">
    <h2 id="code-title">${t.codeTitle}</h2>
    <p>${t.codeText}</p>
    <form method="post" action="${action}">
      ${hiddenField('nonce', nonce)}
      ${field({
        id: 'code',
        name: 'code',
        label: view.t.code,
        help: view.t.codeHelp,
        error: errors['code'],
        more: html`inputmode="numeric" autocomplete="one-time-code" maxlength="7"`,
      })}
      <button type="submit" class="primary">${label}</button>
    </form>
  </section>`
}

function rejection(view: ConsoleView, { id, errors = {} }: Approval): Html {
  const t = approvalTexts[view.language]
  return html`<details class="way" ${errors['reason'] !== undefined && html` open`}>
    <summary>${t.rejectTitle}</summary>
    <form method="post" action="${view.root}payouts/${id}/reject">
      ${field({
        id: 'reason',
        name: 'reason',
        label: t.reason,
        help: t.reasonHelp,
        error: errors['reason'],
        more: html`maxlength="140" autocomplete="off"`,
      })}
      <button type="submit" class="danger">${t.reject}</button>
    </form>
  </details>`
}
