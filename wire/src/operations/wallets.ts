/** The operations of the group `wallets`. */
import * as wallets from '../wallets.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { walletId } from './params.ts'

export const walletsOperations = {
  createWallet: {
    tag: 'wallets',
    method: 'POST',
    path: '/v1/wallets',
    body: wallets.WalletCreate,
    response: wallets.Wallet,
    idempotency: 'header',
    permission: 'wallets:write',
    source: 'extension',
    summary: 'Create a wallet',
    description:
      'Returns the wallet of a customer, or of the partner itself, for a token. The first request makes it; later ones ' +
      'return the same wallet. An address is given once and never again to another customer. Whatever arrives there ' +
      'in a configured token becomes a deposit.',
    refusals: ['not_found', 'customer_not_verified', 'currency_not_supported', 'validation_failed'],
    example: { body: { customerId: resource('customer'), currency: 'EURC' } },
  },
  listWallets: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets',
    query: wallets.WalletQuery,
    response: wallets.WalletPage,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'List wallets',
    description: "Returns the partner's wallets, newest first. Filter by `customerId` or `currency`.",
    refusals: [],
    example: {},
  },
  getWallet: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets/{walletId}',
    params: walletId,
    response: wallets.Wallet,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'Retrieve a wallet',
    description: 'Returns a wallet by its `id`, with what it has received.',
    refusals: ['not_found'],
    example: { params: { walletId: resource('wallet') } },
  },
} as const satisfies Record<string, Operation>
