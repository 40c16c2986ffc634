/** The verbs of wallets. */
import type { BodyOf } from '@partner-payments/wire'
import { notFound, type Page, readCurrency, Refusal } from '../../kernel/api/index.ts'
import { type Currency, type Minor, newId, partnerKey, present } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import { type ChainNetwork, checksummed, type ChooseConnector, type Received as Sum } from '../../rails/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import { createOwnership, type Ownership, type OwnershipDeps } from './ownership.ts'
import * as store from './store.ts'

export type Wallet = store.Wallet
/** A wallet with its address as it is shown, and the money that was credited through it. */
export type Received = {
  readonly id: string
  readonly wallet: Wallet
  readonly address: string
  readonly received: Minor
}
export type WalletCreate = BodyOf<'createWallet'>
type WalletList = {
  readonly customerId?: string
  readonly currency?: string
  readonly limit?: string
  readonly cursor?: string
}

export type Wallets = {
  /**
   * The wallet of the customer, or of the partner itself, for a token: the existing one, or a new one. Refuses:
   * validation_failed (currency), not_found (/customerId), currency_not_supported (no chain carries it).
   */
  readonly create: (
    partnerId: string,
    input: WalletCreate,
    tx?: Tx,
  ) => Promise<Received & { /** False: the owner had it already. */ readonly isNew: boolean }>
  /** Newest first. Empty if the filter names an unknown customer. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: WalletList) => Promise<Page<Received>>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<Received>
  /** Closes the wallets of an erased customer: they take no credits. */
  readonly close: typeof store.closeWallets
  /** Finds the owners of wallets by address in lower case. An address that this service did not issue is absent. */
  readonly ownersOf: (
    tx: Tx,
    addresses: readonly string[],
  ) => Promise<ReadonlyMap<string, { readonly partnerId: string; readonly customerId: string | null }>>
  /** Proofs of who controls a wallet of another. */
  readonly ownership: Ownership
}

type WalletsDeps = OwnershipDeps & {
  readonly customers: Pick<Customers, 'hold' | 'idOf' | 'requireCapability'>
  readonly networks: readonly ChainNetwork[]
  readonly chooseConnector: ChooseConnector
  /** The extended public key of the addresses. Undefined: the operator has made none. */
  readonly addressKey: (tx: Tx) => Promise<string | undefined>
  /** The address with this index below the extended public key, in lower case. */
  readonly addressAt: (publicKey: string, index: number) => Promise<string>
  readonly receivedOn: (tx: Tx, partnerId: string, addresses: readonly string[]) => Promise<readonly Sum[]>
}

export function createWallets(deps: WalletsDeps): Wallets {
  const { db, cursors, customers, networks, chooseConnector } = deps
  const listName = (partnerId: string) => `wallets:${partnerId}`
  const make = createMake(deps)

  return {
    create: async (partnerId, input, outerTx) => {
      const currency = readCurrency(input.currency)
      const network = networkFor(networks, chooseConnector, { partnerId, currency })
      return inTransaction(db, outerTx, async (tx) => {
        const received = async (wallet: Wallet) => {
          const [one] = await withReceived(deps, tx, partnerId, [wallet])
          return present(one, `no received sum for wallet ${wallet.id}`)
        }
        const { customerId: ref } = input
        const customer = ref === undefined ? null : await customers.hold(tx, partnerId, ref, '/customerId')
        const customerId = customer?.id ?? null
        const ownerId = customerId ?? partnerId
        const existing = await store.byOwner(tx, partnerId, ownerId, currency)
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
      const customerId = ref === undefined ? undefined : await customers.idOf(db, partnerId, ref)
      if (ref !== undefined && customerId === undefined) return { data: [], nextCursor: null, hasMore: false }
      const filter = customerId === undefined ? query : { ...query, customerId }
      const rows = await store.list(db, partnerId, filter, request)
      return cursors.page(listName(partnerId), request, await withReceived(deps, db, partnerId, rows))
    },
    get: async (partnerId, id) => {
      const wallet = await store.byId(db, partnerId, id)
      if (wallet === undefined) throw notFound('wallet')
      const [found] = await withReceived(deps, db, partnerId, [wallet])
      return present(found, `no received sum for wallet ${id}`)
    },
    close: store.closeWallets,
    ownership: createOwnership(deps),
    ownersOf: async (tx, addresses) =>
      addresses.length === 0
        ? new Map()
        : new Map((await store.ownersOfAddresses(tx, addresses)).map(({ address, ...owner }) => [address, owner])),
  }
}

type NewWallet = Pick<Wallet, 'ownerId' | 'customerId' | 'currency'> & { readonly network: ChainNetwork }

/**
 * Derives the next address and stores the wallet. If two calls have the same owner, the second one waits at the index,
 * and then finds the wallet of the first.
 */
function createMake({ clock, addressAt, addressKey }: WalletsDeps) {
  return async (tx: Tx, partnerId: string, { ownerId, customerId, currency, network }: NewWallet): Promise<Wallet> => {
    const publicKey = await addressKey(tx)
    if (publicKey === undefined)
      throw new Refusal(
        'currency_not_supported',
        'The service has no key for wallet addresses. Ask the operator to create it.',
      )
    const addressIndex = await store.lockIndex(tx, publicKey)
    const existing = await store.byOwner(tx, partnerId, ownerId, currency)
    if (existing !== undefined) return existing
    const wallet: Wallet = {
      id: newId(),
      ownerId,
      customerId,
      currency,
      connector: network.id,
      chainId: BigInt(network.chainId),
      network: network.network,
      address: await addressAt(publicKey, addressIndex),
      publicKey,
      addressIndex,
      createdAt: clock.now(),
    }
    await store.insert(tx, partnerId, wallet)
    await store.setNextIndex(tx, publicKey, addressIndex + 1)
    return wallet
  }
}

async function withReceived(
  { receivedOn }: Pick<WalletsDeps, 'receivedOn'>,
  tx: Tx,
  partnerId: string,
  wallets: readonly Wallet[],
): Promise<readonly Received[]> {
  if (wallets.length === 0) return []
  const sums = await receivedOn(
    tx,
    partnerId,
    wallets.map(({ address }) => address),
  )
  const byKey = new Map(sums.map(({ account, currency, amount }) => [partnerKey(account, currency), amount]))
  return wallets.map((wallet) => ({
    id: wallet.id,
    wallet,
    address: checksummed(wallet.address),
    received: byKey.get(partnerKey(wallet.address, wallet.currency)) ?? 0n,
  }))
}

// The rules of wallets: which chain a wallet is on.

/** The chain that carries the tokens of the partner. Refuses: currency_not_supported. */
export function networkFor(
  networks: readonly ChainNetwork[],
  chooseConnector: ChooseConnector,
  { partnerId, currency }: { readonly partnerId: string; readonly currency: Currency },
): ChainNetwork {
  const connector = chooseConnector({ partnerId, rail: 'Wallet', currency })
  const network = networks.find(({ id, tokens }) => id === connector && tokens[currency] !== undefined)
  if (network === undefined) throw new Refusal('currency_not_supported', `No configured chain supports ${currency}.`)
  return network
}
