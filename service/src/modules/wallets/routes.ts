/** Operation id -> verb -> shape. */
import { wallets as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Received, Wallets } from './service.ts'

const writeWallet = writerOf(wire.Wallet)
export const toWallet = ({ wallet, address, received }: Received) =>
  writeWallet({
    ...wallet,
    address,
    chainId: Number(wallet.chainId),
    received: writeAmount(received, wallet.currency),
  })

export function walletsRoutes(wallets: Wallets, idempotency: Idempotency): Handlers<'wallets'> {
  return {
    createWallet: idempotency.handler('createWallet', async ({ caller, body }, tx) => {
      const made = await wallets.create(caller.partnerId, body, tx)
      const { id, customerId } = made.wallet
      return { body: toWallet(made), created: `the wallet ${id}`, customerId }
    }),
    listWallets: async ({ caller, query }) => pageOf(await wallets.list(caller.partnerId, query), toWallet),
    getWallet: async ({ caller, params }) => ({
      body: toWallet(await wallets.get(caller.partnerId, params.walletId)),
    }),
  }
}
