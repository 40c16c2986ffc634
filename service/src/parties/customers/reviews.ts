/** Reviews: the operator assigns a customer a risk class, which determines the time of the next review. */
import { notFound } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { parseCustomerRef } from './sealed.ts'
import { byRef } from './store.ts'
import * as store from './store-erasures.ts'

/**
 * Months until the next review. The AMLD does not give numbers (Art. 14(5): at appropriate times, on a risk-sensitive basis). These are
 * usual, and each review can set its own.
 */
const reviewMonths = { low: 60, medium: 36, high: 12 } as const
export type Risk = keyof typeof reviewMonths

export type Reviews = {
  /** Records today's review, which replaces the last one. `months`: until the next review. Refuses: not_found. */
  readonly set: (
    tx: Tx,
    review: {
      readonly partnerId: string
      readonly customerRef: string
      readonly risk: Risk
      readonly months?: number | undefined
      readonly staff: string
    },
  ) => Promise<store.CustomerReview>
  /**
   * Sets the risk of a customer to `high` and makes the next review due today, because staff found out something. The last review stays. Does
   * not apply to an erased customer.
   */
  readonly raise: (
    tx: Tx,
    raised: { readonly partnerId: string; readonly id: string; readonly staff: string },
  ) => Promise<void>
  /** Makes the next review of a customer due today. A customer without a review is listed as never reviewed instead. */
  readonly makeDue: (tx: Tx, partnerId: string, id: string) => Promise<void>
  /** Reads the last review of a customer. Undefined: it was never reviewed. */
  readonly of: (tx: Tx, partnerId: string, customerId: string) => Promise<store.CustomerReview | undefined>
  /** Lists the reviews of a partner, the next due first. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly store.CustomerReview[]>
  /** Lists due reviews of all partners or of one, oldest first. */
  readonly overdue: (tx: Tx, partnerId: string | undefined) => Promise<readonly store.CustomerReview[]>
  /** Lists a page of the due reviews of all partners, oldest first. */
  readonly overduePage: (
    tx: Tx,
    page: { readonly after: store.ReviewCursor | undefined; readonly rowsMax: number },
  ) => Promise<readonly store.CustomerReview[]>
  /** Reads the due reviews of customers of a partner. */
  readonly overdueOf: (
    tx: Tx,
    partnerId: string,
    customerIds: readonly string[],
  ) => Promise<readonly store.CustomerReview[]>
  /** Lists the customers of a partner without a review, oldest first. */
  readonly missing: (tx: Tx, partnerId: string) => Promise<readonly store.UnreviewedCustomer[]>
}

export function createReviews({ clock }: { readonly clock: Clock }): Reviews {
  const today = () => clock.now().toISOString().slice(0, 10)
  return {
    set: async (tx, { partnerId, customerRef, risk, months = reviewMonths[risk], staff: reviewedBy }) => {
      const kind = parseCustomerRef(customerRef)
      // The customer is held, so that an erasure waits and then deletes the review.
      const customer = kind && (await byRef(tx, partnerId, kind, { held: true }))
      if (customer === undefined) throw notFound('customer')
      const reviewedAt = clock.now()
      const dueOn = Temporal.PlainDate.from(reviewedAt.toISOString().slice(0, 10)).add({ months }).toString()
      const review = { partnerId, customerId: customer.id, risk, reviewedBy, reviewedAt, dueOn }
      await store.setReview(tx, review)
      return review
    },
    raise: async (tx, { partnerId, id, staff: reviewedBy }) => {
      const customer = await byRef(tx, partnerId, { kind: 'guid', value: id }, { held: true })
      if (customer === undefined) return
      const review = {
        partnerId,
        customerId: id,
        risk: 'high',
        reviewedBy,
        reviewedAt: clock.now(),
        dueOn: today(),
      } as const
      await store.raiseReview(tx, review)
    },
    makeDue: (tx, partnerId, id) => store.makeReviewDue(tx, partnerId, id, today()),
    of: store.reviewOf,
    list: (tx, partnerId) => store.reviewsOf(tx, partnerId, null),
    overdue: (tx, partnerId) =>
      partnerId === undefined ? store.overdueReviews(tx, today()) : store.reviewsOf(tx, partnerId, today()),
    overduePage: (tx, page) => store.overdueReviews(tx, today(), page),
    overdueOf: (tx, partnerId, customerIds) => store.overdueOf(tx, partnerId, customerIds, today()),
    missing: store.listUnreviewed,
  }
}
