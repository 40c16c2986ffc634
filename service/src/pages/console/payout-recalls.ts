/** The recalls of a payout: their list, and the form that requests one. */
import { decimalText, type ResponseOf, referenceCharsMax } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { hiddenField, inputs, toSelectOptions, type FieldProblems, type FieldValues } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { badge, money, table, time, wordFor } from '../kit/parts.ts'
import { texts } from './texts/index.ts'
import { bankReasonText, transactionHref } from './transactions.ts'

type RecallRow = {
  readonly id: string
  readonly reason: string
  readonly status: string
  readonly requestedAt: Date
  readonly requestedBy: string
  readonly answerDueOn?: Date | undefined
  readonly answer?: string | undefined
  readonly returned?:
    | { readonly amount: string; readonly currency: string; readonly href?: string | undefined }
    | undefined
}

export type Recalls = {
  readonly rows: readonly RecallRow[]
  /** Absent: the payout cannot be recalled now. */
  readonly form?: { readonly idempotencyKey: string; readonly typed?: FieldValues | undefined } | undefined
}

const tones: Readonly<Record<string, 'good' | 'bad' | 'warning'>> = {
  Accepted: 'good',
  Refused: 'bad',
  Expired: 'warning',
}

export function recallSection(view: ConsoleView, id: string, { rows, form }: Recalls, problems: FieldProblems): Html {
  const p = texts[view.language].payments
  return html`<section aria-labelledby="recalls-title">
    <h2 id="recalls-title">${p.recalls}</h2>
    ${rows.length > 0 && recallTable(view, rows)}
    ${
      form !== undefined &&
      html`<details class="more" ${(form.typed !== undefined || Object.keys(problems).length > 0) && html` open`}>
        <summary>${p.requestRecall}</summary>
        <p class="soft">${p.recallText}</p>
        <form method="post" action="${view.root}payouts/${id}/recall">
          ${hiddenField('idempotencyKey', form.idempotencyKey)}
          ${inputs(view, { values: form.typed ?? {}, problems }, [
            { name: 'reason', label: p.rejectReason, options: toSelectOptions(p.recallReason) },
            {
              name: 'text',
              label: p.recallMessage,
              help: p.recallMessageHelp,
              charsMax: referenceCharsMax,
              optional: true,
            },
          ])}
          <button type="submit" class="danger">${p.requestRecall}</button>
        </form>
      </details>`
    }
  </section>`
}

function recallTable(view: ConsoleView, rows: readonly RecallRow[]): Html {
  const p = texts[view.language].payments
  return table({
    caption: p.recalls,
    columns: [[p.rejectReason, 'head'], p.status, p.requestedBy, p.created, p.answerDue, p.recallAnswer],
    rows: rows.map(({ reason, status, requestedBy, requestedAt, answerDueOn, answer, returned }) => [
      wordFor(p.recallReason, reason),
      badge(tones[status] ?? 'neutral', wordFor(p.recallStatus, status)),
      html`<span class="free">${requestedBy}</span>`,
      time(view, requestedAt),
      answerDueOn === undefined ? '' : time(view, answerDueOn, 'date'),
      html`<span class="lines">
        ${answer !== undefined && html`<span>${answer}</span>`}
        ${returned !== undefined && returnedPart(view, returned)}
      </span>`,
    ]),
  })
}

function returnedPart(view: ConsoleView, { amount, currency, href }: NonNullable<RecallRow['returned']>): Html {
  const sum = money(view, amount, currency)
  return href === undefined ? sum : html`<a href="${href}">${sum}</a>`
}

export const recallRow = (view: ConsoleView, recall: ResponseOf<'listPayoutRecalls'>['data'][number]) => {
  const { id, reason, status, requestedBy, settledAmount, currency, returnReference } = recall
  return {
    id,
    reason,
    status,
    requestedBy,
    requestedAt: new Date(recall.requestedAt),
    answerDueOn: recall.answerDueOn === undefined ? undefined : new Date(recall.answerDueOn),
    answer: bankReasonText(view, recall.answer, recall.bankText),
    returned:
      settledAmount === undefined
        ? undefined
        : {
            amount: decimalText(settledAmount),
            currency,
            href: returnReference && transactionHref(view, returnReference),
          },
  }
}
