/** Commands for the fees of payouts. */
import { ConfigError } from '../app/config.ts'
import { amountText } from '../kernel/index.ts'
import type { FeeRule } from '../payouts/controls/index.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const feeCommands: CommandsOf<`fee ${string}`> = {
  /** Sets a fee of payouts from a time on, by default from now. */
  'fee set': (context, options, call) => {
    const { partner: partnerId, currency, rail, fixed = 0n, min = 0n, max = null } = options
    if (max !== null && max < min) throw new ConfigError('operator: --max must not be below --min')
    const rule = {
      ...{ partnerId, currency, rail, fixedAmount: fixed, minAmount: min, maxAmount: max },
      ...{ basisPoints: options['basis-points'], validFrom: options.from },
    }
    return decided(context, call, async (tx) => viewOf(await context.service.payoutControls.fees.set(tx, rule)))
  },

  'fee list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.fees.list(db, partner)).map(viewOf),

  'fee remove': (context, { partner, id }, call) =>
    decided(context, call, async (tx) => {
      const removed = await context.service.payoutControls.fees.remove(tx, partner, id)
      return { removed: removed.id }
    }),
}

function viewOf({ fixedAmount, minAmount, maxAmount, currency, ...rule }: FeeRule) {
  return {
    ...rule,
    currency,
    fixed: amountText(fixedAmount, currency),
    min: amountText(minAmount, currency),
    max: maxAmount === null ? null : amountText(maxAmount, currency),
  }
}
