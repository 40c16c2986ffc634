/** Connectors to EVM chains, and the simulated chain of the sandbox (README.md). */
export {
  chooseDefaultChainConnector,
  chainNetworks,
  type Chains,
  createChains,
  createCheckAddress,
  deniedAddresses,
} from './chains.ts'
export type { TravelParties } from './deps.ts'
export { type ChainKeys, createChainKeys, deriveWalletAddress, recoverMessageSigner } from './keys.ts'
export { sumReceived, eraseTransfers, sealedChainKeys, sealedTravelRules } from './store-chain.ts'

export { parseProofAbove } from './settings.ts'

export { readTravelRule } from './submit.ts'
