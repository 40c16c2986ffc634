/**
 * Rails: the port that every bank or chain connector implements, the rules that choose a payment's connector, and the
 * connectors.
 *
 * Tables: rails.sandbox_*, the records of the sandbox bank and the simulated chain; rails.chain_*, those
 * of chain connectors; rails.iso_*, those of banks by files. Every connector guarantees: `instruct` is idempotent by the instruction's id, `find` reports whether an
 * instruction arrived, and the bank repeats a notification until it is acknowledged. A new connector: docs/guides/connectors.md.
 */
export { balancesAlong, inOrder, isRepetition, type Versions } from './iso20022/statement-chain.ts'
export {
  type Acknowledgement,
  type BankNotification,
  callTimeoutMsMax,
  type CallOptions,
  type Connector,
  type ConnectorLimits,
  type Credit,
  type Debit,
  type DebitReason,
  type Forecast,
  type ForecastPayment,
  type WaitingPayment,
  type IncomingDebtor,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  type Money,
  type Oddity,
  type PayerOrigin,
  type RecallOutcome,
} from './port.ts'
export { addressProblem, checksummed } from './evm/address.ts'
export {
  type ChainNetwork,
  type Chains,
  chainFallback,
  chainNetworks,
  createChains,
  createRefusedAddress,
  deniedAddresses,
  isChainConnectorId,
  simulatedChainConnectorId,
} from './evm/chains.ts'
export type { ChainConnector } from './evm/connector.ts'
export type { TravelParties } from './evm/deps.ts'
export { type ChainKeys, createChainKeys, deriveWalletAddress } from './evm/keys.ts'
export type { SimulatedChain } from './evm/simulated/chain.ts'
export { receivedOn } from './evm/store-chain.ts'
export { sealedChainKeys, sealedTravelRules } from './evm/sealed.ts'
export { travelRuleOf } from './evm/travel-rule.ts'
export { type BanksObserver, createIsoBanks, type IsoBanks } from './iso20022/banks.ts'
export { bankProblem } from './iso20022/check.ts'
export { isIsoConnectorId } from './iso20022/deps.ts'
export { ibanCountries, ibanProblem, isIban } from './ibans.ts'
export { isTargetDay } from './iso20022/calendar.ts'
export { recallReasons } from './iso20022/recalls.ts'
export { type BankConfig } from './iso20022/settings.ts'
export { eraseInstructions, eraseIsoEntries } from './store-erasure.ts'
export { type ChooseConnector, createChooseConnector } from './rules.ts'
export { type BankStep, debtorOf, payerSteps, sandboxBankCountries } from './sandbox/script.ts'
export {
  type BankEntry,
  type BankInstruction,
  type BankStatement,
  type BooksAccount,
  createIsoBooks,
  type IsoBooks,
  type PendingReport,
} from './iso20022/books.ts'
export { createSandboxBank, type SandboxBank, sandboxConnectorId } from './sandbox/service.ts'
export { railOf, territoriesWithIbansOf } from './sepa.ts'
export { railsSettings } from './settings.ts'
