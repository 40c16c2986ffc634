/** The page on which a second person approves or rejects a payout, or those of a bulk. What stands first is what the person signs. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField, message, time } from './components.ts'
import { grouped } from './money.ts'
import { passkeyForm } from './passkey-form.ts'
import type { ApprovalWords } from './texts/approvals.ts'
import { type ConsoleView, shell } from './view.ts'

type Beyond = {
  readonly currency: string
  /** Numbers in major units. */
  readonly most: string
  readonly left: string
  readonly resetsAt: Date
}

/** Content of the page for a payout, or for those of a bulk. */
export type Approval = {
  readonly words: ApprovalWords
  /** Path below the root, to which `/approve` and `/reject` are added. */
  readonly path: string
  /** The facts that the person signs: amount and payee, or number and sums. */
  readonly facts: readonly (readonly [label: string, value: Html | string, form?: 'sum' | 'code'])[]
  /** Label of the button. */
  readonly label: string
  readonly more?: Html
  /** How many payouts of a bulk the person sees. Absent: it is one payout. */
  readonly payouts?: number
  readonly requestedName: string
  readonly hasMakerLeft: boolean
  readonly nonce: string
  /** PublicKeyCredentialRequestOptionsJSON. Absent: the person has no passkey. */
  readonly passkeyOptions?: string | undefined
  readonly needsPasskey: boolean
  /** The daily maximum of the person that it would pass. The page then has no form to approve it. */
  readonly beyond?: Beyond
  readonly errors?: Readonly<Record<string, string>>
}

export function approvalPage(view: ConsoleView, approval: Approval): string {
  const { words: t, errors = {}, facts, more } = approval
  return shell(view, {
    title: t.title,
    problems: errors,
    card: true,
    main: html`<h1>${t.title}</h1>
      <p class="lead">${fill(t.lead, { name: approval.requestedName })}</p>
      ${approval.hasMakerLeft && message('warning', fill(t.makerLeft, { name: approval.requestedName }))}
      <dl class="signed">
        ${facts.map(
          ([label, value, form]) =>
            html`<div>
              <dt>${label}</dt>
              <dd ${form !== undefined && html` class="${form}"`}>${value}</dd>
            </div>`,
        )}
      </dl>
      ${more} ${approval.beyond === undefined ? confirmation(view, approval) : overMaximum(view, t, approval.beyond)}
      ${rejection(view, approval)}
      <p class="foot"><a href="${view.root}${approval.path}">${t.back}</a></p>`,
  })
}

function overMaximum(view: ConsoleView, words: ApprovalWords, { currency, most, left, resetsAt }: Beyond): Html {
  const money = (amount: string) => `${grouped(view.language, amount)} ${currency}`
  const { beyond, beyondUntil } = words
  const text = fill(beyond, { most: money(most), left: money(left) })
  return html`${message('warning', text)}
    <p>${beyondUntil} ${time(view, resetsAt)}</p>`
}

function confirmation(view: ConsoleView, approval: Approval): Html {
  const { words: t, path, label, nonce, passkeyOptions: options, needsPasskey, errors = {} } = approval
  const action = `${view.root}${path}/approve`
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

function rejection(view: ConsoleView, { words: t, path, payouts, errors = {} }: Approval): Html {
  return html`<details class="way" ${errors['reason'] !== undefined && html` open`}>
    <summary>${t.rejectTitle}</summary>
    <form method="post" action="${view.root}${path}/reject">
      ${payouts !== undefined && hiddenField('payouts', String(payouts))}
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
