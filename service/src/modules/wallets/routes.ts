/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Received, Wallets } from './service.ts'

export function toWallet({ wallet, address, received }: Received): ResponseOf<'getWallet'> {
  const { id, currency, chainId, network, customerId, createdAt } = wallet
  return {
    id,
    address,
    currency,
    chainId: Number(chainId),
    network,
    ...(customerId === null ? {} : { customerId }),
    received: writeAmount(received, currency),
    createdAt: createdAt.toISOString(),
  }
}

export function walletsRoutes(wallets: Wallets, idempotency: Idempotency): Handlers<'wallets'> {
  return {
    createWallet: idempotency.handler('createWallet', async ({ caller, body }, tx) => {
      const made = await wallets.create(caller.partnerId, body, tx)
      const { id, customerId } = made.wallet
      return { body: toWallet(made), created: `the wallet ${id}`, customerId }
    }),
    listWallets: async ({ caller, query }) => {
      const page = await wallets.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWallet) } }
    },
    getWallet: async ({ caller, params }) => ({
      body: toWallet(await wallets.get(caller.partnerId, params.walletId)),
    }),
  }
}
