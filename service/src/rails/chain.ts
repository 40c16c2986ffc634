/** The interface of chains: addresses, the part that wallets show, and the simulated chain for simulations. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { createHash } from 'node:crypto'

/** The contract of each token, in lower case. */
export type Tokens = Readonly<Partial<Record<Currency, string>>>

/** A chain as the service shows it, without its nodes. */
export type ChainNetwork = {
  /** The id of the connector. */
  readonly id: string
  readonly chainId: number
  readonly network: string
  readonly tokens: Tokens
}

/** Amounts booked on an address and not taken back, by token. */
export type Received = { readonly account: string; readonly currency: Currency; readonly amount: Minor }

export type SimulatedTransferIn = {
  /** The partner that simulates it. */
  readonly partnerId: string
  readonly currency: Currency
  readonly amount: Minor
  /** Undefined: an address that only this transfer uses. */
  readonly from: string | undefined
  readonly to: string
  /** The depth of the transfer at once. 0: it waits for the next block. */
  readonly confirmations: number
}

/** The simulated chain, as simulations drive it. */
export type ChainSimulator = {
  /** Puts a transfer on the chain, and answers its hash. */
  readonly sendTokens: (transfer: SimulatedTransferIn, tx?: Tx) => Promise<string>
  /** Makes blocks at once, and returns the number of the head. */
  readonly makeBlocks: (count: number) => Promise<number>
  /**
   * Replaces the newest blocks by others, one more than they were. Transfers that the partner simulated in them vanish; all
   * others are in the new blocks. Refuses: validation_failed (deeper than the chain).
   */
  readonly reorganise: (partnerId: string, depth: number) => Promise<Reorganised>
}

type Reorganised = { readonly head: number; readonly vanished: readonly string[] }

// Addresses of EVM chains: form, check sum (EIP-55), and those to which no token may be sent.

const form = /^0x[0-9a-fA-F]{40}$/
export const zeroAddress = `0x${'0'.repeat(40)}`

const keccak256 = (text: string): string => createHash('keccak-256').update(text).digest('hex')

/** The address as it is shown: a letter is a capital if the digit of its hash is 8 or more (EIP-55). */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const marks = keccak256(digits)
  const letters = Array.from(digits, (digit, index) =>
    Number.parseInt(marks.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit,
  )
  return `0x${letters.join('')}`
}

/** The problem of an address text. Letters of one case only carry no check sum. */
export function addressProblem(text: string): 'form' | 'checksum' | undefined {
  if (!form.test(text)) return 'form'
  const letters = text.slice(2)
  if (letters === letters.toLowerCase() || letters === letters.toUpperCase()) return undefined
  return checksummed(text) === text ? undefined : 'checksum'
}
