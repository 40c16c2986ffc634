/** Commands for the limits of payouts. Days and months are those of UTC. */
import { Refusal } from '../kernel/api/index.ts'
import { ConfigError } from '../app/config.ts'
import { amountText, nilId } from '../kernel/index.ts'
import type { Limit } from '../payouts/controls/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Change, changing, refusedInOneLine } from './changes.ts'
import type { CommandsOf, Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'

export const limitCommands: CommandsOf<`limit ${string}`> = {
  /** Sets a limit, or the amount of the one with the same partner, scope, period and currency. */
  'limit set': (context, options, call) => {
    const { partner: partnerId, scope, period, currency, amount, 'all-currencies': allCurrencies } = options
    const [scopeRef, verificationState] = [scopeRefOf(options), verificationStateOf(options)]
    const limit = { partnerId, scope, verificationState, period, currency, amount, scopeRef, allCurrencies }
    return decided(context, call, async (tx) => viewOf(await context.service.payoutControls.limits.set(tx, limit)))
  },

  'limit list': async ({ service: { payoutControls }, db }, { partner }) =>
    (await payoutControls.limits.list(db, partner)).map(viewOf),

  'limit remove': (context, { partner, id }, call) =>
    decided(context, call, async (tx) => {
      const removed = await context.service.payoutControls.limits.remove(tx, partner, id)
      return { removed: removed.id }
    }),
}

/** Undefined: the limit is that of the partner, or of each customer or beneficiary. */
function scopeRefOf({ customer, beneficiary, scope }: OptionsOf<'limit set'>): string | undefined {
  if (customer !== undefined && scope !== 'customer')
    throw new ConfigError('operator: --customer needs --scope customer')
  if (beneficiary !== undefined && scope !== 'beneficiary')
    throw new ConfigError('operator: --beneficiary needs --scope beneficiary')
  return customer ?? beneficiary
}

/** Null: the limit holds in every state. */
function verificationStateOf({ state, scope, customer }: OptionsOf<'limit set'>): Limit['verificationState'] {
  if (state !== undefined && (scope !== 'customer' || customer !== undefined))
    throw new ConfigError('operator: --state needs --scope customer, without --customer')
  return state ?? null
}

/** Runs a verb in a transaction, and records it there. Its refusal is the line that the command prints. */
export async function decided(
  context: Context,
  change: Change,
  work: (tx: Tx) => Promise<Readonly<Record<string, unknown>>>,
): Promise<object> {
  const known = async (tx: Tx) => {
    const { partner } = change.typed
    if (partner !== undefined && (await context.service.access.partnerName(tx, String(partner))) === '')
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
