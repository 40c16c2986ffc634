/** Commands for the states of accounts: a balance (`--currency`) or the account of a customer (`--customer`). */
import { accounts as wire } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { type AccountState, blocksOutbound } from '../ledger/index.ts'
import type { AccountRef, StateChange } from '../modules/accounts/index.ts'
import type { Change } from './changes.ts'
import type { Context } from './context.ts'
import { decided } from './limits.ts'
import { type Options, readChoice, readCurrencyOption, required } from './options.ts'

const directions = ['both', 'inbound', 'outbound'] as const
const stateOf = { both: 'Blocked', inbound: 'BlockedInbound', outbound: 'BlockedOutbound' } as const

export const accountCommands = {
  /** Replaces an earlier block. A worker cancels the payouts that an interrupted command has left. */
  'account block': (context: Context, options: Options) =>
    change(context, { command: 'account block', options }, stateOf[readChoice(options, 'direction', directions)]),

  'account unblock': (context: Context, options: Options) =>
    change(context, { command: 'account unblock', options }, 'Active'),

  /** Closes an empty account without payouts under way. Final. */
  'account close': (context: Context, options: Options) =>
    change(context, { command: 'account close', options }, 'Closed'),

  /** The accounts that are not active, each with its last change. */
  'account list': async ({ service: { accounts }, db }: Context, options: Options) =>
    (await accounts.notActive(db, required(options, 'partner'))).map(viewOf),
}

/**
 * Waiting payouts are cancelled after the block: no further ones are accepted, and those that a worker has begun
 * continue. Before an unblock the command ends the rest of these cancellations, because it would also find payouts
 * accepted afterwards.
 */
async function change(context: Context, { command, options }: Change, state: AccountState): Promise<object> {
  const { accounts, cancellations, customers } = context.service
  const partnerId = required(options, 'partner')
  const account = accountOf(options)
  const staff = required(options, 'staff')
  const reason = readChoice({ reason: required(options, 'reason') }, 'reason', wire.stateReasons)
  const { note = '' } = options
  const cancelled = async () => {
    const of =
      'currency' in account
        ? { ...account, customerId: null }
        : { currency: null, customerId: (await customers.find(context.db, partnerId, account.customerRef)).id }
    return cancellations.finish(partnerId, of)
  }
  if (!blocksOutbound(state)) await cancelled()
  const told = await decided(context, { command, options }, async (tx) => {
    const changed = await accounts.changeState(tx, { partnerId, account, state, reason, note, staff })
    return changed === undefined ? { state, unchanged: true } : viewOf(changed)
  })
  if (!blocksOutbound(state)) return told
  return { ...told, cancelledPayouts: await cancelled() }
}

function accountOf(options: Options): AccountRef {
  const { currency, customer } = options
  if ((currency === undefined) === (customer === undefined))
    throw new ConfigError('operator: name --currency for a balance, or --customer for the account of a customer')
  return customer === undefined ? { currency: readCurrencyOption(options) } : { customerRef: customer }
}

const viewOf = ({ fromState: from, toState: state, ...row }: StateChange): Readonly<Record<string, unknown>> => ({
  ...row,
  from,
  state,
})
