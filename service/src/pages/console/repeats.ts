/** Shows which earlier payouts and standing orders a payment may repeat, and asks for the worded yes that pays again. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { badge, freeText, message, money, payoutBadge, referenceCell, table, time } from '../kit/parts.ts'
import { texts } from './texts/index.ts'

export type Repeats = ResponseOf<'listPayoutDuplicates'>

/** Reports whether a payment was refused because it may repeat another. */
export const isRepetition = (error: unknown): boolean => error instanceof Refusal && error.code === 'possible_duplicate'

export const repeatsNone: Repeats = { data: [], scheduled: [] }
export const isRepeat = ({ data, scheduled }: Repeats): boolean => data.length > 0 || scheduled.length > 0

/** The payments that a preview has found. */
export const repeatsOf = (rules: ResponseOf<'previewFiatPayout'>['rules']): Repeats => ({
  data: rules.flatMap(({ earlier }) => earlier ?? []),
  scheduled: rules.flatMap(({ scheduled }) => scheduled ?? []),
})

/** Undefined: it repeats none. */
export function repeatsPart(view: ConsoleView, repeats: Repeats): Html | undefined {
  if (!isRepeat(repeats)) return undefined
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

/** The second yes. `error`: it was sent without it. */
export const againBox = (sentence: string, error: string | undefined): Html =>
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
