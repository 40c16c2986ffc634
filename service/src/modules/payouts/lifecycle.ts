/**
 * The moves of a payout from status to status: the only ones that exist. Each row says what the move writes besides the
 * status: the end of the reserve, the steps of the timeline, the end of the transaction, the event of a customer's payout.
 */
import type { TimelineStep } from '@partner-payments/wire'
import { secondMs } from '../../kernel/index.ts'
import type { PayoutStatus } from './rules.ts'

export type PayoutMove = {
  readonly from: readonly PayoutStatus[]
  readonly to: PayoutStatus
  readonly steps: readonly TimelineStep[]
  /** What happens to the reserved money. `refund`: a new, linked transaction brings money back that was posted. */
  readonly ledger?: 'post' | 'release' | 'refund'
  /** The final status of the transaction. */
  readonly concludes?: 'Completed' | 'Unsuccessful'
  readonly event?: 'accepted' | 'sent' | 'failed'
}

export const payoutMoves = {
  /** The checks have passed, and the first attempt is recorded. */
  accept: { from: ['Pending'], to: 'Processing', steps: ['Accepted'], event: 'accepted' },
  /** A further attempt is recorded, or the bank was unreachable. */
  retry: { from: ['Processing'], to: 'Processing', steps: [] },
  send: { from: ['Processing'], to: 'Sent', steps: ['Sent'], event: 'sent' },
  complete: { from: ['Sent'], to: 'Completed', steps: ['Settled'], ledger: 'post', concludes: 'Completed' },
  fail: {
    from: ['Processing', 'Sent'],
    to: 'Failed',
    steps: ['Failed'],
    ledger: 'release',
    concludes: 'Unsuccessful',
    event: 'failed',
  },
  /** The bank returns the money before it reports the settlement. */
  return: {
    from: ['Sent'],
    to: 'Returned',
    steps: ['Returned'],
    ledger: 'release',
    concludes: 'Unsuccessful',
    event: 'failed',
  },
  /** The bank returns the money after the settlement. */
  refund: { from: ['Completed'], to: 'Returned', steps: ['Returned'], ledger: 'refund' },
} as const satisfies Readonly<Record<string, PayoutMove>>

export type PayoutMoveName = keyof typeof payoutMoves

export const mayMove = (from: PayoutStatus, name: PayoutMoveName): boolean =>
  (payoutMoves[name].from as readonly PayoutStatus[]).includes(from)

/** Longer than an attempt at a bank, and short enough that another worker soon takes over a killed worker's payouts. */
export const leaseMs = 15 * secondMs
