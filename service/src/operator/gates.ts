/** Commands for the gates of a partner: what its customers may do in each state of their verification. */
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const gateCommands: CommandsOf<`gate ${string}`> = {
  /** Sets what the state allows, or replaces it. */
  'gate set': (context, { partner: partnerId, state, allow: allowed, 'hold-up-to': balancesMax = {} }, call) =>
    decided(context, call, (tx) => context.service.customers.gates.set(tx, { partnerId, state, allowed, balancesMax })),

  'gate list': ({ service: { customers }, db }, { partner }) => customers.gates.list(db, partner),

  /** Gives the state the default of the installation again. */
  'gate remove': (context, { partner, state }, call) =>
    decided(context, call, (tx) => context.service.customers.gates.remove(tx, partner, state)),
}
