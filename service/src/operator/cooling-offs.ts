/** Commands for the hours during which a new beneficiary is not paid. */
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readCurrencyOption, readInteger, required } from './options.ts'

const hoursMax = 24 * 365
const hoursDefault = 24

export const coolingOffCommands = {
  /** Sets the hours of a currency, or replaces them. */
  'cooling-off set': (context: Context, options: Options) => {
    const rule = {
      partnerId: required(options, 'partner'),
      currency: readCurrencyOption(options),
      hours: readInteger(options, 'hours', { min: 1, max: hoursMax, otherwise: hoursDefault }),
    }
    return decided(context, { command: 'cooling-off set', options }, (tx) =>
      context.service.payoutControls.coolingOffs.set(tx, rule),
    )
  },

  'cooling-off list': ({ service: { payoutControls }, db }: Context, options: Options) =>
    payoutControls.coolingOffs.list(db, required(options, 'partner')),

  'cooling-off remove': (context: Context, options: Options) =>
    decided(context, { command: 'cooling-off remove', options }, async (tx) => {
      const { coolingOffs } = context.service.payoutControls
      const removed = await coolingOffs.remove(tx, required(options, 'partner'), required(options, 'id'))
      return { removed: removed.id }
    }),
}
