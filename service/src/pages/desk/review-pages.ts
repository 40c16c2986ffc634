/** The overdue reviews of customers. */
import type { Review } from '../../parties/customers/index.ts'
import { html } from '../html.ts'
import { badge, calendarDay, call, empty, freeText, identifier, table, time } from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { reviewTexts } from './review-texts.ts'

const tones = { low: 'neutral', medium: 'warning', high: 'bad' } as const

type Shown = {
  readonly reviews: readonly Review[]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function reviewsPage(view: ConsoleView, { reviews, next, first }: Shown): string {
  const d = reviewTexts[view.language]
  const record =
    'npm run -s operator -- review set --partner ID --customer ID --risk low|medium|high --staff NAME --note TEXT'
  return shell(view, {
    title: d.reviews,
    wide: true,
    main: html`<h1>${d.reviews}</h1>
      <p class="lead">${d.reviewsText}</p>
      ${
        reviews.length === 0
          ? empty({ title: d.none, text: d.noneText, more: call(view, record, d.call) })
          : html`${table({
              caption: d.reviews,
              columns: [[d.customer, 'head'], d.partner, d.due, d.risk, d.reviewed, d.by],
              rows: reviews.map(({ customerId, partnerId, dueOn, risk, reviewedAt, reviewedBy }) => [
                identifier(view, customerId, d.customer),
                identifier(view, partnerId, d.partner),
                calendarDay(view, dueOn),
                badge(tones[risk], d[risk]),
                time(view, reviewedAt),
                freeText(reviewedBy),
              ]),
            })}
            ${call(view, record, d.call)}`
      }
      ${pager(view, { next, first })} ${call(view, 'npm run -s operator -- review missing --partner ID', d.missing)}`,
  })
}
