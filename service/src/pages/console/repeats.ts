/** Possible duplicates of a payment: the list, and the checkbox that confirms a second payment. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { badge, freeText, message, money, payoutBadge, referenceCell, table, time } from '../kit/parts.ts'
import { texts } from './texts/index.ts'

export type PossibleDuplicates = ResponseOf<'listPayoutDuplicates'>

/** Reports whether a payment was refused as a possible duplicate. */
export const isDuplicateRefusal = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'possible_duplicate'

export const noDuplicates: PossibleDuplicates = { data: [], scheduled: [] }
export const hasDuplicates = ({ data, scheduled }: PossibleDuplicates): boolean =>
  data.length > 0 || scheduled.length > 0

/** Collects the possible duplicates that a preview found. */
export const duplicatesInPreview = (rules: ResponseOf<'previewFiatPayout'>['rules']): PossibleDuplicates => ({
  data: rules.flatMap(({ earlier }) => earlier ?? []),
  scheduled: rules.flatMap(({ scheduled }) => scheduled ?? []),
})

/** Renders the possible duplicates. Undefined: there are none. */
export function duplicatesSection(view: ConsoleView, repeats: PossibleDuplicates): Html | undefined {
  if (!hasDuplicates(repeats)) return undefined
  const s = texts[view.language].sending
  const p = texts[view.language].payments
  return html`<section aria-labelledby="repeats-title">
    <h2 id="repeats-title">${s.repeatsTitle}</h2>
    ${message('warning', s.repeatsText)}
    ${table({
      caption: s.repeatsTitle,
      columns: [[p.reference, 'head'], p.payee, s.repeatsBecause, p.status, p.created, [p.amount, 'number']],
      rows: [
        ...repeats.data.map((payout) => [
          html`<a href="${view.root}payouts/${payout.id}">${referenceCell(payout)}</a>`,
          html`<span class="free">${payout.beneficiaryName}</span>`,
          payout.sameReference ? s.sameReference : s.otherReference,
          payoutBadge(view, payout.status),
          time(view, new Date(payout.createdAt)),
          money(view, decimalText(payout.amount), payout.currency),
        ]),
        ...repeats.scheduled.map((order) => [
          html`<a href="${view.root}standing-orders/${order.standingOrderId}"
            >${order.userReference === undefined ? s.order : freeText(order.userReference)}</a
          >`,
          html`<span class="free">${order.beneficiaryName}</span>`,
          order.sameReference ? s.sameReference : s.otherReference,
          html`<span class="lines"
            >${badge('warning', s.scheduledAt)} ${time(view, new Date(order.nextAttemptAt))}</span
          >`,
          time(view, new Date(order.createdAt)),
          money(view, decimalText(order.amount), order.currency),
        ]),
      ],
    })}
  </section>`
}

/** Renders the checkbox that confirms a second payment. `error`: set if the form was sent without it. */
export const payAgainBox = (sentence: string, error: string | undefined): Html =>
  html`<div class="field${error !== undefined && ' wrong'}">
    ${error !== undefined && html`<p class="error" id="again-error">${error}</p>`}
    <div class="choice">
      <input
        type="checkbox"
        id="again"
        name="again"
        value="yes"
        required
        ${error !== undefined && html` aria-invalid="true" aria-describedby="again-error"`}
      />
      <label for="again">${sentence}</label>
    </div>
  </div>`
