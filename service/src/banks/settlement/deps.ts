/** The parts of the settlement worker. */
import type { Cases, Returns } from '../../cases/index.ts'
import type { Log } from '../../kernel/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import type { PayoutAges, PayoutLife } from '../../payouts/index.ts'
import type { Recalls } from '../../payouts/recalls/index.ts'
import type { Connector } from '../../rails/index.ts'

export type SettlementDeps = {
  readonly log: Log
  /** Each has workers of its own. */
  readonly connectors: readonly Connector[]
  readonly payouts: PayoutLife
  readonly payoutAges: Pick<PayoutAges, 'oldestUnfinished'>
  readonly recalls: Pick<Recalls, 'answered' | 'claim' | 'declined' | 'oldestUnsent' | 'postponed' | 'taken'>
  readonly deposits: Deposits
  readonly cases: Pick<Cases, 'open' | 'idsWithCase'>
  readonly returns: Pick<Returns, 'claim' | 'accepted' | 'refused' | 'postponed' | 'reported'>
  readonly isPartner: (partnerId: string) => Promise<boolean>
  readonly partnerIds: () => Promise<readonly string[]>
  readonly observe?: SettlementObserver | undefined
}

export type SettlementObserver = {
  /** The answers to one call with instructions. */
  readonly instructions: (connector: string, outcomes: InstructionOutcomes, durationMs: number) => void
  readonly bankNotification: (connector: string, outcome: NotificationOutcome) => void
  /** The age of the oldest payment in a status that is not final, and its limit. */
  readonly age: (subject: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) => void
  /** Payouts between their claim and the answer of the bank, and whether the breaker holds further ones back. */
  readonly connector: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  /** A call that the bank answered. Of calls for notifications, only those that brought some. */
  readonly answered: (connector: string) => void
  /** A call that the bank did not answer, or answered wrongly. */
  readonly failed: (connector: string, error: unknown) => void
}

/** `early`: left for the bank to repeat. `case`: it matches nothing known, and an operator decides. */
export type NotificationOutcome = 'applied' | 'duplicate' | 'early' | 'case' | 'failed'

export type InstructionOutcomes = Readonly<Record<'accepted' | 'refused' | 'unknown', number>>

/** The notifications of one connector. */
export type Source = { readonly deps: SettlementDeps; readonly connector: Connector }
