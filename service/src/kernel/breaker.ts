/**
 * Limits calls to another system by a circuit breaker and a time limit. Without the breaker, during an outage of a bank, every due payout
 * would be claimed, wait for the time-out and count an attempt, and every verification of a payee would wait for its time limit.
 */
import { secondMs } from './clock.ts'

/** Number of consecutive failures that opens the breaker. */
const failuresMax = 5
const pauseMsMin = secondMs
const pauseMsMax = 30 * secondMs

export type Breaker = {
  /**
   * `closed`: calls are allowed. `open`: none is. `half-open`: one call is allowed, to check whether the system answers
   * again.
   */
  readonly state: () => 'closed' | 'open' | 'half-open'
  /** Records that a call was answered. */
  readonly answered: () => void
  readonly failed: () => void
}

/** Creates a closed breaker. `now`: a monotonic clock in milliseconds. */
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
      // Calls that were in progress when the breaker opened count as one failure.
      if (isOpen()) return
      failures += 1
      if (failures >= failuresMax) openUntil = now() + Math.min(pauseMsMax, pauseMsMin * 2 ** (failures - failuresMax))
    },
  }
}

/** Error of work that exceeded its time limit. */
export class TimeLimitExceeded extends Error {
  override readonly name = 'Late'
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`)
  }
}

/** Stops waiting at the limit, even if the work ignores its signal. Rejects with TimeLimitExceeded. */
export async function withTimeLimit<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new TimeLimitExceeded(timeoutMs)
    late.reject(error)
    limit.abort(error)
  }, timeoutMs)
  const asked = Promise.try(work, limit.signal)
  // The work may still fail after the limit.
  asked.catch(() => undefined)
  try {
    return await Promise.race([asked, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
