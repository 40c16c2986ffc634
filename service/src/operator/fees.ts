/** Commands for the fees of payouts. */
import { ConfigError } from '../app/config.ts'
import { amountText } from '../kernel/index.ts'
import { type FeeRule, feeRails } from '../modules/payout-controls/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, readCurrencyOption, readInteger, readMoney, readTime, required } from './options.ts'

const basisPointsMax = 10_000

export const feeCommands = {
  /** Sets a fee of payouts from a time on, by default from now. */
  'fee set': (context: Context, options: Options) => {
    const currency = readCurrencyOption(options)
    const money = (name: 'fixed' | 'min' | 'max') =>
      options[name] === undefined ? 0n : readMoney(options, name, currency)
    const rule = {
      partnerId: required(options, 'partner'),
      currency,
      rail: readChoice(options, 'rail', feeRails),
      fixedAmount: money('fixed'),
      basisPoints: readInteger(options, 'basis-points', { min: 0, max: basisPointsMax, otherwise: 0 }),
      minAmount: money('min'),
      maxAmount: options.max === undefined ? null : money('max'),
      validFrom: readTime(options, 'from'),
    }
    if (rule.maxAmount !== null && rule.maxAmount < rule.minAmount)
      throw new ConfigError('operator: --max must not be below --min')
    return decided(context, { command: 'fee set', options }, async (tx) =>
      viewOf(await context.service.payoutControls.fees.set(tx, rule)),
    )
  },

  'fee list': async ({ service: { payoutControls }, db }: Context, options: Options) =>
    (await payoutControls.fees.list(db, required(options, 'partner'))).map(viewOf),

  'fee remove': (context: Context, options: Options) =>
    decided(context, { command: 'fee remove', options }, async (tx) => {
      const removed = await context.service.payoutControls.fees.remove(
        tx,
        required(options, 'partner'),
        required(options, 'id'),
      )
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
