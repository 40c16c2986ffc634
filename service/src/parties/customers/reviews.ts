/** Reviews: the operator gives a customer a class of risk, and looks again after a time that depends on it. */
import { notFound } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { refKind } from './sealed.ts'
import { byRef } from './store.ts'
import * as store from './store-erasures.ts'

/**
 * Months until the next review. The AMLD gives no numbers (Art. 14(5): at appropriate times, on a risk-sensitive basis); these are usual, and
 * each review can have its own.
 */
const reviewMonths = { low: 60, medium: 36, high: 12 } as const
export type Risk = keyof typeof reviewMonths

export type Reviews = {
  /** Records a review of today, instead of the last one. `months`: until the next one. Refuses: not_found. */
  readonly set: (
    tx: Tx,
    review: {
      readonly partnerId: string
      readonly customerRef: string
      readonly risk: Risk
      readonly months?: number | undefined
      readonly staff: string
    },
  ) => Promise<store.Review>
  /**
   * Gives a customer the risk `high`, and makes its next review due today: persons have found out something about it. The last review stays. An
   * erased customer keeps none.
   */
  readonly raise: (
    tx: Tx,
    raised: { readonly partnerId: string; readonly id: string; readonly staff: string },
  ) => Promise<void>
  /** Makes the next review of a customer due today. Without a review it is in the list of those that were never reviewed. */
  readonly makeDue: (tx: Tx, partnerId: string, id: string) => Promise<void>
  /** The last review of a customer. Undefined: it was never reviewed. */
  readonly of: (tx: Tx, partnerId: string, customerId: string) => Promise<store.Review | undefined>
  /** The reviews of a partner, the next one first. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly store.Review[]>
  /** The reviews whose day has come, of all partners or of one, the oldest first. */
  readonly overdue: (tx: Tx, partnerId: string | undefined) => Promise<readonly store.Review[]>
  /** The overdue reviews of all partners, the oldest first, at most `rowsMax`, after the last one of the page before. */
  readonly overduePage: (
    tx: Tx,
    page: { readonly after: store.ReviewKey | undefined; readonly rowsMax: number },
  ) => Promise<readonly store.Review[]>
  /** The overdue reviews of some customers of a partner. */
  readonly overdueOf: (tx: Tx, partnerId: string, customerIds: readonly string[]) => Promise<readonly store.Review[]>
  /** The customers of a partner without a review, the oldest first. */
  readonly missing: (tx: Tx, partnerId: string) => Promise<readonly store.Unreviewed[]>
}

export function createReviews({ clock }: { readonly clock: Clock }): Reviews {
  const today = () => clock.now().toISOString().slice(0, 10)
  return {
    set: async (tx, { partnerId, customerRef, risk, months = reviewMonths[risk], staff: reviewedBy }) => {
      const kind = refKind(customerRef)
      // Held: an erasure waits, and then deletes the review.
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
    missing: store.unreviewed,
  }
}
