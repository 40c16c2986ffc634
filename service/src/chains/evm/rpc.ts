/** Calls a node over JSON-RPC. An incomplete or malformed answer is Unreachable; the next step asks again. */
import { parseUntrustedJson, type Static, type TSchema, Type } from '@partner-payments/wire'
import { Unreachable } from '../../kernel/api/index.ts'
import { currencies, type Currency } from '../../kernel/index.ts'
import type { CallOptions, TokenContracts } from '../../rails/index.ts'
import {
  type Block,
  type ChainNode,
  type Fees,
  loadEvm,
  type TransferPreview,
  type Receipt,
  type TransferLog,
} from './node.ts'

type RpcOptions = {
  readonly name: string
  readonly url: string
  /** A call that takes longer is abandoned, even if its caller would still wait. */
  readonly timeoutMs: number
  readonly tokens: TokenContracts
}

/** Keccak-256 of `Transfer(address,address,uint256)`. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Selector of `balanceOf(address)`. */
const balanceOfSelector = '0x70a08231'
/**
 * Larger amounts could overflow our accounts. With six decimals this is 4.6 trillion tokens, some sixty times the USDC
 * in circulation in 2025 (75 billion), so that a real transfer does not reach it.
 */
const amountMax = 2n ** 62n
const answerBytesMax = 32 * 2 ** 20

/** An error that the node returned. Not Unreachable: the node has processed the call. */
class NodeError extends Error {
  override readonly name = 'NodeError'
}

const toHex = (value: number | bigint): string => `0x${value.toString(16)}`
const addressWord = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')
const addressIn = (topic: string): string => `0x${topic.slice(-40)}`.toLowerCase()

type RpcCall = <R extends TSchema>(
  method: string,
  parameters: readonly unknown[],
  result: R,
  options: CallOptions,
) => Promise<Static<R> | null>

/** Describes an answer. Its result is absent or null if the node refuses the call or does not have the object. */
const answerWith = (result: TSchema) =>
  Type.Object({
    id: Type.Integer(),
    result: Type.Optional(Type.Union([result, Type.Null()])),
    error: Type.Optional(Type.Union([Type.Object({ message: Type.Optional(Type.String()) }), Type.Null()])),
  })

function createRpcCall({ name, url, timeoutMs }: RpcOptions): RpcCall {
  let lastId = 0
  return async <R extends TSchema>(method: string, params: readonly unknown[], result: R, { signal }: CallOptions) => {
    const both = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const id = (lastId += 1)
    const text = await readAnswer(name, url, JSON.stringify({ jsonrpc: '2.0', id, method, params }), both)
    const answer = parseUntrustedJson(text, answerWith(result), answerBytesMax)
    if (answer?.error) throw new NodeError(`${method}: ${String(answer.error.message).slice(0, 500)}`)
    if (answer?.id !== id || answer.result === undefined)
      throw new Unreachable('downstream_unreachable', `the node ${name} returned an unexpected answer to ${method}`)
    return answer.result as Static<R> | null
  }
}

async function readAnswer(name: string, url: string, body: string, signal: AbortSignal): Promise<string> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'error' })
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += part.length
      if (bytes > answerBytesMax) throw new Error('the answer is too long')
      parts.push(part)
    }
    return Buffer.concat(parts).toString('utf8')
  } catch (cause) {
    const code = signal.aborted ? 'downstream_timeout' : 'downstream_unreachable'
    throw new Unreachable(code, `the node ${name} does not answer`, cause)
  }
}

const Hex = Type.String({ pattern: '^0x[0-9a-fA-F]*$' })
const Hash = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })
const WireBlock = Type.Object({ number: Hex, hash: Hash, parentHash: Hash, baseFeePerGas: Type.Optional(Hex) })
const WireLog = Type.Object({
  address: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
  topics: Type.Array(Hash, { maxItems: 4 }),
  data: Hex,
  transactionHash: Hash,
  blockNumber: Hex,
  blockHash: Hash,
  logIndex: Hex,
  removed: Type.Optional(Type.Boolean()),
})
const WireReceipt = Type.Object({ transactionHash: Hash, blockNumber: Hex, blockHash: Hash, status: Hex })

/** Creates readers of answers, which throw Unreachable for a malformed number or amount, or an error. */
function createReaders(name: string) {
  const strange = (what: string) => new Unreachable('downstream_unreachable', `the node ${name} returned ${what}`)
  const count = (text: unknown): number => {
    const value = typeof text === 'string' && /^0x[0-9a-f]{1,13}$/i.test(text) ? Number(text) : NaN
    if (!Number.isSafeInteger(value)) throw strange('an invalid number')
    return value
  }
  const amount = (text: unknown): bigint => {
    if (typeof text !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(text)) throw strange('an invalid amount')
    return BigInt(text)
  }
  /** Converts a node's error to Unreachable. */
  const translateErrors = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (error) {
      if (error instanceof NodeError)
        throw new Unreachable('downstream_unreachable', `the node ${name}: ${error.message}`)
      throw error
    }
  }
  return { strange, count, amount, translateErrors }
}

export function createRpcNode(options: RpcOptions): ChainNode {
  const { name, tokens } = options
  const ask = createRpcCall(options)
  const { strange, count, amount, translateErrors } = createReaders(name)
  const block = async (number: number, call: CallOptions): Promise<Block> => {
    const found = await translateErrors(ask('eth_getBlockByNumber', [toHex(number), false], WireBlock, call))
    if (found === null || count(found.number) !== number) throw strange('a different block')
    return { number, hash: found.hash.toLowerCase(), parentHash: found.parentHash.toLowerCase() }
  }
  return {
    name,
    chainId: async (call) => count(await translateErrors(ask('eth_chainId', [], Hex, call))),
    head: async (call) => count(await translateErrors(ask('eth_blockNumber', [], Hex, call))),
    blocks: (from, to, call) =>
      Promise.all(Array.from({ length: to - from + 1 }, (_none, index) => block(from + index, call))),
    transfers: async (from, to, call) => {
      const filter = {
        fromBlock: toHex(from),
        toBlock: toHex(to),
        address: Object.values(tokens),
        topics: [transferTopic],
      }
      const logs = await translateErrors(ask('eth_getLogs', [filter], Type.Array(WireLog), call))
      if (logs === null) throw strange('null instead of logs')
      return logs.flatMap((log) => readTransferLog(log, tokens, count))
    },
    transactionCount: async (address, at, call) =>
      count(await translateErrors(ask('eth_getTransactionCount', [address, toHex(at)], Hex, call))),
    receipt: async (hash, call) => {
      const found = await translateErrors(ask('eth_getTransactionReceipt', [hash], WireReceipt, call))
      if (found === null) return undefined
      if (found.transactionHash.toLowerCase() !== hash) throw strange('a different receipt')
      return {
        hash,
        blockNumber: count(found.blockNumber),
        blockHash: found.blockHash.toLowerCase(),
        succeeded: count(found.status) === 1,
      } satisfies Receipt
    },
    send: async (signed, call) => {
      try {
        await ask('eth_sendRawTransaction', [signed], Hex, call)
      } catch (error) {
        if (!(error instanceof NodeError) || !alreadyKnown.test(error.message)) throw error
      }
    },
    tokenBalance: async (currency, address, call) => {
      const to = tokens[currency]
      return amount(
        await translateErrors(
          ask('eth_call', [{ to, data: balanceOfSelector + addressWord(address) }, 'latest'], Hex, call),
        ),
      )
    },
    gasBalance: async (address, call) =>
      amount(await translateErrors(ask('eth_getBalance', [address, 'latest'], Hex, call))),
    fees: async (call) => readFees(ask, translateErrors, amount, call),
    preview: async ({ sender, recipient, currency, amount: sent }, call): Promise<TransferPreview> => {
      const evm = await loadEvm()
      try {
        const request = { from: sender, to: tokens[currency], data: evm.transferData(recipient, sent) }
        return { gas: amount(await ask('eth_estimateGas', [request], Hex, call)) }
      } catch (error) {
        if (error instanceof NodeError) return { reason: error.message }
        throw error
      }
    },
  }
}

/** Errors about a known transaction, or about a used nonce. The receipts show which transaction used it. */
const alreadyKnown = /already known|already imported|known transaction|nonce too low|underpriced/i

/** Covers the increase of the base fee by an eighth in each of almost six full blocks. */
const baseFeeFactor = 2n

async function readFees(
  ask: RpcCall,
  translateErrors: <T>(answer: Promise<T>) => Promise<T>,
  amount: (text: unknown) => bigint,
  call: CallOptions,
): Promise<Fees> {
  const [latest, tip] = await Promise.all([
    translateErrors(ask('eth_getBlockByNumber', ['latest', false], WireBlock, call)),
    translateErrors(ask('eth_maxPriorityFeePerGas', [], Hex, call)),
  ])
  const priority = amount(tip)
  return { max: amount(latest === null ? null : (latest.baseFeePerGas ?? '0x0')) * baseFeeFactor + priority, priority }
}

function readTransferLog(
  log: Static<typeof WireLog>,
  tokens: TokenContracts,
  count: (text: unknown) => number,
): readonly TransferLog[] {
  const contract = log.address.toLowerCase()
  const [currency] = (Object.keys(currencies) as Currency[]).filter((name) => tokens[name] === contract)
  const [topic, from, to] = log.topics
  // A node may return more logs than requested. Only those of the configured contracts count.
  if (currency === undefined || topic !== transferTopic || from === undefined || to === undefined) return []
  const sent = /^0x[0-9a-f]{64}$/i.test(log.data) ? BigInt(log.data) : 0n
  if (log.removed === true || sent === 0n || sent > amountMax) return []
  return [
    {
      currency,
      from: addressIn(from),
      to: addressIn(to),
      amount: sent,
      transactionHash: log.transactionHash.toLowerCase(),
      blockNumber: count(log.blockNumber),
      blockHash: log.blockHash.toLowerCase(),
      index: count(log.logIndex),
    },
  ]
}
