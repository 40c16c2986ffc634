/** The interface of chains: networks, the simulated chain, and addresses. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { createHash } from 'node:crypto'

/** The contract address of each token, in lower case. */
export type TokenContracts = Readonly<Partial<Record<Currency, string>>>

/** A chain, without its nodes. */
export type ChainNetwork = {
  /** The id of the connector. */
  readonly id: string
  readonly chainId: number
  readonly network: string
  readonly tokens: TokenContracts
}

/** The amount that an address has received in a token, without reversed credits. */
export type WalletView = { readonly account: string; readonly currency: Currency; readonly amount: Minor }

export type SimulatedTransferIn = {
  /** The partner that simulates the transfer. */
  readonly partnerId: string
  readonly currency: Currency
  readonly amount: Minor
  /** Undefined: a new address. */
  readonly from: string | undefined
  readonly to: string
  /** The number of blocks that confirm the transfer at first. 0: the next block includes it. */
  readonly confirmations: number
}

/** The simulated chain, as simulations control it. */
export type ChainSimulator = {
  /** Sends a transfer on the chain and returns its hash. */
  readonly sendTokens: (transfer: SimulatedTransferIn, tx?: Tx) => Promise<string>
  /** Creates blocks immediately and returns the number of the newest block. */
  readonly makeBlocks: (count: number) => Promise<number>
  /**
   * Simulates a reorganisation: replaces the newest blocks by one block more than before. Transfers that the partner
   * simulated in them vanish; the new blocks include all others. Refuses: validation_failed (deeper than the chain).
   */
  readonly reorganise: (partnerId: string, depth: number) => Promise<Reorganisation>
}

type Reorganisation = { readonly head: number; readonly vanished: readonly string[] }

// Addresses of EVM chains, and their checksum (EIP-55).

const addressForm = /^0x[0-9a-fA-F]{40}$/
export const zeroAddress = `0x${'0'.repeat(40)}`

const keccak256 = (text: string): string => createHash('keccak-256').update(text).digest('hex')

/** Adds the checksum: a letter becomes a capital if the digit of the hash is 8 or more (EIP-55). */
export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const marks = keccak256(digits)
  const letters = Array.from(digits, (digit, index) =>
    Number.parseInt(marks.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${letters.join('')}`
}

/** Finds the problem of an address; undefined if it is valid. Letters of one case do not have a checksum. */
export function addressProblem(text: string): 'form' | 'checksum' | undefined {
  if (!addressForm.test(text)) return 'form'
  const letters = text.slice(2)
  if (letters === letters.toLowerCase() || letters === letters.toUpperCase()) return undefined
  return checksumAddress(text) === text ? undefined : 'checksum'
}
