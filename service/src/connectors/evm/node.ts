/**
 * What a chain connector asks of one node. There are two kinds: a real node over JSON-RPC (`rpc.ts`) and the simulated chain
 * of the sandbox (`simulated/`). Everything else of the connector is the same for both.
 */
import type { Currency, Minor } from '../../kernel/index.ts'
import type { CallOptions } from '../../rails/index.ts'

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
  /** The position in the block, by which the logs of one transaction are ordered. */
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

/** Whether a transfer would succeed in the next block. `reason` is the text of the contract, for operators. */
export type Preview = { readonly gas: bigint } | { readonly reason: string }

/** Every method throws Unreachable if the node does not answer in time, or not as it should. */
export type ChainNode = {
  /** For logs: never a URL, which may contain a key. */
  readonly name: string
  readonly chainId: (options: CallOptions) => Promise<number>
  readonly head: (options: CallOptions) => Promise<number>
  /** The blocks from `from` to `to`, both included. */
  readonly blocks: (from: number, to: number, options: CallOptions) => Promise<readonly Block[]>
  readonly transfers: (from: number, to: number, options: CallOptions) => Promise<readonly TransferLog[]>
  /** How many transactions of the address are in the blocks up to `block`. */
  readonly transactionCount: (address: string, block: number, options: CallOptions) => Promise<number>
  readonly receipt: (hash: string, options: CallOptions) => Promise<Receipt | undefined>
  /** Hands over a signed transaction. One that the node has, or whose nonce is used, is no failure. */
  readonly send: (signed: string, options: CallOptions) => Promise<void>
  readonly tokenBalance: (currency: Currency, address: string, options: CallOptions) => Promise<Minor>
  /** In wei. */
  readonly gasBalance: (address: string, options: CallOptions) => Promise<bigint>
  readonly fees: (options: CallOptions) => Promise<Fees>
  readonly preview: (transfer: TokenTransfer, options: CallOptions) => Promise<Preview>
}
