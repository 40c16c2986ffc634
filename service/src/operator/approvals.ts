/** Commands for the rules by which payouts wait for a second person. */
import { ConfigError } from '../app/config.ts'
import { amountText, type Minor } from '../kernel/index.ts'
import type { ApprovalRule } from '../payouts/controls/index.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const approvalCommands: CommandsOf<`approval ${string}`> = {
  /** Sets the rule of a currency, or replaces it. */
  'approval set': (context, options, call) => {
    const rule = {
      partnerId: options.partner,
      currency: options.currency,
      allCurrencies: options['all-currencies'],
      aboveAmount: options.above ?? null,
      aboveDayAmount: options['above-day'] ?? null,
      aboveBulkAmount: options['above-bulk'] ?? null,
      beneficiaryHours: options['beneficiary-hours'] ?? null,
      perPersonAmount: options['per-person'] ?? null,
      expiresHours: options['expires-hours'],
      needsPasskey: options.passkey,
      payeeMismatch: options['payee-mismatch'],
    }
    const { aboveAmount, aboveDayAmount, aboveBulkAmount, beneficiaryHours, perPersonAmount, payeeMismatch } = rule
    if (
      !payeeMismatch &&
      [aboveAmount, aboveDayAmount, aboveBulkAmount, beneficiaryHours, perPersonAmount].every((each) => each === null)
    )
      throw new ConfigError(
        'operator: --above, --above-day, --above-bulk, --beneficiary-hours, --per-person or --payee-mismatch is required',
      )
    return decided(context, call, async (tx) =>
      viewOf(await context.service.payoutControls.approvalRules.set(tx, rule)),
    )
  },

  'approval list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.approvalRules.list(db, partner)).map(viewOf),

  'approval remove': (context, { partner, id }, call) =>
    decided(context, call, async (tx) => {
      const removed = await context.service.payoutControls.approvalRules.remove(tx, partner, id)
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
