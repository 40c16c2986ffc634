/**
 * Combines several nodes to one chain. With two or more nodes, two must agree on blocks, logs, counts and receipts. A
 * single lying, lagging or hanging node can then at worst stop the connector, and cannot move money.
 */
import { Unreachable } from '../../kernel/api/index.ts'
import { type Currency, type Log, minuteMs, type Minor } from '../../kernel/index.ts'
import type { CallOptions } from '../../rails/index.ts'
import type { Block, ChainNode, Fees, TransferPreview, Receipt, TokenTransfer, TransferLog } from './node.ts'

export type Chain = {
  /** Returns the highest block that enough nodes have. */
  readonly head: (call: CallOptions) => Promise<number>
  readonly blocks: (from: number, to: number, call: CallOptions) => Promise<readonly Block[]>
  /** Lists transfers in the order of the chain. */
  readonly transfers: (from: number, to: number, call: CallOptions) => Promise<readonly TransferLog[]>
  readonly transactionCount: (address: string, block: number, call: CallOptions) => Promise<number>
  readonly receipt: (hash: string, call: CallOptions) => Promise<Receipt | undefined>
  /** Resolves when a node has the transaction. */
  readonly send: (signed: string, call: CallOptions) => Promise<void>
  /** Returns the lowest amount that a node reports. */
  readonly tokenBalance: (currency: Currency, address: string, call: CallOptions) => Promise<Minor>
  readonly gasBalance: (address: string, call: CallOptions) => Promise<bigint>
  /** Returns the highest fees that a node reports. */
  readonly fees: (call: CallOptions) => Promise<Fees>
  readonly preview: (transfer: TokenTransfer, call: CallOptions) => Promise<TransferPreview>
}

type ChainOptions = {
  readonly nodes: readonly ChainNode[]
  readonly chainId: number
  readonly log: Log
}

/** A single node cannot be compared with others; docs/guides/wallets.md states the consequence. */
const quorumMax = 2
/** The chain id of a node is checked again after this time. */
const chainIdMs = minuteMs

export function createChain(options: ChainOptions): Chain {
  const quorum = Math.min(quorumMax, options.nodes.length)
  const ask = createAskNodes(options)
  const askQuorum = createAskQuorum(ask, quorum)
  /** Reads a value that may differ between honest nodes: the most cautious answer, if enough nodes answer. */
  const askCautiously = <T>(what: string, read: NodeCall<T>, pick: (a: T, b: T) => T, call: CallOptions) =>
    ask(what, read, (answers, isLast) => (isLast && answers.length >= quorum ? answers.reduce(pick) : undefined), call)

  return {
    head: (call) =>
      ask(
        'the head',
        (node, each) => node.head(each),
        (heads, isLast) => (isLast ? heads.toSorted((a, b) => b - a)[quorum - 1] : undefined),
        call,
      ),
    blocks: (from, to, call) => askQuorum(`blocks from ${from}`, (node, each) => node.blocks(from, to, each), call),
    transfers: (from, to, call) =>
      askQuorum(`transfers from ${from}`, async (node, each) => inOrder(await node.transfers(from, to, each)), call),
    transactionCount: (address, block, call) =>
      askQuorum(`transactions up to ${block}`, (node, each) => node.transactionCount(address, block, each), call),
    receipt: (hash, call) => askQuorum(`receipt of ${hash}`, (node, each) => node.receipt(hash, each), call),
    send: async (signed, call) => {
      await ask(
        'a transaction',
        (node, each) => node.send(signed, each).then(() => true),
        (answers, isLast) => (isLast && answers.length > 0 ? true : undefined),
        call,
      )
    },
    tokenBalance: (currency, address, call) =>
      askCautiously(`balance in ${currency}`, (node, each) => node.tokenBalance(currency, address, each), lower, call),
    gasBalance: (address, call) =>
      askCautiously('balance for gas', (node, each) => node.gasBalance(address, each), lower, call),
    fees: (call) => askCautiously('fees', (node, each) => node.fees(each), higherFees, call),
    preview: (transfer, call) =>
      askCautiously('a preview', (node, each) => node.preview(transfer, each), moreOptimistic, call),
  }
}

type NodeCall<T> = (node: ChainNode, call: CallOptions) => Promise<T>
type AskNodes = <T, D>(
  what: string,
  read: NodeCall<T>,
  decide: (answers: readonly T[], isLast: boolean) => D | undefined,
  call: CallOptions,
) => Promise<D>

/** Asks all nodes. `decide` returns an answer as soon as enough nodes have answered. */
function createAskNodes({ nodes, chainId, log }: ChainOptions): AskNodes {
  const usable = createNodeCheck(nodes, chainId, log)
  return async (what, read, decide, { signal }) => {
    type Answer = Parameters<typeof decide>[0][number]
    const ended = new AbortController()
    const call = { signal: AbortSignal.any([signal, ended.signal]) }
    const answers: Answer[] = []
    const failures: unknown[] = []
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof decide>>()
    const note = (isLast: boolean) => {
      const decided = decide(answers, isLast)
      if (decided !== undefined || isLast) resolve(decided)
    }
    let open = nodes.length
    for (const node of nodes)
      void usable(node, call)
        .then((isUsable) => (isUsable ? read(node, call).then((answer) => void answers.push(answer)) : undefined))
        .catch((error: unknown) => void failures.push(error))
        .then(() => note((open -= 1) === 0))
    try {
      const decided = await promise
      if (decided !== undefined) return decided
    } finally {
      ended.abort()
    }
    if (signal.aborted) throw new Unreachable('downstream_timeout', `the nodes of chain ${chainId}: ${what}`)
    const why = failures.length === 0 ? 'do not agree' : 'do not answer'
    throw new Unreachable('downstream_unreachable', `the nodes of chain ${chainId} ${why}: ${what}`, failures[0])
  }
}

/** Returns the answer on which enough nodes agree. */
const createAskQuorum =
  (ask: AskNodes, quorum: number) =>
  async <T>(what: string, read: NodeCall<T>, call: CallOptions): Promise<T> => {
    const decide = (answers: readonly T[]) => {
      const group = [...Map.groupBy(answers, answerText).values()].find(({ length }) => length >= quorum)
      return group && { value: group[0] as T }
    }
    return (await ask(what, read, decide, call)).value
  }

const lower = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const higher = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const higherFees = (a: Fees, b: Fees): Fees => ({ max: higher(a.max, b.max), priority: higher(a.priority, b.priority) })
/** Refuses a payment only if every node would refuse it. */
const moreOptimistic = (a: TransferPreview, b: TransferPreview): TransferPreview =>
  'gas' in a && 'gas' in b ? { gas: higher(a.gas, b.gas) } : 'gas' in a ? a : b

const inOrder = (logs: readonly TransferLog[]): readonly TransferLog[] =>
  logs.toSorted((a, b) => a.blockNumber - b.blockNumber || a.index - b.index)

/** Formats an answer for comparison. */
const answerText = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)) ?? 'nothing'

/** Checks the chain id of nodes. Logs and ignores a node of another chain. */
function createNodeCheck(nodes: readonly ChainNode[], chainId: number, log: Log) {
  const checkedMs = new Map<ChainNode, number>()
  const wrong = new Set<ChainNode>()
  return async (node: ChainNode, call: CallOptions): Promise<boolean> => {
    if ((checkedMs.get(node) ?? -Infinity) > performance.now() - chainIdMs) return true
    const answered = await node.chainId(call)
    if (answered !== chainId) {
      if (!wrong.has(node))
        log.error({ node: node.name, chainId, answered, nodes: nodes.length }, 'node of another chain ignored')
      wrong.add(node)
      return false
    }
    wrong.delete(node)
    checkedMs.set(node, performance.now())
    return true
  }
}
