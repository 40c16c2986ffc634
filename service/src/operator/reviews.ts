/** Commands for the reviews of customers: their class of risk, and which of them is overdue. */
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const reviewCommands: CommandsOf<`review ${string}`> = {
  /** Records a review of today, instead of the last one. */
  'review set': (context, { partner: partnerId, customer: customerRef, risk, staff, months }, call) =>
    decided(context, call, (tx) =>
      context.service.customers.reviews.set(tx, { partnerId, customerRef, risk, staff, months }),
    ),

  'review list': ({ service: { customers }, db }, { partner }) => customers.reviews.list(db, partner),

  /** Lists those of all partners, or of one. */
  'review overdue': ({ service: { customers }, db }, { partner }) => customers.reviews.overdue(db, partner),

  'review missing': ({ service: { customers }, db }, { partner }) => customers.reviews.missing(db, partner),
}
