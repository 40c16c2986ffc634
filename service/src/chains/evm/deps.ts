/** The dependencies of a chain connector. */
import type { Clock, Currency, Log, Minor, Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { ChainNetwork, Instruction } from '../../rails/index.ts'
import type { Signer } from './keys.ts'
import type { Chain } from './quorum.ts'

export type ChainRules = ChainNetwork & {
  /** A block is final at this depth: the head has depth 1. */
  readonly confirmations: number
  /** The maximum price of a unit of gas, in wei. */
  readonly feeMax: bigint
  /** A transaction that waits longer for a block is replaced with higher fees. */
  readonly stuckAfterMs: number
  /** A deposit below this amount is recorded but not credited. */
  readonly depositMin: Readonly<Partial<Record<Currency, Minor>>>
}

/** Finds the partners of our wallets among the addresses, by the address in lower case. */
export type FindOwners = (tx: Tx, addresses: readonly string[]) => Promise<ReadonlyMap<string, string>>

/**
 * The data of the travel rule, in addition to the name and address of the beneficiary (FATF recommendation 16). Absent
 * fields are unknown.
 */
export type TravelParties = {
  readonly originator: {
    /** The customer, or the partner for its own payment. */
    readonly name: string
    readonly customerId?: string
    readonly address?: string
  }
  readonly beneficiary: {
    readonly country?: string
    /** The provider of the wallet. Absent: the beneficiary controls it. */
    readonly vasp?: string
  }
}

export type ChainDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly rules: ChainRules
  readonly chain: Chain
  readonly signer: () => Promise<Signer | undefined>
  readonly ownersOf: FindOwners
  /** The partner whose ledger holds money of unknown owners. */
  readonly operatorId: string
  /** Addresses that must not be paid, in lower case. */
  readonly denied: ReadonlySet<string>
  readonly sealer: Sealer
  readonly partiesOf: (tx: Tx, instruction: Instruction) => Promise<TravelParties>
}
