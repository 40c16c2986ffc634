/** The overdue reviews of customers, of all partners. Every role of staff reads them. */
import type { PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { isDay } from '../../reports/safeguarding/index.ts'
import { page, uuid } from '../kit/request.ts'
import { type DeskFrame, staffRoute } from './request.ts'
import { reviewsPage } from './review-pages.ts'

const reviewsShown = 50

export function reviewRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, customers } = frame
  return [
    staffRoute(frame, 'reviews', 'GET', '/reviews', async (request, { view }) => {
      const after = lastOf(request)
      const rows = await customers.reviews.overduePage(db, { after, rowsMax: reviewsShown + 1 })
      const reviews = rows.slice(0, reviewsShown)
      const last = rows.length > reviewsShown ? reviews.at(-1) : undefined
      const next = last && `reviews?due=${last.dueOn}&after=${last.customerId}`
      return page(request, 200, reviewsPage(view, { reviews, next, first: after && 'reviews' }))
    }),
  ]
}

/** The last row of the page before. Undefined: the first page. */
function lastOf({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const [dueOn, customerId] = [fields.get('due') ?? '', fields.get('after') ?? '']
  return isDay(dueOn) && uuid.test(customerId) ? { dueOn, customerId } : undefined
}
