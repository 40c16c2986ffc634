/** Composes token payments: keys, chain connectors, wallets. A part of the composition root. */
import type { Access } from '../access/index.ts'
import type { Cursors } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { Config } from './config.ts'
import type { Clock, Log, Sealer } from '../kernel/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Beneficiaries } from '../parties/beneficiaries/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import { createWallets, type Wallets } from '../chains/wallets/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import {
  type ChainKeys,
  chooseDefaultChainConnector,
  chainNetworks,
  type Chains,
  createChainKeys,
  createChains,
  createCheckAddress,
  deniedAddresses,
  deriveWalletAddress,
  recoverMessageSigner,
  parseProofAbove,
  sumReceived,
  type TravelParties,
} from '../chains/evm/index.ts'
import { type ChooseConnector, createChooseConnector, type Instruction } from '../rails/index.ts'
import type { Rates } from '../rates/index.ts'

export type TokenPayments = {
  readonly chains: Chains
  readonly chainKeys: ChainKeys
  readonly wallets: Wallets
  readonly chooseConnector: ChooseConnector
  readonly refusedAddress: ReturnType<typeof createCheckAddress>
}

type Deps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly customers: Customers
  readonly access: Pick<Access, 'partnerName'>
  readonly chooseConnector: ChooseConnector | undefined
  readonly converter: Rates['converter']
  /** Reads the payee of the travel rule. Its module is composed later. */
  readonly partyOf: Beneficiaries['travelRuleParty']
}

export function composeTokenPayments(deps: Deps): TokenPayments {
  const { config, db, clock, log, sealer, cursors, customers } = deps
  const given = { chains: config.EVM_CHAINS, sandbox: config.MODE === 'sandbox' }
  const networks = chainNetworks(given)
  const denied = deniedAddresses(config.WALLET_DENY_LIST, given.sandbox)
  const chainKeys = createChainKeys({ db, clock, sealer, makesKeys: given.sandbox })
  const fallback = config.RAIL === 'none' ? null : config.RAIL
  const chooseConnector =
    deps.chooseConnector ??
    createChooseConnector(config.RAIL_RULES, fallback, (currency) => chooseDefaultChainConnector(networks, currency))
  const wallets = createWallets({
    db,
    clock,
    cursors,
    customers,
    networks,
    chooseConnector,
    addressKey: chainKeys.addresses,
    deriveAddress: deriveWalletAddress,
    sumReceived,
    partnerName: deps.access.partnerName,
    recoverSigner: recoverMessageSigner,
    proofAbove: parseProofAbove(config.WALLET_PROOF_ABOVE),
    converter: deps.converter,
  })
  const chains = createChains({
    ...given,
    db,
    clock,
    log,
    denied,
    signer: chainKeys.signer,
    ownersOf: async (tx: Tx, addresses: readonly string[]) =>
      new Map([...(await wallets.findOwners(tx, addresses))].map(([address, { partnerId }]) => [address, partnerId])),
    operatorId: operatorPartnerId,
    sealer,
    partiesOf: createPartiesOf(deps),
    blockMs: config.SANDBOX_BANK_DELAY_MS,
  })
  return { chains, chainKeys, wallets, chooseConnector, refusedAddress: createCheckAddress(networks, denied) }
}

/** Reads the payer and the payee for the travel rule. */
const createPartiesOf =
  ({ access, customers, partyOf }: Pick<Deps, 'access' | 'customers' | 'partyOf'>) =>
  async (tx: Tx, { partnerId, customerId, beneficiaryId }: Instruction): Promise<TravelParties> => {
    const payee = beneficiaryId ? await partyOf(tx, partnerId, beneficiaryId) : undefined
    const { country, vasp } = payee ?? { country: null, vasp: null }
    const beneficiary = { ...(country === null ? {} : { country }), ...(vasp === null ? {} : { vasp }) }
    const partnerName = await access.partnerName(tx, partnerId)
    if (!customerId) return { originator: { name: partnerName }, beneficiary }
    const { kyc } = await customers.find(tx, partnerId, customerId)
    const lines = [kyc.addressLine1, kyc.addressLine2, kyc.city].filter(Boolean).join(', ')
    const address = kyc.residenceAddress ?? lines
    const originator = {
      name: kyc.fullName ?? kyc.legalName ?? partnerName,
      customerId,
      ...(address === '' ? {} : { address }),
    }
    return { originator, beneficiary }
  }

/** Reads the owners of accounts, which are IBANs or wallet addresses. */
export const createOwnerReader =
  (accounts: Pick<Accounts, 'ownersOf'>, wallets: Pick<Wallets, 'findOwners'>) =>
  async (tx: Tx, given: readonly string[]) => {
    const isAddress = (account: string) => account.startsWith('0x')
    const ibans = given.filter((account) => !isAddress(account))
    return new Map([
      ...(ibans.length === 0 ? [] : await accounts.ownersOf(tx, ibans)),
      ...(await wallets.findOwners(tx, given.filter(isAddress))),
    ])
  }
