/**
 * Wallets: the addresses on which partners and their customers receive tokens. Chain connectors find incoming tokens,
 * which become deposits; `ownersOf` finds the owner of an address.
 *
 * Tables: wallets.wallets, wallets.address_indexes, wallets.ownership_proofs. Invariants: a customer, or the partner
 * itself, has one wallet for each token. An address is issued once: it is derived from an extended public key and an index,
 * which is taken under a lock. Chain, address and owner of a wallet do not change. The owner gets every configured token
 * that arrives at the address, not only that of the wallet.
 */
export { toOwnershipProof, toWallet, walletsRoutes } from './routes.ts'
export { createWallets, type Wallets } from './service.ts'
