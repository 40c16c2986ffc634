/** Commands for the rules by which payouts wait for a second person. */
import { ConfigError } from '../app/config.ts'
import { amountText } from '../kernel/index.ts'
import type { ApprovalRule } from '../modules/payout-controls/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readCurrencyOption, readInteger, readMoney, required } from './options.ts'

const beneficiaryHoursMax = 24 * 365
const expiresHoursMax = 24 * 30
const expiresHoursDefault = 72

export const approvalCommands = {
  /** Sets the rule of a currency, or replaces it. */
  'approval set': (context: Context, options: Options) => {
    const currency = readCurrencyOption(options)
    const hours = { min: 1, max: beneficiaryHoursMax, otherwise: 1 }
    const rule = {
      partnerId: required(options, 'partner'),
      currency,
      aboveAmount: options.above === undefined ? null : readMoney(options, 'above', currency),
      aboveDayAmount: options['above-day'] === undefined ? null : readMoney(options, 'above-day', currency),
      beneficiaryHours:
        options['beneficiary-hours'] === undefined ? null : readInteger(options, 'beneficiary-hours', hours),
      expiresHours: readInteger(options, 'expires-hours', {
        min: 1,
        max: expiresHoursMax,
        otherwise: expiresHoursDefault,
      }),
      needsPasskey: options.passkey === true,
    }
    if (rule.aboveAmount === null && rule.aboveDayAmount === null && rule.beneficiaryHours === null)
      throw new ConfigError('operator: --above, --above-day or --beneficiary-hours is required')
    return decided(context, { command: 'approval set', options }, async (tx) =>
      viewOf(await context.service.payoutControls.approvalRules.set(tx, rule)),
    )
  },

  'approval list': async ({ service: { payoutControls }, db }: Context, options: Options) =>
    (await payoutControls.approvalRules.list(db, required(options, 'partner'))).map(viewOf),

  'approval remove': (context: Context, options: Options) =>
    decided(context, { command: 'approval remove', options }, async (tx) => {
      const { payoutControls } = context.service
      const removed = await payoutControls.approvalRules.remove(
        tx,
        required(options, 'partner'),
        required(options, 'id'),
      )
      return { removed: removed.id }
    }),
}

const viewOf = ({ aboveAmount, aboveDayAmount, ...rule }: ApprovalRule) => ({
  ...rule,
  above: aboveAmount === null ? null : amountText(aboveAmount, rule.currency),
  aboveDay: aboveDayAmount === null ? null : amountText(aboveDayAmount, rule.currency),
})
