/** Maps API operations to module operations and response shapes. */
import { wallets as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
import { checksumAddress } from '../../rails/index.ts'
import type { OwnershipProof } from './ownership.ts'
import type { WalletWithReceipts, Wallets } from './service.ts'

const writeWallet = createRecordWriter(wire.Wallet)
export const toWallet = ({ wallet, address, received }: WalletWithReceipts) =>
  writeWallet({
    ...wallet,
    address,
    chainId: Number(wallet.chainId),
    received: toJsonAmount(received, wallet.currency),
  })

const writeProof = createRecordWriter(wire.OwnershipProof)
export const toOwnershipProof = (proof: OwnershipProof) =>
  writeProof({ ...proof, address: checksumAddress(proof.address) })

export function walletsRoutes(wallets: Wallets, idempotency: Idempotency): Handlers<'wallets'> {
  const { ownership } = wallets
  return {
    createWallet: idempotency.handler('createWallet', async ({ caller, body }, tx) => {
      const made = await wallets.create(caller.partnerId, body, tx)
      const { id, customerId } = made.wallet
      return { body: toWallet(made), created: `the wallet ${id}`, customerId, isNew: made.isNew }
    }),
    listWallets: async ({ caller, query }) => writePage(await wallets.list(caller.partnerId, query), toWallet),
    getWallet: async ({ caller, params }) => ({
      body: toWallet(await wallets.get(caller.partnerId, params.walletId)),
    }),
    createOwnershipProof: idempotency.handler('createOwnershipProof', async ({ caller, body }, tx) => {
      const proof = await ownership.create(caller.partnerId, body, tx)
      const { id, customerId } = proof
      return { body: toOwnershipProof(proof), created: `the ownership proof ${id}`, customerId }
    }),
    listOwnershipProofs: async ({ caller, query }) =>
      writePage(await ownership.list(caller.partnerId, query), toOwnershipProof),
    getOwnershipProof: async ({ caller, params }) => ({
      body: toOwnershipProof(await ownership.get(caller.partnerId, params.proofId)),
    }),
    signOwnershipProof: idempotency.handler('signOwnershipProof', async ({ caller, params, body }, tx) => {
      const proof = await ownership.sign(caller.partnerId, params.proofId, body.signature, tx)
      return {
        body: toOwnershipProof(proof),
        created: `the signature of the ownership proof ${proof.id}`,
        customerId: proof.customerId,
      }
    }),
  }
}
