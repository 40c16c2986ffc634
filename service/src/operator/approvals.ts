/** Commands for the rules by which payouts wait for a second person. */
import { ConfigError } from '../app/config.ts'
import { amountText, type Minor } from '../kernel/index.ts'
import type { ApprovalRule } from '../modules/payout-controls/index.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { isOn, type Options, readCurrencyOption, readInteger, readMoney, required } from './options.ts'

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
      aboveBulkAmount: options['above-bulk'] === undefined ? null : readMoney(options, 'above-bulk', currency),
      beneficiaryHours:
        options['beneficiary-hours'] === undefined ? null : readInteger(options, 'beneficiary-hours', hours),
      perPersonAmount: options['per-person'] === undefined ? null : readMoney(options, 'per-person', currency),
      expiresHours: readInteger(options, 'expires-hours', {
        min: 1,
        max: expiresHoursMax,
        otherwise: expiresHoursDefault,
      }),
      needsPasskey: isOn(options, 'passkey'),
      payeeMismatch: isOn(options, 'payee-mismatch'),
    }
    const { aboveAmount, aboveDayAmount, aboveBulkAmount, beneficiaryHours, perPersonAmount, payeeMismatch } = rule
    if (
      !payeeMismatch &&
      [aboveAmount, aboveDayAmount, aboveBulkAmount, beneficiaryHours, perPersonAmount].every((each) => each === null)
    )
      throw new ConfigError(
        'operator: --above, --above-day, --above-bulk, --beneficiary-hours, --per-person or --payee-mismatch is required',
      )
    if (perPersonAmount === 0n) throw new ConfigError('operator: --per-person must be greater than zero')
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

function viewOf({ aboveAmount, aboveDayAmount, aboveBulkAmount, perPersonAmount, ...rule }: ApprovalRule) {
  const money = (amount: Minor | null) => (amount === null ? null : amountText(amount, rule.currency))
  return {
    ...rule,
    above: money(aboveAmount),
    aboveDay: money(aboveDayAmount),
    aboveBulk: money(aboveBulkAmount),
    perPerson: money(perPersonAmount),
  }
}
