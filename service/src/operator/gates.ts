/** Commands for the gates of a partner: what its customers may do in each state of their verification. */
import { ConfigError } from '../app/config.ts'
import type { CommandsOf } from './context.ts'
import { decided } from './limits.ts'

export const gateCommands: CommandsOf<`gate ${string}`> = {
  /** Sets what the state allows, or replaces it. */
  'gate set': (context, { partner: partnerId, state, allow: allowed, ...options }, call) => {
    const { 'hold-up-to': balancesMax = {}, 'hold-up-to-in-all': totalMax = {} } = options
    const { customers, rates } = context.service
    if (Object.keys(totalMax).some((currency) => currency !== rates.referenceCurrency))
      throw new ConfigError(`operator: --hold-up-to-in-all is in ${rates.referenceCurrency}, the reference currency`)
    return decided(context, call, (tx) => customers.gates.set(tx, { partnerId, state, allowed, balancesMax, totalMax }))
  },

  'gate list': ({ service: { customers }, db }, { partner }) => customers.gates.list(db, partner),

  /** Gives the state the default of the installation again. */
  'gate remove': (context, { partner, state }, call) =>
    decided(context, call, (tx) => context.service.customers.gates.remove(tx, partner, state)),
}
