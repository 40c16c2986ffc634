/** The operations of wallets. */
import type { BodyOf, QueryOf } from '@partner-payments/wire'
import { notFound, type Page, parseCurrency, Refusal } from '../../kernel/api/index.ts'
import { type Currency, type Minor, newId, partnerKey, present } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import { type ChainNetwork, checksumAddress, type ChooseConnector, type WalletView as Sum } from '../../rails/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import { createOwnership, type Ownership, type OwnershipDeps } from './ownership.ts'
import * as store from './store.ts'

type Wallet = store.Wallet
/** A wallet with its checksummed address and the amount that it has received. */
export type WalletWithReceipts = {
  readonly id: string
  readonly wallet: Wallet
  readonly address: string
  readonly received: Minor
}
export type WalletCreate = BodyOf<'createWallet'>
type WalletList = QueryOf<'listWallets'>

export type Wallets = {
  /**
   * Returns the wallet of the customer, or of the partner itself, for a token, and creates it if it does not exist.
   * Refuses: validation_failed (currency), not_found (/customerId), customer_not_verified, account_blocked (the account is
   * closed), currency_not_supported (no chain supports it).
   */
  readonly create: (
    partnerId: string,
    input: WalletCreate,
    tx?: Tx,
  ) => Promise<WalletWithReceipts & { /** False if the wallet existed. */ readonly isNew: boolean }>
  /** Lists wallets, newest first. Empty if the filter names an unknown customer. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: WalletList) => Promise<Page<WalletWithReceipts>>
  /** Reads a wallet. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<WalletWithReceipts>
  /** Closes the wallets of an erased customer, which can then no longer be credited. */
  readonly close: typeof store.closeWallets
  /** Finds the owners of wallets by address in lower case. Skips addresses that this service did not issue. */
  readonly findOwners: (
    tx: Tx,
    addresses: readonly string[],
  ) => Promise<ReadonlyMap<string, { readonly partnerId: string; readonly customerId: string | null }>>
  /** Proofs of who controls an external wallet. */
  readonly ownership: Ownership
}

type WalletsDeps = OwnershipDeps & {
  readonly customers: Pick<Customers, 'hold' | 'resolveId' | 'requireCapability'>
  readonly networks: readonly ChainNetwork[]
  readonly chooseConnector: ChooseConnector
  /** Reads the extended public key of the addresses; undefined if the operator has not created it. */
  readonly addressKey: (tx: Tx) => Promise<string | undefined>
  /** Derives the address with this index from the extended public key, in lower case. */
  readonly deriveAddress: (publicKey: string, index: number) => Promise<string>
  readonly sumReceived: (tx: Tx, partnerId: string, addresses: readonly string[]) => Promise<readonly Sum[]>
}

export function createWallets(deps: WalletsDeps): Wallets {
  const { db, cursors, customers, networks, chooseConnector } = deps
  const listName = (partnerId: string) => `wallets:${partnerId}`
  const make = createWalletMaker(deps)

  return {
    create: async (partnerId, input, outerTx) => {
      const currency = parseCurrency(input.currency)
      const network = chooseNetwork(networks, chooseConnector, { partnerId, currency })
      return inTransaction(db, outerTx, async (tx) => {
        const received = async (wallet: Wallet) => {
          const [one] = await withReceived(deps, tx, partnerId, [wallet])
          return present(one, `no received sum for wallet ${wallet.id}`)
        }
        const { customerId: ref } = input
        const customer = ref === undefined ? null : await customers.hold(tx, partnerId, ref, '/customerId')
        const customerId = customer?.id ?? null
        const ownerId = customerId ?? partnerId
        const existing = await store.walletByOwner(tx, partnerId, ownerId, currency)
        if (existing !== undefined) return { ...(await received(existing)), isNew: false }
        if (customerId !== null)
          await customers.requireCapability(tx, partnerId, customerId, 'OpenAccount', {
            pointer: '/customerId',
            currency,
          })
        const made = await make(tx, partnerId, { ownerId, customerId, currency, network })
        return { ...(await received(made)), isNew: true }
      })
    },
    list: async (partnerId, { customerId: ref, ...query }) => {
      const request = cursors.read(listName(partnerId), query)
      const customerId = ref === undefined ? undefined : await customers.resolveId(db, partnerId, ref)
      if (ref !== undefined && customerId === undefined) return { data: [], nextCursor: null, hasMore: false }
      const filter = customerId === undefined ? query : { ...query, customerId }
      const rows = await store.listWallets(db, partnerId, filter, request)
      return cursors.page(listName(partnerId), request, await withReceived(deps, db, partnerId, rows))
    },
    get: async (partnerId, id) => {
      const wallet = await store.walletById(db, partnerId, id)
      if (wallet === undefined) throw notFound('wallet')
      const [found] = await withReceived(deps, db, partnerId, [wallet])
      return present(found, `no received sum for wallet ${id}`)
    },
    close: store.closeWallets,
    ownership: createOwnership(deps),
    findOwners: async (tx, addresses) =>
      addresses.length === 0
        ? new Map()
        : new Map((await store.addressOwners(tx, addresses)).map(({ address, ...owner }) => [address, owner])),
  }
}

type NewWallet = Pick<Wallet, 'ownerId' | 'customerId' | 'currency'> & { readonly network: ChainNetwork }

/**
 * Derives the next address and stores the wallet. Of two calls for the same owner, the second waits for the lock and then
 * finds the wallet of the first.
 */
function createWalletMaker({ clock, deriveAddress, addressKey }: WalletsDeps) {
  return async (tx: Tx, partnerId: string, { ownerId, customerId, currency, network }: NewWallet): Promise<Wallet> => {
    const publicKey = await addressKey(tx)
    if (publicKey === undefined)
      throw new Refusal(
        'currency_not_supported',
        'The service has no key for wallet addresses. Ask the operator to create it.',
      )
    const addressIndex = await store.lockIndex(tx, publicKey)
    const existing = await store.walletByOwner(tx, partnerId, ownerId, currency)
    if (existing !== undefined) return existing
    const wallet: Wallet = {
      id: newId(),
      ownerId,
      customerId,
      currency,
      connector: network.id,
      chainId: BigInt(network.chainId),
      network: network.network,
      address: await deriveAddress(publicKey, addressIndex),
      publicKey,
      addressIndex,
      createdAt: clock.now(),
    }
    await store.insertWallet(tx, partnerId, wallet)
    await store.setNextIndex(tx, publicKey, addressIndex + 1)
    return wallet
  }
}

async function withReceived(
  { sumReceived }: Pick<WalletsDeps, 'sumReceived'>,
  tx: Tx,
  partnerId: string,
  wallets: readonly Wallet[],
): Promise<readonly WalletWithReceipts[]> {
  if (wallets.length === 0) return []
  const sums = await sumReceived(
    tx,
    partnerId,
    wallets.map(({ address }) => address),
  )
  const byKey = new Map(sums.map(({ account, currency, amount }) => [partnerKey(account, currency), amount]))
  return wallets.map((wallet) => ({
    id: wallet.id,
    wallet,
    address: checksumAddress(wallet.address),
    received: byKey.get(partnerKey(wallet.address, wallet.currency)) ?? 0n,
  }))
}

/** Chooses the chain of the partner's wallets. Refuses: currency_not_supported. */
export function chooseNetwork(
  networks: readonly ChainNetwork[],
  chooseConnector: ChooseConnector,
  { partnerId, currency }: { readonly partnerId: string; readonly currency: Currency },
): ChainNetwork {
  const connector = chooseConnector({ partnerId, rail: 'Wallet', currency })
  const network = networks.find(({ id, tokens }) => id === connector && tokens[currency] !== undefined)
  if (network === undefined) throw new Refusal('currency_not_supported', `No configured chain supports ${currency}.`)
  return network
}
