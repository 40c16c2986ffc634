/** Partners whose tokens go over a real chain: the modules, the connector and the settlement worker, step by step. */
import assert from 'node:assert/strict'
import { rawNumber } from '@partner-payments/wire'
import { newId, present } from '../../../service/src/kernel/index.ts'
import { type Database, sql } from '../../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../../service/src/banks/settlement/index.ts'
import { checkLedger as auditLedger } from '../../model/ledger-audit.ts'
import { addPartner, balanceOf, createTestService, ip, type Service, type TestPartner } from '../composition.ts'
import { type Anvil, contracts, startAnvil, testChainId } from './anvil.ts'

export const chainConnectorId = `evm-${testChainId}`
export const confirmations = 3
const hotFunds = 1_000_000_000_000n

type Payee = { readonly customerId?: string; readonly country?: string; readonly vasp?: string }

export type SceneOptions = {
  readonly anvil?: Anvil
  /** The nodes. Default: anvil alone. */
  readonly urls?: readonly string[]
  /** The database of another scene. */
  readonly url?: string
  /** More fields of the chain's configuration. */
  readonly chain?: object
  readonly settings?: Readonly<Record<string, string>>
  readonly now?: Date
  readonly wrapDatabase?: (db: Database) => Database
}

/** The modules on their own database, with the test chain as the way of tokens. */
async function startService(anvil: Anvil, options: SceneOptions) {
  const chain = {
    chainId: testChainId,
    network: 'test',
    rpcUrls: options.urls ?? [anvil.url],
    tokens: contracts,
    confirmations,
    maxFeeGwei: 500,
    ...options.chain,
  }
  const settings = {
    EVM_CHAINS: JSON.stringify([chain]),
    RAIL_RULES: `Wallet=${chainConnectorId}`,
    ...options.settings,
  }
  const { url, now, wrapDatabase } = options
  const service = await createTestService({
    settings,
    ...(url === undefined ? {} : { url }),
    ...(now === undefined ? {} : { now }),
    ...(wrapDatabase === undefined ? {} : { wrapDatabase }),
  })
  return service
}

export async function createChainScene(options: SceneOptions = {}) {
  const anvil = options.anvil ?? (await startAnvil())
  const service = await startService(anvil, options)
  const connector = present(
    service.chains.connectors.find(({ id }) => id === chainConnectorId),
    'it is configured',
  )
  const settlement = { ...service.settlement, connectors: [service.bank, connector] }
  const sender = present(await service.chainKeys.signer(), 'a sandbox makes its keys').address
  const pump = async () => {
    for (let did = 1; did > 0;) {
      did = await submitDuePayouts(settlement)
      while ((await connector.step()) > 0) did += 1
      did += await processBankNotifications(settlement)
    }
  }
  const casesOf = async () =>
    (await service.cases.list(undefined, 1000)).map(({ kind, booked, currency }) => ({ kind, booked, currency }))
  return {
    anvil,
    service,
    connector,
    settlement,
    sender,
    pump,
    casesOf,
    /** Sends what is to be sent, makes blocks, and does all the work that follows. */
    mine: async (blocks = confirmations) => {
      await pump()
      await anvil.mine(blocks)
      await pump()
    },
    /** Funds the sending account and reads the chain for the first time. */
    begin: async () => {
      for (const currency of ['USDC', 'EURC'] as const) await anvil.fund(sender, hotFunds, currency)
      await pump()
    },
    addWallet: async (
      partner: TestPartner,
      currency: 'USDC' | 'EURC' = 'USDC',
      owner: 'customer' | 'partner' = 'customer',
    ) => {
      const customer = owner === 'customer' ? { customerId: partner.customer.id } : {}
      const { wallet } = await service.wallets.create(partner.partnerId, { currency, ...customer })
      return wallet
    },
    addPartner: () => addPartner(service),
    /** The partner has tokens that its ledger knows, as after a deposit. */
    balance: (partner: TestPartner, currency: 'USDC' | 'EURC' = 'USDC') =>
      balanceOf(service, partner.partnerId, currency),
    payToken: async (partner: TestPartner, walletAddress: string, amount: string, payee: Payee = {}) => {
      const fields = { name: 'Grace Hopper', currency: 'USDC', walletAddress, ...payee }
      const { id: beneficiaryId } = await service.beneficiaries.create(partner.partnerId, fields)
      const body = { amount: rawNumber(amount), currency: 'USDC', beneficiaryId, idempotencyKey: newId() }
      return (await service.payouts.createToken(partner.caller, body, ip)).payout
    },
    payoutOf: (partner: TestPartner, id: string) => service.payouts.get(partner.partnerId, id),
    checkLedger: createCheck(anvil, service, sender),
    close: async () => {
      await service.close()
      if (options.anvil === undefined) await anvil.stop()
    },
  }
}

export type ChainScene = Awaited<ReturnType<typeof createChainScene>>

/** Checks that the chain holds what the ledger says, less what the sending account was given before it began. */
const createCheck = (anvil: Anvil, service: Service, sender: string) => async (partners: readonly TestPartner[]) => {
  const wallets = await service.db.rows<{ address: string }>(sql`select address from wallets.wallets`)
  for (const currency of ['USDC', 'EURC'] as const) {
    let held = (await anvil.balance(sender, currency)) - hotFunds
    for (const { address } of wallets) held += await anvil.balance(address, currency)
    const row = await service.db.row<{ posted: bigint }>(sql`
          select coalesce(sum(posted), 0)::bigint as posted from ledger.accounts
          where name = ${`settlement.${chainConnectorId}`} and currency = ${currency}`)
    assert.equal(-(row?.posted ?? 0n), held, `the ledger in ${currency} is what the chain holds`)
  }
  for (const { partnerId } of partners) await auditLedger(service.db, partnerId)
}
