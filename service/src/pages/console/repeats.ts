/** Shows which earlier payouts a payout may repeat, and asks for the worded yes that pays again. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { message, money, payoutBadge, referenceCell, table, time } from '../kit/parts.ts'
import { texts } from './texts/index.ts'

export type Earlier = ResponseOf<'listPayoutDuplicates'>['data'][number]

/** Undefined: it repeats none. */
export function repeatsPart(view: ConsoleView, earlier: readonly Earlier[]): Html | undefined {
  if (earlier.length === 0) return undefined
  const s = texts[view.language].sending
  const p = texts[view.language].payments
  return html`<section aria-labelledby="repeats-title">
    <h2 id="repeats-title">${s.repeatsTitle}</h2>
    ${message('warning', s.repeatsText)}
    ${table({
      caption: s.repeatsTitle,
      columns: [[p.reference, 'head'], p.payee, s.repeatsBecause, p.status, p.created, [p.amount, 'number']],
      rows: earlier.map((payout) => [
        html`<a href="${view.root}payouts/${payout.id}">${referenceCell(payout)}</a>`,
        html`<span class="free">${payout.beneficiaryName}</span>`,
        payout.sameReference ? s.sameReference : s.otherReference,
        payoutBadge(view, payout.status),
        time(view, new Date(payout.createdAt)),
        money(view, decimalText(payout.amount), payout.currency),
      ]),
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
