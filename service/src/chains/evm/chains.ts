/** Creates the chain connectors: one for each configured chain, and in a sandbox that of the simulated chain. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { after, type Clock, type Currency, type Log, minuteMs, newId, type Sealer } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import {
  chainConnectorId,
  type ChainNetwork,
  type ChainSimulator,
  simulatedChainConnectorId,
  type TokenContracts,
  zeroAddress,
} from '../../rails/index.ts'
import { type ChainConnector, createChainConnector } from './connector.ts'
import type { ChainDeps, ChainRules, FindOwners } from './deps.ts'
import type { Signer } from './keys.ts'
import { type Chain, createChain } from './quorum.ts'
import { createRpcNode } from './rpc.ts'
import type { ChainConfig } from './settings.ts'
import * as store from './simulated/store.ts'
import { refuseField, Unreachable } from '../../kernel/api/index.ts'
import { simulatedHash } from './rules.ts'
import { loadEvm, type TransferLog } from './node.ts'

// The node of the simulated chain.

/** No public chain has this id, so that a transaction signed for it is not valid elsewhere. */
export const simulatedChainId = 900_900_900

const addressHexChars = 42
/** Derives the address of a simulated token contract. */
const simulatedContract = (currency: Currency): string =>
  simulatedHash('simulated token', currency).slice(0, addressHexChars)
export const simulatedTokens: TokenContracts = { USDC: simulatedContract('USDC'), EURC: simulatedContract('EURC') }

/** Plausible constants: gas is free on the simulated chain, and the sending account has unlimited tokens. */
const gasOfTransfer = 65_000n
const gasBalance = 10n ** 30n
const fees = { max: 2_000_000_000n, priority: 1_000_000_000n }
const tokenBalance = 10n ** 18n

/** The token issuer blocks the first recipient. A transfer to the second one reverts when it is mined. */
const blockedRecipient = '0x000000000000000000000000000000000000b10c'
const failingRecipient = '0x000000000000000000000000000000000000fa11'

function createChainReader(db: Database, clock: Clock, { lockedHead }: BlockMaker): Chain {
  const hashesOf = async (from: number, to: number) =>
    new Map((await store.blocksBetween(db, from, to)).map(({ number, hash }) => [number, hash]))
  return {
    head: async () => {
      const head = (await store.headBlock(db)) ?? (await db.transaction((tx) => lockedHead(tx)))
      return Number(head.number)
    },
    blocks: async (from, to) => {
      const rows = await store.blocksBetween(db, from, to)
      if (rows.length !== to - from + 1)
        throw new Unreachable('downstream_unreachable', 'the simulated chain was reorganised')
      return rows.map(({ number, hash, parentHash }) => ({ number: Number(number), hash, parentHash }))
    },
    transfers: async (from, to) => {
      const hashes = await hashesOf(from, to)
      return (await store.transfersBetween(db, from, to)).flatMap((row, index) => toLog(row, hashes, index))
    },
    transactionCount: (address, block) => store.countMinedTransactions(db, address, block),
    receipt: async (hash) => {
      const row = await store.simulatedTransfer(db, hash)
      if (row === undefined || row.blockNumber === null) return undefined
      const blockNumber = Number(row.blockNumber)
      const blockHash = (await hashesOf(blockNumber, blockNumber)).get(row.blockNumber) ?? ''
      return { hash, blockNumber, blockHash, succeeded: row.recipient !== failingRecipient }
    },
    send: (signed) => receiveTransaction(db, clock, signed),
    tokenBalance: async () => tokenBalance,
    gasBalance: async () => gasBalance,
    fees: async () => fees,
    preview: async ({ recipient }) =>
      recipient === blockedRecipient ? { reason: 'execution reverted: account is blocked' } : { gas: gasOfTransfer },
  }
}

function toLog(
  { blockNumber, hash, currency, sender, recipient, amount }: store.SimulatedTransfer,
  hashes: ReadonlyMap<bigint, string>,
  index: number,
): readonly TransferLog[] {
  if (blockNumber === null || recipient === failingRecipient) return []
  const place = { blockNumber: Number(blockNumber), blockHash: hashes.get(blockNumber) ?? '', index }
  return [{ currency, from: sender, to: recipient, amount, transactionHash: hash, ...place }]
}

/** Receives a signed transaction, as a node does. It must be for this chain and transfer a known token. */
async function receiveTransaction(db: Database, clock: Clock, signed: string): Promise<void> {
  const evm = await loadEvm()
  const { chainId, contract, data, nonce, sender, hash } = await evm.readTransaction(signed)
  const [currency] = (Object.keys(simulatedTokens) as Currency[]).filter((name) => simulatedTokens[name] === contract)
  const [, recipient, amount] = /^0xa9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/.exec(data) ?? []
  if (chainId !== simulatedChainId || currency === undefined || recipient === undefined || amount === undefined)
    throw new Unreachable('downstream_unreachable', 'the simulated chain refuses the transaction')
  await store.insertSimulatedTransfer(db, {
    hash,
    currency,
    sender,
    recipient: `0x${recipient}`,
    amount: BigInt(`0x${amount}`),
    nonce: BigInt(nonce),
    simulatedBy: null,
    blockNumber: null,
    receivedAt: clock.now(),
  })
}

const simulatedConfirmations = 3
/** How often the simulated chain looks for transactions to resend. */
const simulatedEveryMs = minuteMs
/** Shorter than the lease of a payout and than the pauses of the loops, so that a hanging node costs one step. */
const nodeTimeoutMs = 4000
const gwei = 1_000_000_000n

type ConfiguredChains = { readonly chains: readonly ChainConfig[]; readonly sandbox: boolean }

export const chainNetworks = ({ chains, sandbox }: ConfiguredChains): readonly ChainNetwork[] =>
  chainRules({ chains, sandbox }).map(({ id, chainId, network, tokens }) => ({ id, chainId, network, tokens }))

/** Chooses the connector of token payments without a rule: the simulated chain, or the only chain with the token. */
export function chooseDefaultChainConnector(networks: readonly ChainNetwork[], currency: Currency): string | null {
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

function chainRules({ chains, sandbox }: ConfiguredChains): readonly ChainRules[] {
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
  deps: ConfiguredChains & {
    readonly db: Database
    readonly clock: Clock
    readonly log: Log
    readonly signer: () => Promise<Signer | undefined>
    readonly ownersOf: FindOwners
    readonly operatorId: string
    readonly denied: ReadonlySet<string>
    readonly sealer: Sealer
    readonly partiesOf: ChainDeps['partiesOf']
    /** The time between two blocks of the simulated chain. */
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
    const [rules] = chainRules({ chains: [config], sandbox: false }) as readonly [ChainRules]
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
              due: (after) => store.blockDue({ blockMs, confirmations: simulatedConfirmations }, after),
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

/** Returns why a beneficiary cannot have an address: the zero address, a token contract, or an address on a deny list. */
export function createCheckAddress(networks: readonly ChainNetwork[], denied: ReadonlySet<string>) {
  const lost = new Set([zeroAddress, ...networks.flatMap(({ tokens }) => Object.values(tokens))])
  return (address: string): 'wallet_address_not_payable' | 'recipient_blocked' | undefined => {
    const lower = address.toLowerCase()
    return lost.has(lower) ? 'wallet_address_not_payable' : denied.has(lower) ? 'recipient_blocked' : undefined
  }
}

// The simulated chain of the sandbox: blocks and token transfers in this database. It receives signed transactions as a
// node does, so it uses the connector of a real chain. A due block is only created if a transfer waits for it, so that
// an unused sandbox does not grow.

type SimulatedChain = ChainSimulator & {
  readonly chain: Chain
  /** Creates the next block if it is due and a transfer waits for it. Returns the number of new blocks. */
  readonly makeDueBlock: () => Promise<number>
}

export function createSimulatedChain(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly blockMs: number
  /** Blocks are created until the newest transfer has this depth. */
  readonly confirmations: number
}): SimulatedChain {
  const { db, clock, blockMs, confirmations } = deps
  const blocks = createBlocks(clock)
  return {
    chain: createChainReader(db, clock, blocks),
    makeDueBlock: () =>
      db.transaction(async (tx) => {
        const head = await blocks.lockedHead(tx)
        if (after(head.madeAt, blockMs) > clock.now()) return 0
        const newest = await store.newestTransferBlock(tx)
        const isDeep = newest === undefined || head.number - newest + 1n >= BigInt(confirmations)
        if (isDeep && (await store.waitingTransfers(tx)).length === 0) return 0
        await blocks.make(tx, head, 1)
        return 1
      }),
    sendTokens: async ({ partnerId, currency, amount, from, to, confirmations: depth }, outerTx) => {
      const hash = simulatedHash('simulated transfer', newId())
      const sender = (from ?? simulatedHash('payer', hash).slice(0, addressHexChars)).toLowerCase()
      const row = { hash, currency, sender, recipient: to, amount, nonce: null, simulatedBy: partnerId }
      await inTransaction(db, outerTx, async (tx) => {
        const head = await blocks.lockedHead(tx)
        await store.insertSimulatedTransfer(tx, { ...row, blockNumber: null, receivedAt: clock.now() })
        await blocks.make(tx, head, depth)
      })
      return hash
    },
    makeBlocks: (count) =>
      db.transaction(async (tx) => Number((await blocks.make(tx, await blocks.lockedHead(tx), count)).number)),
    reorganise: (partnerId, depth) =>
      db.transaction(async (tx) => {
        const head = await blocks.lockedHead(tx)
        const fork = head.number - BigInt(depth)
        const [base] = fork < 0n ? [] : await store.blocksBetween(tx, Number(fork), Number(fork))
        if (base === undefined) throw refuseDepth(Number(head.number))
        const vanished = await store.deleteDepositsAbove(tx, fork, partnerId)
        await store.removeFromBlocks(tx, fork)
        await store.deleteBlocksAbove(tx, fork)
        const { number } = await blocks.make(tx, base, depth + 1)
        return { head: Number(number), vanished }
      }),
  }
}

const refuseDepth = (blocks: number) =>
  refuseField({
    pointer: '/depth',
    code: 'invalid_value',
    message: `must be at most ${blocks}, the number of blocks of the simulated chain; make more blocks first`,
  })

// Creates the blocks of the simulated chain, under the lock of its first block.

type BlockMaker = {
  /** Locks the chain, which serialises all changes, and returns its head. Creates the first block if there is none. */
  readonly lockedHead: (tx: Tx) => Promise<store.SimulatedBlock>
  /** Creates blocks on top of `parent` from waiting transfers, and returns the last block. */
  readonly make: (tx: Tx, parent: store.SimulatedBlock, count: number) => Promise<store.SimulatedBlock>
}

function createBlocks(clock: Clock): BlockMaker {
  const makeOne = async (tx: Tx, parent: store.SimulatedBlock): Promise<store.SimulatedBlock> => {
    const number = parent.number + 1n
    const hash = simulatedHash('simulated block', newId())
    const block = { number, hash, parentHash: parent.hash, madeAt: clock.now() }
    await store.insertBlock(tx, block)
    await store.includeInBlock(tx, await selectTransfers(tx, number), number)
    return block
  }
  return {
    lockedHead: async (tx) => {
      const hash = simulatedHash('simulated chain')
      const first = { number: 0n, hash, parentHash: hash, madeAt: clock.now() }
      await store.insertBlock(tx, first)
      await store.lockFirst(tx)
      return (await store.headBlock(tx)) ?? first
    },
    make: async (tx, parent, count) => {
      let last = parent
      for (let made = 0; made < count; made += 1) last = await makeOne(tx, last)
      return last
    },
  }
}

/** Selects the next block's transfers: deposits, and each sender's transactions that follow its last nonce without a gap. */
async function selectTransfers(tx: Tx, blockNumber: bigint): Promise<readonly string[]> {
  const hashes: string[] = []
  const nextOf = new Map<string, bigint>()
  for (const { hash, sender, nonce } of await store.waitingTransfers(tx)) {
    const next = nextOf.get(sender) ?? BigInt(await store.countMinedTransactions(tx, sender, Number(blockNumber)))
    if (nonce !== null && nonce !== next) continue
    hashes.push(hash)
    if (nonce !== null) nextOf.set(sender, next + 1n)
  }
  return hashes
}
