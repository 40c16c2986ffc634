/** Commands for the hours during which a new beneficiary is not paid. */
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const coolingOffCommands: CommandsOf<`cooling-off ${string}`> = {
  /** Sets the hours of a currency, or replaces them. */
  'cooling-off set': (context, { partner: partnerId, currency, hours }, call) =>
    decided(context, call, (tx) => context.service.payoutControls.coolingOffs.set(tx, { partnerId, currency, hours })),

  'cooling-off list': ({ service: { payoutControls }, db }, { partner }) =>
    payoutControls.coolingOffs.list(db, partner),

  'cooling-off remove': (context, { partner, id }, call) =>
    decided(context, call, async (tx) => {
      const removed = await context.service.payoutControls.coolingOffs.remove(tx, partner, id)
      return { removed: removed.id }
    }),
}
