/**
 * The calls of a chain connector to one node: a real node over JSON-RPC (`rpc.ts`), or the simulated chain of the sandbox
 * (`simulated/`). The rest of the connector is the same for both.
 */
import type { Currency, Minor } from '../../kernel/index.ts'
import type { CallOptions } from '../../rails/index.ts'
import type * as viem from './viem.ts'

export type Block = { readonly number: number; readonly hash: string; readonly parentHash: string }

/** A `Transfer` log of a configured token. Addresses and hashes are in lower case. */
export type TransferLog = {
  readonly currency: Currency
  readonly from: string
  readonly to: string
  readonly amount: Minor
  readonly transactionHash: string
  readonly blockNumber: number
  readonly blockHash: string
  /** The position in the block, which orders the logs of a transaction. */
  readonly index: number
}

export type Receipt = {
  readonly hash: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly succeeded: boolean
}

/** Wei for a unit of gas (EIP-1559). */
export type Fees = { readonly max: bigint; readonly priority: bigint }

export type TokenTransfer = {
  readonly sender: string
  readonly recipient: string
  readonly currency: Currency
  readonly amount: Minor
}

/** The gas of a transfer that would succeed in the next block, or why it would fail: the contract's text, for operators. */
export type TransferPreview = { readonly gas: bigint } | { readonly reason: string }

/** Every method throws Unreachable if the node does not answer in time, or answers incorrectly. */
export type ChainNode = {
  /** The name in logs: not the URL, which may contain a key. */
  readonly name: string
  readonly chainId: (options: CallOptions) => Promise<number>
  readonly head: (options: CallOptions) => Promise<number>
  /** Reads the blocks from `from` to `to`, inclusive. */
  readonly blocks: (from: number, to: number, options: CallOptions) => Promise<readonly Block[]>
  readonly transfers: (from: number, to: number, options: CallOptions) => Promise<readonly TransferLog[]>
  /** Counts the transactions of the address in the blocks up to `block`. */
  readonly transactionCount: (address: string, block: number, options: CallOptions) => Promise<number>
  readonly receipt: (hash: string, options: CallOptions) => Promise<Receipt | undefined>
  /** Sends a signed transaction. Succeeds if the node already has it, or if its nonce is used. */
  readonly send: (signed: string, options: CallOptions) => Promise<void>
  readonly tokenBalance: (currency: Currency, address: string, options: CallOptions) => Promise<Minor>
  /** Reads the balance in wei. */
  readonly gasBalance: (address: string, options: CallOptions) => Promise<bigint>
  readonly fees: (options: CallOptions) => Promise<Fees>
  readonly preview: (transfer: TokenTransfer, options: CallOptions) => Promise<TransferPreview>
}

type Evm = typeof viem

let loading: Promise<Evm> | undefined
export const loadEvm = (): Promise<Evm> => (loading ??= import('./viem.ts'))
