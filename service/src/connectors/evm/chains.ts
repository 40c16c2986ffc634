/** All chain connectors of an installation: one for each configured chain, and in a sandbox the one of the simulated chain. */
import { defineJob, type Job } from '../../jobs/index.ts'
import { type Clock, type Currency, type Log, minuteMs, type Sealer } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { chainConnectorId, type ChainNetwork, simulatedChainConnectorId, zeroAddress } from '../../rails/index.ts'
import { type ChainConnector, createChainConnector } from './connector.ts'
import type { ChainDeps, ChainRules, OwnersOf } from './deps.ts'
import type { Signer } from './keys.ts'
import { createChain } from './quorum.ts'
import { createRpcNode } from './rpc.ts'
import type { ChainConfig } from './settings.ts'
import { createSimulatedChain, type SimulatedChain } from './simulated/chain.ts'
import { simulatedChainId, simulatedTokens } from './simulated/reading.ts'
import { blockDue } from './simulated/store.ts'

const simulatedConfirmations = 3
/** Covers a transaction that has waited long enough to be sent again. */
const simulatedEveryMs = minuteMs
/** Shorter than the lease of a payout and than the pauses of the loops, so that a hanging node costs one step. */
const nodeTimeoutMs = 4000
const gwei = 1_000_000_000n

type Given = { readonly chains: readonly ChainConfig[]; readonly sandbox: boolean }

export const chainNetworks = ({ chains, sandbox }: Given): readonly ChainNetwork[] =>
  rulesOf({ chains, sandbox }).map(({ id, chainId, network, tokens }) => ({ id, chainId, network, tokens }))

/** The connector of token payments without a rule: the simulated chain, or the only chain that has the token. */
export function chainFallback(networks: readonly ChainNetwork[], currency: Currency): string | null {
  const carrying = networks.filter(({ tokens }) => tokens[currency] !== undefined)
  const simulated = carrying.find(({ id }) => id === simulatedChainConnectorId)
  return simulated?.id ?? (carrying.length === 1 ? (carrying[0]?.id ?? null) : null)
}

const simulatedRules: ChainRules = {
  id: simulatedChainConnectorId,
  chainId: simulatedChainId,
  network: 'simulated',
  tokens: simulatedTokens,
  confirmations: simulatedConfirmations,
  feeMax: 100n * gwei,
  stuckAfterMs: 60_000,
  depositMin: {},
}

function rulesOf({ chains, sandbox }: Given): readonly ChainRules[] {
  const configured = chains.map(({ rpcUrls: _urls, pollMs: _pollMs, ...rules }) => ({
    ...rules,
    id: chainConnectorId(rules.chainId),
  }))
  return sandbox ? [simulatedRules, ...configured] : configured
}

export type Chains = {
  readonly connectors: readonly ChainConnector[]
  /** Undefined outside a sandbox. */
  readonly simulated: SimulatedChain | undefined
  /** The jobs that read the chains and send transactions. */
  readonly jobs: readonly Job[]
}

export function createChains(
  deps: Given & {
    readonly db: Database
    readonly clock: Clock
    readonly log: Log
    readonly signer: () => Promise<Signer | undefined>
    readonly ownersOf: OwnersOf
    readonly operatorId: string
    readonly denied: ReadonlySet<string>
    readonly sealer: Sealer
    readonly partiesOf: ChainDeps['partiesOf']
    /** The pause between two blocks of the simulated chain. */
    readonly blockMs: number
  },
): Chains {
  const { db, clock, log, chains, sandbox, blockMs } = deps
  const simulated = sandbox
    ? createSimulatedChain({ db, clock, blockMs, confirmations: simulatedConfirmations })
    : undefined
  const simulatedConnector =
    simulated && createChainConnector({ ...deps, rules: simulatedRules, chain: simulated.chain })
  const configured = chains.map((config) => {
    const [rules] = rulesOf({ chains: [config], sandbox: false }) as readonly [ChainRules]
    const { chainId, tokens, network } = config
    const nodes = config.rpcUrls.map((url, index) =>
      createRpcNode({ name: `${network} ${index + 1}`, url, tokens, timeoutMs: nodeTimeoutMs }),
    )
    return { config, connector: createChainConnector({ ...deps, rules, chain: createChain({ nodes, chainId, log }) }) }
  })
  return {
    simulated,
    connectors: [...(simulatedConnector ? [simulatedConnector] : []), ...configured.map(({ connector }) => connector)],
    jobs: [
      ...(simulated && simulatedConnector
        ? [
            defineJob({
              name: `rails.${simulatedChainConnectorId}`,
              due: (after) => blockDue({ blockMs, confirmations: simulatedConfirmations }, after),
              wokenBy: ['rails.chain_transfers'],
              everyMs: simulatedEveryMs,
              run: async () => (await simulated.makeDueBlock()) + (await simulatedConnector.step()),
            }),
          ]
        : []),
      ...configured.map(({ config: { pollMs }, connector }) =>
        defineJob({ name: `rails.${connector.id}`, everyMs: pollMs, run: connector.step }),
      ),
    ],
  }
}

/** The burn address. In a sandbox it is on the deny list, so that partners can test a blocked recipient. */
const sandboxDenied = '0x000000000000000000000000000000000000dead'

export const deniedAddresses = (denied: ReadonlySet<string>, sandbox: boolean): ReadonlySet<string> =>
  sandbox ? new Set([...denied, sandboxDenied]) : denied

/** Reports whether a beneficiary may have the address: not the zero address, a token contract, or on a deny list. */
export function createRefusedAddress(networks: readonly ChainNetwork[], denied: ReadonlySet<string>) {
  const lost = new Set([zeroAddress, ...networks.flatMap(({ tokens }) => Object.values(tokens))])
  return (address: string): 'wallet_address_not_payable' | 'recipient_blocked' | undefined => {
    const lower = address.toLowerCase()
    return lost.has(lower) ? 'wallet_address_not_payable' : denied.has(lower) ? 'recipient_blocked' : undefined
  }
}
