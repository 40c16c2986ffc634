/** The verbs of simulations on the simulated chain: token deposits, blocks and reorganisations. */
import type { BodyOf, ResponseOf } from '@partner-payments/wire'
import { notFound, readAmount, refuseField } from '../../api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { addressProblem, type ChainSimulator, simulatedChainConnectorId } from '../../rails/index.ts'
import type { Wallets } from '../wallets/index.ts'

export type ChainSimulations = {
  /** Refuses: validation_failed (amount, from), not_found (no such wallet, or one on another chain). */
  readonly walletDeposit: (
    partnerId: string,
    walletId: string,
    body: BodyOf<'simulateWalletDeposit'>,
    tx?: Tx,
  ) => Promise<ResponseOf<'simulateWalletDeposit'>>
  /** Refuses: validation_failed (deeper than the chain). */
  readonly reorganisation: (partnerId: string, depth: number) => Promise<ResponseOf<'simulateChainReorganisation'>>
  readonly blocks: (count: number) => Promise<ResponseOf<'simulateChainBlocks'>>
}

export function createChainSimulations(deps: {
  /** Undefined outside a sandbox. */
  readonly simulatedChain: ChainSimulator | undefined
  readonly wallets: Pick<Wallets, 'get'>
}): ChainSimulations {
  const { wallets } = deps
  const chainOf = (): ChainSimulator => {
    if (deps.simulatedChain === undefined) throw notFound('simulated chain')
    return deps.simulatedChain
  }
  return {
    walletDeposit: async (partnerId, walletId, { amount: given, from, confirmations = 0 }, tx) => {
      const { wallet } = await wallets.get(partnerId, walletId)
      if (wallet.connector !== simulatedChainConnectorId) throw notFound('wallet on the simulated chain')
      const { currency, address: to } = wallet
      const amount = readAmount(given, currency)
      if (from !== undefined && addressProblem(from) !== undefined)
        throw refuseField({
          pointer: '/from',
          code: 'invalid_format',
          message: 'must be an EVM address: 0x and 40 hexadecimal digits, capitals as in its check sum',
        })
      const transfer = { partnerId, currency, amount, from, to, confirmations }
      return { transactionHash: await chainOf().sendTokens(transfer, tx) }
    },
    reorganisation: async (partnerId, depth) => {
      const { head, vanished } = await chainOf().reorganise(partnerId, depth)
      return { head, vanished: [...vanished] }
    },
    blocks: async (count) => ({ head: await chainOf().makeBlocks(count) }),
  }
}
