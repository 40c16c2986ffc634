/** What the settlement worker is composed of. */
import type { Log } from '../kernel/index.ts'
import type { Deposits } from '../modules/deposits/index.ts'
import type { Payouts } from '../modules/payouts/index.ts'
import type { Connector } from '../rails/index.ts'

export type SettlementDeps = {
  readonly log: Log
  /** Each has workers of its own. */
  readonly connectors: readonly Connector[]
  readonly payouts: Payouts
  readonly deposits: Deposits
  readonly idleMs: number
  readonly observe?: SettlementObserver | undefined
}

export type SettlementObserver = {
  /** The answers to one call with instructions. */
  readonly instructions: (connector: string, outcomes: InstructionOutcomes, durationMs: number) => void
  readonly bankNotification: (connector: string, outcome: 'applied' | 'duplicate' | 'failed') => void
  /** Payouts between their claim and the answer of the bank, and whether the breaker holds further ones back. */
  readonly connector: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
}

export type InstructionOutcomes = Readonly<Record<'accepted' | 'refused' | 'unknown', number>>
