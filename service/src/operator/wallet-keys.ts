/** Commands for the keys of chain connectors. Private keys are never printed. */
import type { Context } from './context.ts'

export const walletKeyCommands = {
  /** May be repeated: keys that exist stay. */
  'wallet-key create': ({ service }: Context) => service.chainKeys.create(),
}
