/** Commands for the limits of payouts. Days and months are those of UTC. */
import { verificationStates } from '@partner-payments/wire'
import { Refusal } from '../api/index.ts'
import { ConfigError } from '../app/config.ts'
import { amountText, nilId } from '../kernel/index.ts'
import { type Limit, limitPeriods, limitScopes } from '../modules/payout-controls/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Change, changing, refusedInOneLine } from './changes.ts'
import type { Context } from './context.ts'
import { type Options, readChoice, readCurrencyOption, readMoney, required } from './options.ts'

export const limitCommands = {
  /** Sets a limit, or the amount of the one with the same partner, scope, period and currency. */
  'limit set': (context: Context, options: Options) => {
    const scope = readChoice({ scope: required(options, 'scope') }, 'scope', limitScopes)
    const period = readChoice({ period: required(options, 'period') }, 'period', limitPeriods)
    const currency = readCurrencyOption(options)
    const amount = readMoney(options, 'amount', currency)
    if (amount === 0n) throw new ConfigError('operator: --amount must be greater than zero')
    const partnerId = required(options, 'partner')
    const scopeRef = scopeRefOf(options, scope)
    const verificationState = verificationStateOf(options, scope)
    const limit = { partnerId, scope, verificationState, period, currency, amount, scopeRef }
    return decided(context, { command: 'limit set', options }, async (tx) =>
      viewOf(await context.service.payoutControls.limits.set(tx, limit)),
    )
  },

  'limit list': async ({ service: { payoutControls }, db }: Context, options: Options) =>
    (await payoutControls.limits.list(db, required(options, 'partner'))).map(viewOf),

  'limit remove': (context: Context, options: Options) =>
    decided(context, { command: 'limit remove', options }, async (tx) => {
      const removed = await context.service.payoutControls.limits.remove(
        tx,
        required(options, 'partner'),
        required(options, 'id'),
      )
      return { removed: removed.id }
    }),
}

/** Undefined: the limit is that of the partner, or of each customer or beneficiary. */
function scopeRefOf({ customer, beneficiary }: Options, scope: Limit['scope']): string | undefined {
  if (customer !== undefined && scope !== 'customer')
    throw new ConfigError('operator: --customer needs --scope customer')
  if (beneficiary !== undefined && scope !== 'beneficiary')
    throw new ConfigError('operator: --beneficiary needs --scope beneficiary')
  return customer ?? beneficiary
}

/** Null: the limit holds in every state. */
function verificationStateOf(options: Options, scope: Limit['scope']): Limit['verificationState'] {
  if (options.state === undefined) return null
  if (scope !== 'customer' || options.customer !== undefined)
    throw new ConfigError('operator: --state needs --scope customer, without --customer')
  return readChoice({ state: options.state }, 'state', verificationStates)
}

/** Runs a verb in a transaction, and records it there. Its refusal is the line that the command prints. */
export async function decided(
  context: Context,
  change: Change,
  work: (tx: Tx) => Promise<Readonly<Record<string, unknown>>>,
): Promise<object> {
  const known = async (tx: Tx) => {
    const { partner } = change.options
    if (partner !== undefined && (await context.service.access.partnerName(tx, partner)) === '')
      throw new Refusal('not_found', 'No such partner.')
    return work(tx)
  }
  return refusedInOneLine(() => changing(context, change, known, ({ id }) => (typeof id === 'string' ? { id } : {})))
}

const viewOf = ({ scopeId, amount, ...limit }: Limit) => ({
  ...limit,
  scopeId: scopeId === nilId ? null : scopeId,
  amount: amountText(amount, limit.currency),
})
