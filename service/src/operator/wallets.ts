/** Commands for chain connectors: their keys, which are never printed, and the parties of their payments. */
import { ConfigError } from '../app/config.ts'
import { travelRuleOf } from '../chains/evm/index.ts'
import { record } from './changes.ts'
import type { CommandsOf } from './context.ts'

export const walletCommands: CommandsOf<'wallet-key create' | 'travel-rule show'> = {
  /** May be repeated: keys that exist stay. */
  'wallet-key create': ({ service }, _options, call) => service.chainKeys.create((tx) => record(service, tx, call)),
  'travel-rule show': async ({ service, db }, { hash }) => {
    const found = await travelRuleOf(db, service.sealer, hash)
    if (found === undefined) throw new ConfigError(`operator: no payment has the transaction ${hash}`)
    return found
  },
}
