/** The answer of the bank about the name of a payee. */
import { html, type Html } from '../html.ts'
import { badge, time } from './components.ts'
import { facts } from './lists.ts'
import { wordOf } from './payment-words.ts'
import { paymentTexts } from './texts/payments.ts'
import type { ConsoleView } from './view.ts'

export type Verification = {
  readonly result: 'Match' | 'CloseMatch' | 'NoMatch' | 'NotPossible'
  readonly matchedName?: string | undefined
  readonly reason?: string | undefined
  readonly answeredAt: Date
}

const tones = { Match: 'good', CloseMatch: 'warning', NoMatch: 'bad', NotPossible: 'neutral' } as const

export function verificationPart(view: ConsoleView, verification: Verification): Html {
  const p = paymentTexts[view.language]
  const { result, matchedName, reason, answeredAt } = verification
  return html`<div class="verification">
    <p>${badge(tones[result], p.resultShort[result])}</p>
    <p>${p.result[result]} ${reason !== undefined && wordOf(p.noAnswer, reason)}</p>
    ${facts([
      [p.matchedName, matchedName],
      [p.verifiedAt, time(view, answeredAt)],
    ])}
  </div>`
}
