/** Every number of the engine, each with its name. An operator may set any of them (WEBHOOK_LIMITS). */
import { assert, dayMs, hourMs, minuteMs, secondMs } from '../kernel/index.ts'

export const limitsDefault = {
  /** How long a worker holds a endpoint queue unless it renews: longer than any attempt, and time to record it. */
  leaseMs: 60 * secondMs,
  /** No attempt begins on a endpoint queue whose lease ends sooner: an exchange takes 15 s at most. */
  leaseMarginMs: 20 * secondMs,
  /** A endpoint queue without work is kept so long, since work often comes again. */
  lingerMs: 5 * secondMs,
  /** Attempts under way at once, to one endpoint and in a process, where as many again may wait for their record. */
  inFlightPerEndpointMax: 10,
  inFlightMax: 500,
  /** Endpoint queues that one process holds. */
  endpointQueuesMax: 5000,
  /** An endpoint may ask for a rest of this long; a longer wish is shortened to it. */
  retryAfterMsMax: hourMs,
  /** The breaker opens after so many failures in a row, */
  breakerFailures: 10,
  /** or where so many in a hundred failed of at least so many attempts within so long. */
  breakerPercent: 70,
  breakerAttemptsMin: 10,
  breakerWindowMs: 5 * minuteMs,
  /** Then it lets one probe through: after so long, after twice as long each time, after so long at most. */
  probeMsMin: 30 * secondMs,
  probeMsMax: 15 * minuteMs,
  /** Nothing has succeeded for so long: the partner is told, told again; then the subscription is disabled. */
  failingNoticeMs: dayMs,
  failingSecondNoticeMs: 3 * dayMs,
  failingDisableMs: 5 * dayMs,
  /** What is held, what was delivered, attempts and events are kept so long. */
  retentionMs: 30 * dayMs,
}

export type Limits = { readonly [K in keyof typeof limitsDefault]: number }

/** The names that can be set; all are whole numbers from 1 on. */
export const limitNames = Object.keys(limitsDefault) as readonly (keyof Limits)[]

export function readLimits(given: Partial<Limits>): Limits {
  const limits = { ...limitsDefault, ...given }
  for (const name of limitNames)
    assert(Number.isSafeInteger(limits[name]) && limits[name] > 0, `the limit ${name} is a whole number from 1 on`)
  return limits
}

/** The pauses after the first, second, ... failure: 12 attempts in about 71 hours, then the delivery is held. */
export const retryDelaysMsDefault: readonly number[] = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  dayMs,
  dayMs,
]
/**
 * Clocks of machines that work together differ by less. A lease or a rest that ends later than any could, and by so much,
 * was written before a clock was put back.
 */
export const clocksDifferMsMax = hourMs
/** An event that seems to be so much older than a subscription may have happened after it, by another machine's clock. */
export const subscribedMarginMs = 5 * minuteMs
/** Up to a fifth is added, so that what failed together does not come back together. */
export const jitterMax = 0.2
/** A endpoint queue that cannot be worked for a reason of its own (a secret that does not open) rests so long. */
export const troubleRestMs = 30 * secondMs
