/** Commands for chain connectors: their keys, which are never printed, and the parties of their payments. */
import { ConfigError } from '../app/config.ts'
import { travelRuleOf } from '../connectors/evm/index.ts'
import { record } from './changes.ts'
import type { Context } from './context.ts'
import { type Options, required } from './options.ts'

export const walletCommands = {
  /** May be repeated: keys that exist stay. */
  'wallet-key create': ({ service }: Context, options: Options) =>
    service.chainKeys.create((tx) => record(service, tx, { command: 'wallet-key create', options })),
  'travel-rule show': async ({ service, db }: Context, options: Options) => {
    const hash = required(options, 'hash')
    const found = await travelRuleOf(db, service.sealer, hash)
    if (found === undefined) throw new ConfigError(`operator: no payment has the transaction ${hash}`)
    return found
  },
}
