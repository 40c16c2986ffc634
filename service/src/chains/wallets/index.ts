/**
 * Wallets: the addresses on which partners and their customers receive tokens. What arrives there is found by the chain
 * connectors and becomes a deposit; `ownersOf` tells them, and the deposits, whose an address is.
 *
 * Tables: wallets.wallets, wallets.address_indexes, wallets.ownership_proofs. Invariants: a customer, or the partner itself, has one wallet for each
 * token. An address is given once, to one wallet of one partner: it is derived from an extended public key and an index, and
 * the index is taken under the lock of its row. A wallet keeps its chain, its address and its owner. The owner of an address
 * gets every configured token that arrives there, also another one than that of the wallet.
 */
export type { WalletOfPayment } from './ownership.ts'
export { toOwnershipProof, toWallet, walletsRoutes } from './routes.ts'
export { createWallets, type Wallet, type Wallets } from './service.ts'
