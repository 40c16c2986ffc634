/**
 * Holds calls back from another system that does not answer. Without it every due payout would be claimed, tried for the whole
 * time of a call, and count an attempt, while the bank is away; and every verification of a payee would wait for its time limit.
 */
import { secondMs } from './clock.ts'

/** Calls that fail one after the other before the breaker opens. */
const failuresMax = 5
const pauseMsMin = secondMs
const pauseMsMax = 30 * secondMs

export type Breaker = {
  /** `closed`: calls may be made. `half-open`: one call may be made, to see whether the bank answers again. */
  readonly state: () => 'closed' | 'open' | 'half-open'
  /** A call was answered, or was not. */
  readonly answered: () => void
  readonly failed: () => void
}

/** `now`: milliseconds that only grow. */
export function createBreaker(now: () => number = () => performance.now()): Breaker {
  let failures = 0
  let openUntil = 0
  const isOpen = () => now() < openUntil
  return {
    state: () => (failures < failuresMax ? 'closed' : isOpen() ? 'open' : 'half-open'),
    answered: () => {
      failures = 0
      openUntil = 0
    },
    failed: () => {
      // Calls that were under way when it opened fail together: they are one failure.
      if (isOpen()) return
      failures += 1
      if (failures >= failuresMax) openUntil = now() + Math.min(pauseMsMax, pauseMsMin * 2 ** (failures - failuresMax))
    },
  }
}
