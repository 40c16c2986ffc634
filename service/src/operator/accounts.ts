/** Commands for the states of accounts: a balance (`--currency`) or the account of a customer (`--customer`). */
import { ConfigError } from '../app/config.ts'
import { type AccountState, blocksOutbound } from '../ledger/index.ts'
import type { AccountRef, StateChange } from '../accounts/index.ts'
import type { Call, CommandsOf, Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'
import { decided } from './limits.ts'

const stateOf = { both: 'Blocked', inbound: 'BlockedInbound', outbound: 'BlockedOutbound' } as const

export const accountCommands: CommandsOf<`account ${string}`> = {
  /** Replaces an earlier block. A worker cancels the payouts that an interrupted command has left. */
  'account block': (context, options, call) => change(context, options, call, stateOf[options.direction]),

  'account unblock': (context, options, call) => change(context, options, call, 'Active'),

  /** Closes an empty account without payouts under way. Final. */
  'account close': (context, options, call) => change(context, options, call, 'Closed'),

  /** The accounts that are not active, each with its last change. */
  'account list': async ({ service: { accounts }, db }, { partner }) =>
    (await accounts.notActive(db, partner)).map(viewOf),
}

/**
 * Waiting payouts are cancelled after the block: no further ones are accepted, and those that a worker has begun
 * continue. Before an unblock the command ends the rest of these cancellations, because it would also find payouts
 * accepted afterwards.
 */
async function change(context: Context, options: Changing, call: Call, state: AccountState): Promise<object> {
  const { accounts, cancellations, customers } = context.service
  const { partner: partnerId, staff, reason } = options
  const account = accountOf(options)
  const note = String(call.typed['note'] ?? '')
  const cancelled = async () => {
    const of =
      'currency' in account
        ? { ...account, customerId: null }
        : { currency: null, customerId: (await customers.find(context.db, partnerId, account.customerRef)).id }
    return cancellations.finish(partnerId, of)
  }
  if (!blocksOutbound(state)) await cancelled()
  const told = await decided(context, call, async (tx) => {
    const changed = await accounts.changeState(tx, { partnerId, account, state, reason, note, staff })
    return changed === undefined ? { state, unchanged: true } : viewOf(changed)
  })
  if (!blocksOutbound(state)) return told
  return { ...told, cancelledPayouts: await cancelled() }
}

type Changing = OptionsOf<'account unblock'>

function accountOf({ currency, customer }: Changing): AccountRef {
  if (currency !== undefined && customer === undefined) return { currency }
  if (customer !== undefined && currency === undefined) return { customerRef: customer }
  throw new ConfigError('operator: name --currency for a balance, or --customer for the account of a customer')
}

const viewOf = ({ fromState: from, toState: state, ...row }: StateChange): Readonly<Record<string, unknown>> => ({
  ...row,
  from,
  state,
})
