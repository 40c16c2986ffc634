/** The operations of the group `wallets`. */
import * as wallets from '../wallets.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { ownershipProofId, walletId } from './params.ts'

export const walletsOperations = {
  createWallet: {
    tag: 'wallets',
    method: 'POST',
    path: '/v1/wallets',
    body: wallets.WalletCreate,
    response: wallets.Wallet,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'wallets:write',
    source: 'extension',
    summary: 'Create a wallet',
    description:
      'Returns the wallet of a customer, or of the partner itself, for a token. The first request creates the wallet; later requests ' +
      'return it. An address is never reused for another customer. Any amount of a configured token that arrives at the address ' +
      'becomes a deposit.',
    refusals: ['not_found', 'customer_not_verified', 'account_blocked', 'currency_not_supported', 'validation_failed'],
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
  createOwnershipProof: {
    tag: 'wallets',
    method: 'POST',
    path: '/v1/wallets/ownership-proofs',
    body: wallets.OwnershipProofCreate,
    response: wallets.OwnershipProof,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'wallets:write',
    source: 'extension',
    summary: 'Create a proof of ownership',
    description:
      'Returns a `message` that the owner signs with the wallet to prove control over it. With `vasp` no signature is needed: you declare that ' +
      'this provider keeps the wallet. The operator may require either for larger token payments to or from a wallet.',
    refusals: ['not_found', 'validation_failed'],
    example: {
      body: { customerId: resource('customer'), address: '0x52908400098527886E0F7030069857D2E4169EE7' },
      fullBody: {
        customerId: resource('customer'),
        address: '0x52908400098527886E0F7030069857D2E4169EE7',
        vasp: 'Example Custody Ltd',
      },
    },
  },
  listOwnershipProofs: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets/ownership-proofs',
    query: wallets.OwnershipProofQuery,
    response: wallets.OwnershipProofPage,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'List proofs of ownership',
    description:
      'Returns your proofs and declarations about wallets, newest first. Filter by `customerId` or `address`.',
    refusals: ['validation_failed'],
    example: {},
  },
  getOwnershipProof: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets/ownership-proofs/{proofId}',
    params: ownershipProofId,
    response: wallets.OwnershipProof,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'Retrieve a proof of ownership',
    description: 'Returns a proof of ownership by its `id`.',
    refusals: ['not_found'],
    example: { params: { proofId: resource('ownershipProof') } },
  },
  signOwnershipProof: {
    tag: 'wallets',
    method: 'POST',
    path: '/v1/wallets/ownership-proofs/{proofId}/sign',
    params: ownershipProofId,
    body: wallets.OwnershipSignature,
    response: wallets.OwnershipProof,
    idempotency: 'header',
    makes: 'nothing',
    repeatable: true,
    permission: 'wallets:write',
    source: 'extension',
    summary: 'Send an ownership signature',
    description:
      'Checks the signature of the wallet over `message` and stores both as evidence. The signature must be made with the key of the address; ' +
      'contract wallets (EIP-1271) are not supported. A `Proved` proof does not change.',
    refusals: ['not_found', 'validation_failed', 'ownership_proof_expired'],
    example: {
      params: { proofId: resource('ownershipProof') },
      body: { signature: resource('ownershipSignature') },
    },
  },
} as const satisfies Record<string, Operation>
