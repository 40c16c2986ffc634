/** Commands for the rules of a partner: limits, fees, approvals, cooling-offs, gates, segregation and reviews of customers. Days and months are those of UTC. */
import { rawNumber } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { amountText, type Currency, type Minor, nilId } from '../kernel/index.ts'
import type { PartyShortfall } from '../ledger/index.ts'
import type { ApprovalRule, FeeRule, Limit } from '../payouts/controls/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type CommandCall, type CommandFunctions, type Context, runChange, operationCommand } from './context.ts'
import type { ParsedOptions } from './declarations.ts'
import { withOwnConnection } from './ledger.ts'

type Subject = 'limit' | 'fee' | 'approval' | 'cooling-off' | 'gate' | 'segregation' | 'review'

export const ruleCommands: CommandFunctions<`${Subject} ${string}`> = {
  /** Sets a limit. Replaces the amount of a limit with the same scope, period and currency. */
  'limit set': (context, options, call) => {
    const { partner: partnerId, scope, period, currency, amount, 'all-currencies': allCurrencies } = options
    const [scopeRef, verificationState] = [readScopeRef(options), readVerificationState(options)]
    const limit = { partnerId, scope, verificationState, period, currency, amount, scopeRef, allCurrencies }
    return runChange(context, call, async (tx) => limitView(await context.service.payoutControls.limits.set(tx, limit)))
  },

  'limit list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.limits.list(db, partner)).map(limitView),

  'limit remove': (context, rule, call) => removeRule(context, 'limits', rule, call),

  'fee set': (context, options, call) => {
    const { partner: partnerId, currency, rail, fixed = 0n, min = 0n, max = null } = options
    if (max !== null && max < min) throw new ConfigError('operator: --max must not be below --min')
    const rule = {
      ...{ partnerId, currency, rail, fixedAmount: fixed, minAmount: min, maxAmount: max },
      ...{ basisPoints: options['basis-points'], validFrom: options.from },
    }
    return runChange(context, call, async (tx) => feeView(await context.service.payoutControls.fees.set(tx, rule)))
  },

  'fee list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.fees.list(db, partner)).map(feeView),

  'fee remove': (context, rule, call) => removeRule(context, 'fees', rule, call),

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
    return runChange(context, call, async (tx) =>
      approvalView(await context.service.payoutControls.approvalRules.set(tx, rule)),
    )
  },

  'approval list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.approvalRules.list(db, partner)).map(approvalView),

  'approval remove': (context, rule, call) => removeRule(context, 'approvalRules', rule, call),

  'cooling-off set': operationCommand(({ payoutControls }, tx, { partner: partnerId, currency, hours }) =>
    payoutControls.coolingOffs.set(tx, { partnerId, currency, hours }),
  ),

  'cooling-off list': ({ service: { payoutControls }, db }, { partner }) =>
    payoutControls.coolingOffs.list(db, partner),

  'cooling-off remove': (context, rule, call) => removeRule(context, 'coolingOffs', rule, call),

  'gate set': (context, { partner: partnerId, state, allow: allowed, ...options }, call) => {
    const { 'hold-up-to': balancesMax = {}, 'hold-up-to-in-all': totalMax = {} } = options
    const { customers, rates } = context.service
    if (Object.keys(totalMax).some((currency) => currency !== rates.referenceCurrency))
      throw new ConfigError(`operator: --hold-up-to-in-all is in ${rates.referenceCurrency}, the reference currency`)
    return runChange(context, call, (tx) =>
      customers.gates.set(tx, { partnerId, state, allowed, balancesMax, totalMax }),
    )
  },

  'gate list': ({ service: { customers }, db }, { partner }) => customers.gates.list(db, partner),

  'gate remove': operationCommand(({ customers }, tx, { partner, state }) =>
    customers.gates.remove(tx, partner, state),
  ),

  'segregation list': async ({ service: { ledger }, db }, { partner }) =>
    (await ledger.modes(db, partner)).map(({ currency, segregated, own }) => ({
      currency,
      mode: segregated ? 'segregated' : 'pooled',
      ...(own === undefined
        ? {}
        : { own: amountText(own.posted, currency), ownReserved: amountText(own.reserved, currency) }),
    })),

  'segregation plan': (context, options) => withOwnConnection(context, (db) => segregationPlan(context, db, options)),

  /** Moves the partner's own money to customers whose payouts exceed their deposits. */
  'segregation cover': (context, { partner: partnerId, currency }, call) =>
    withOwnConnection(context, (db) =>
      runChange({ ...context, db }, call, async (tx) => {
        const { accounts, ledger } = context.service
        const { short, own } = await ledger.shortParties(tx, partnerId, currency)
        const customers = short.filter(({ partyId }) => partyId !== partnerId)
        const total = totalMissing(customers)
        if (total > own)
          throw new ConfigError(
            `operator: customers miss ${amountText(total, currency)} ${currency}, and the partner has ${amountText(own, currency)} ${currency} of its own`,
          )
        const covered = []
        for (const { partyId: toCustomerId, missing } of customers) {
          const amount = rawNumber(amountText(missing, currency))
          const { inwardReference } = await accounts.transfer(
            partnerId,
            { amount, currency, toCustomerId },
            undefined,
            tx,
          )
          if (covered.length < namedMax)
            covered.push({
              customerId: toCustomerId,
              amount: amountText(missing, currency),
              reference: inwardReference,
            })
        }
        return { currency, customers: customers.length, total: amountText(total, currency), covered }
      }),
    ),

  /** Changes the mode of a balance. Payments continue, and are checked again under the new mode. */
  'segregation set': (context, { partner: partnerId, currency, mode }, call) =>
    withOwnConnection(context, async (db) => {
      const { ledger } = context.service
      const changed = await runChange({ ...context, db }, call, async (tx) => {
        if (mode === 'pooled') await ledger.pool(tx, partnerId, currency)
        else {
          const short = await ledger.segregate(tx, partnerId, currency)
          if (short.length > 0) throw new ConfigError(shortMessage(short, currency))
        }
        return { currency, mode }
      })
      // The rows of parties are not needed any more. If the command is killed, the next run deletes them.
      if (mode === 'pooled') await db.transaction((tx) => ledger.clearParties(tx, partnerId, currency))
      return changed
    }),

  /** Records a review dated today, which replaces the previous one. */
  'review set': operationCommand(({ customers }, tx, { partner: partnerId, customer: customerRef, ...review }) =>
    customers.reviews.set(tx, { partnerId, customerRef, ...review }),
  ),

  'review list': ({ service: { customers }, db }, { partner }) => customers.reviews.list(db, partner),

  'review overdue': ({ service: { customers }, db }, { partner }) => customers.reviews.overdue(db, partner),

  'review missing': ({ service: { customers }, db }, { partner }) => customers.reviews.missing(db, partner),
}

const removeRule = (
  context: Context,
  kind: 'limits' | 'fees' | 'approvalRules' | 'coolingOffs',
  { partner, id }: ParsedOptions<'limit remove'>,
  call: CommandCall,
) =>
  runChange(context, call, async (tx) => ({
    removed: (await context.service.payoutControls[kind].remove(tx, partner, id)).id,
  }))

/**
 * Reads the customer or beneficiary of a limit. Undefined if the limit applies to the partner, or to each customer or
 * beneficiary.
 */
function readScopeRef({ customer, beneficiary, scope }: ParsedOptions<'limit set'>): string | undefined {
  if (customer !== undefined && scope !== 'customer')
    throw new ConfigError('operator: --customer needs --scope customer')
  if (beneficiary !== undefined && scope !== 'beneficiary')
    throw new ConfigError('operator: --beneficiary needs --scope beneficiary')
  return customer ?? beneficiary
}

/** Reads the verification state of a limit. Null if the limit applies in every state. */
function readVerificationState({ state, scope, customer }: ParsedOptions<'limit set'>): Limit['verificationState'] {
  if (state !== undefined && (scope !== 'customer' || customer !== undefined))
    throw new ConfigError('operator: --state needs --scope customer, without --customer')
  return state ?? null
}

const limitView = ({ scopeId, amount, ...limit }: Limit) => ({
  ...limit,
  scopeId: scopeId === nilId ? null : scopeId,
  amount: amountText(amount, limit.currency),
})

function feeView({ fixedAmount, minAmount, maxAmount, currency, ...rule }: FeeRule) {
  return {
    ...rule,
    currency,
    fixed: amountText(fixedAmount, currency),
    min: amountText(minAmount, currency),
    max: maxAmount === null ? null : amountText(maxAmount, currency),
  }
}

function approvalView({ aboveAmount, aboveDayAmount, aboveBulkAmount, perPersonAmount, ...rule }: ApprovalRule) {
  const money = (amount: Minor | null) => (amount === null ? null : amountText(amount, rule.currency))
  return {
    ...rule,
    above: money(aboveAmount),
    aboveDay: money(aboveDayAmount),
    aboveBulk: money(aboveBulkAmount),
    perPerson: money(perPersonAmount),
  }
}

/** Maximum customers listed in a result. The counts include all. */
const namedMax = 100

const totalMissing = (short: readonly PartyShortfall[]) => short.reduce((sum, { missing }) => sum + missing, 0n)

const shortMessage = (short: readonly PartyShortfall[], currency: Currency) =>
  `operator: ${short.length} parties have a negative balance, ${amountText(totalMissing(short), currency)} ${currency} in all: ` +
  '`operator segregation plan` names them'

async function segregationPlan(
  { service: { access, ledger } }: Context,
  tx: Tx,
  { partner: partnerId, currency }: ParsedOptions<'segregation plan'>,
) {
  if ((await access.partnerName(tx, partnerId)) === '') throw new ConfigError('operator: No such partner.')
  const { short, own } = await ledger.shortParties(tx, partnerId, currency)
  const customers = short.filter(({ partyId }) => partyId !== partnerId)
  const total = totalMissing(customers)
  return {
    currency,
    ready: short.length === 0,
    own: amountText(own, currency),
    shortCustomers: customers.length,
    missing: amountText(total, currency),
    ownCovers: total <= own,
    customers: customers.slice(0, namedMax).map(({ partyId, posted, reserved, missing }) => ({
      customerId: partyId,
      posted: amountText(posted, currency),
      reserved: amountText(reserved, currency),
      missing: amountText(missing, currency),
    })),
  }
}
