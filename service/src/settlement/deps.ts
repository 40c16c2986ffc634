/** What the settlement worker is composed of. */
import type { Log } from '../kernel/index.ts'
import type { Deposits } from '../modules/deposits/index.ts'
import type { Payouts } from '../modules/payouts/index.ts'
import type { Rail } from '../rails/index.ts'

export type SettlementDeps = {
  readonly log: Log
  readonly rail: Rail
  readonly payouts: Payouts
  readonly deposits: Deposits
  readonly idleMs: number
  readonly observe?: SettlementObserver | undefined
}

export type SettlementObserver = {
  readonly instruction: (
    rail: string,
    outcome: 'accepted' | 'refused' | 'unreachable' | 'failed',
    durationMs: number,
  ) => void
  readonly bankNotification: (rail: string, outcome: 'applied' | 'duplicate' | 'failed') => void
}
