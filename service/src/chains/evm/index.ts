/** Connectors to EVM chains, and the simulated chain of the sandbox (README.md). */
export {
  chainFallback,
  chainNetworks,
  type Chains,
  createChains,
  createRefusedAddress,
  deniedAddresses,
} from './chains.ts'
export type { TravelParties } from './deps.ts'
export { type ChainKeys, createChainKeys, deriveWalletAddress, messageSigner } from './keys.ts'
export { sumReceived, eraseTransfers, sealedChainKeys, sealedTravelRules } from './store-chain.ts'

export { parseProofAbove } from './settings.ts'

export { readTravelRule } from './submit.ts'
