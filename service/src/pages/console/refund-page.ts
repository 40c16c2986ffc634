/** The refunds of a checkout session: their list with the form of a new one, and the page that shows its effect before it is sent. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField, table, time } from './components.ts'
import { account, facts, freeText, money, moneyText, pager, type Pages, select, referenceText } from './lists.ts'
import { payoutBadge, wordOf } from './payment-words.ts'
import type { Problems, Values } from './payments-request.ts'
import { checkoutTexts } from './texts/checkout.ts'
import { paymentTexts } from './texts/payments.ts'
import { refundTexts } from './texts/refunds.ts'
import { type ConsoleView, shell } from './view.ts'

type RefundRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly status: string
  readonly reason?: string | undefined
  readonly errorKey?: string | undefined
  readonly createdAt: Date
  /** Absent: the person reads no payouts. */
  readonly payoutHref?: string | undefined
}

export const refundFields = ['amount', 'reference', 'reason', 'partId'] as const

export type Refunds = {
  readonly rows: readonly RefundRow[]
  readonly pages: Pages
  readonly currency: string
  /** Null: everything is refunded. */
  readonly left: string | null
  /** The parts that can go back, if there are several. */
  readonly parts: readonly { readonly id: string; readonly amount: string; readonly payer: string }[]
  /** Absent: the person makes no refunds. */
  readonly form?: { readonly idempotencyKey: string; readonly values: Values } | undefined
}

export function refundPart(view: ConsoleView, sessionId: string, refunds: Refunds, problems: Problems): Html {
  const r = refundTexts[view.language]
  const { rows, pages, form, left, currency, parts } = refunds
  return html`<section aria-labelledby="refunds-title">
    <h2 id="refunds-title">${r.refunds}</h2>
    ${rows.length === 0 ? html`<p>${r.none}</p>` : refundTable(view, rows)} ${pager(view, pages)}
    ${left === null && html`<p class="soft">${r.nothingLeft}</p>`}
    ${
      form !== undefined &&
      left !== null &&
      html`<details
        class="more"
        ${(Object.keys(form.values).length > 0 || Object.keys(problems).length > 0) && html` open`}
      >
        <summary>${r.refund}</summary>
        ${refundForm(view, { sessionId, left, currency, parts, ...form }, problems)}
      </details>`
    }
  </section>`
}

type Form = NonNullable<Refunds['form']> & {
  readonly parts: Refunds['parts']
  readonly sessionId: string
  readonly left: string
  readonly currency: string
}

/** The whole that is left, unless the person changes it. */
function refundForm(view: ConsoleView, form: Form, problems: Problems): Html {
  const { language, root } = view
  const r = refundTexts[language]
  const p = paymentTexts[language]
  const { sessionId, left, currency, values, idempotencyKey, parts } = form
  const nameOf = ({ amount, payer }: Form['parts'][number]) =>
    fill(r.partOf, { amount: moneyText(view, amount, currency), payer })
  const text = (name: 'reference' | 'reason', label: string, help: string) =>
    field({
      ...{ id: name, name, value: values[name] ?? '', error: problems[name], help, optional: true },
      label: fill(p.optional, { label }),
      more: html`autocomplete="off" maxlength="140"`,
    })
  return html`<form method="post" action="${root}checkout/${sessionId}/refund">
    ${hiddenField('idempotencyKey', idempotencyKey)}
    ${
      parts.length > 0 &&
      select({
        ...{ id: 'partId', name: 'partId', label: r.part, value: values['partId'] ?? '', error: problems['partId'] },
        options: parts.map((part) => [part.id, nameOf(part)] as const),
      })
    }
    ${field({
      ...{
        id: 'amount',
        name: 'amount',
        value: values['amount'] ?? parts[0]?.amount ?? left,
        error: problems['amount'],
      },
      label: fill(r.amount, { currency }),
      help: fill(r.amountHelp, { left: moneyText(view, left, currency) }),
      more: html`inputmode="decimal" autocomplete="off" maxlength="15"`,
    })}
    ${text('reference', r.reference, r.referenceHelp)} ${text('reason', r.reason, r.reasonHelp)}
    <button type="submit" class="primary">${r.preview}</button>
  </form>`
}

function refundTable(view: ConsoleView, rows: readonly RefundRow[]): Html {
  const r = refundTexts[view.language]
  const p = paymentTexts[view.language]
  return table({
    caption: r.refunds,
    columns: [[p.reference, 'head'], p.status, p.created, r.reason, [p.amount, 'number']],
    rows: rows.map(({ amount, currency, status, reason, errorKey, createdAt, payoutHref, ...row }) => [
      payoutHref === undefined
        ? html`<span class="free">${referenceText(row)}</span>`
        : html`<a class="free" href="${payoutHref}">${referenceText(row)}</a>`,
      html`<span class="lines">
        ${payoutBadge(view, status)} ${errorKey !== undefined && html`<span>${wordOf(p.errorKey, errorKey)}</span>`}
      </span>`,
      time(view, createdAt),
      freeText(reason),
      money(view, amount, currency),
    ]),
  })
}

type RefundPreview = {
  readonly sessionId: string
  readonly creditorReference: string
  readonly currency: string
  readonly values: Values
  readonly idempotencyKey: string
  readonly leftAfter: string
  /** Absent: the person does not see who paid. */
  readonly payer?: { readonly name: string; readonly account: string } | undefined
}

export function refundPreviewPage(view: ConsoleView, preview: RefundPreview): string {
  const r = refundTexts[view.language]
  const { sessionId, currency, payer, leftAfter, values, idempotencyKey } = preview
  const { amount = '', reference, reason } = values
  return shell(view, {
    title: r.previewTitle,
    main: html`<h1>${r.previewTitle}</h1>
      <p class="lead">${r.previewText}</p>
      <section class="card" aria-labelledby="sum">
        <h2 id="sum" class="away">${r.refund}</h2>
        <p class="sum">${money(view, amount, currency)}</p>
        <p class="to">${payer?.name || r.payerUnread}</p>
        ${payer !== undefined && payer.account !== '' && html`<p>${account(view, payer.account)}</p>`}
        ${facts([
          [checkoutTexts[view.language].creditorReference, preview.creditorReference],
          [r.reference, reference],
          [r.reason, reason],
          [r.leftAfter, money(view, leftAfter, currency)],
        ])}
        <ul class="effects">
          <li>${r.effectMoney}</li>
          <li>${r.effectRules}</li>
          <li>${r.effectFinal}</li>
        </ul>
        <form method="post" action="${view.root}checkout/${sessionId}/refund/send" class="buttons">
          ${Object.entries({ ...values, idempotencyKey }).map(([name, value]) => hiddenField(name, value))}
          <button type="submit" class="primary">${fill(r.send, { amount: moneyText(view, amount, currency) })}</button>
          <button type="submit" name="change" value="yes" formaction="${view.root}checkout/${sessionId}/refund">
            ${r.change}
          </button>
        </form>
      </section>`,
  })
}
