/** Commands for the reviews of customers: their class of risk, and which of them is overdue. */
import { risks } from '../modules/customers/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, readInteger, required } from './options.ts'

const monthsMax = 120

export const reviewCommands = {
  /** Records a review of today, instead of the last one. */
  'review set': (context: Context, options: Options) => {
    const review = {
      partnerId: required(options, 'partner'),
      customerRef: required(options, 'customer'),
      risk: readChoice({ risk: required(options, 'risk') }, 'risk', risks),
      staff: required(options, 'staff'),
      months:
        options.months === undefined
          ? undefined
          : readInteger(options, 'months', { min: 1, max: monthsMax, otherwise: monthsMax }),
    }
    return decided(context, { command: 'review set', options }, (tx) =>
      context.service.customers.reviews.set(tx, review),
    )
  },

  'review list': ({ service: { customers }, db }: Context, options: Options) =>
    customers.reviews.list(db, required(options, 'partner')),

  /** Lists those of all partners, or of one. */
  'review overdue': ({ service: { customers }, db }: Context, options: Options) =>
    customers.reviews.overdue(db, options.partner === undefined ? undefined : required(options, 'partner')),

  'review missing': ({ service: { customers }, db }: Context, options: Options) =>
    customers.reviews.missing(db, required(options, 'partner')),
}
