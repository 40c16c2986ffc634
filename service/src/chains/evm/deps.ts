/** The dependencies of the parts of a chain connector. */
import type { Clock, Currency, Log, Minor, Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { ChainNetwork, Instruction } from '../../rails/index.ts'
import type { Signer } from './keys.ts'
import type { Chain } from './quorum.ts'

export type ChainRules = ChainNetwork & {
  /** A block with this many blocks from itself to the head counts as final. */
  readonly confirmations: number
  /** The most that a unit of gas may cost, in wei. */
  readonly feeMax: bigint
  /** How long a transaction may wait for a block before it is replaced with higher fees. */
  readonly stuckAfterMs: number
  /** A smaller deposit is recorded and not credited. */
  readonly depositMin: Readonly<Partial<Record<Currency, Minor>>>
}

/** The partner of each of our wallets among the addresses, by the address in lower case. */
export type OwnersOf = (tx: Tx, addresses: readonly string[]) => Promise<ReadonlyMap<string, string>>

/**
 * The data that the travel rule requires beyond the name and the address of the beneficiary (FATF recommendation 16).
 * Absent: unknown.
 */
export type TravelParties = {
  readonly originator: {
    /** The customer, or the partner for a payment of its own. */
    readonly name: string
    readonly customerId?: string
    readonly address?: string
  }
  readonly beneficiary: {
    readonly country?: string
    /** The provider that keeps the wallet. Absent: the beneficiary keeps its own. */
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
  readonly ownersOf: OwnersOf
  /** The partner whose ledger holds money without a known owner. */
  readonly operatorId: string
  /** Addresses to which nothing is sent, in lower case. */
  readonly denied: ReadonlySet<string>
  readonly sealer: Sealer
  readonly partiesOf: (tx: Tx, instruction: Instruction) => Promise<TravelParties>
}
