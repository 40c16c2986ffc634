/** The limits of the engine. */
import { assert, dayMs, hourMs, minuteMs, secondMs } from '../kernel/index.ts'

export const deliveryLimitsDefault = {
  /** Time for which a worker holds an endpoint queue without renewal: longer than an attempt and its recording. */
  leaseMs: 60 * secondMs,
  /** No attempt starts on a lease that ends sooner. An exchange takes 15 s at most. */
  leaseMarginMs: 20 * secondMs,
  /** Time for which a worker keeps an idle endpoint queue, because more work often follows. */
  lingerMs: 5 * secondMs,
  inFlightPerEndpointMax: 10,
  /** Attempts in flight in one process. As many again may be delivered and wait to be recorded. */
  inFlightMax: 500,
  /** Endpoint queues that one process holds. */
  endpointQueuesMax: 5000,
  /** The longest rest that an endpoint can ask for. Longer rests are shortened to it. */
  retryAfterMsMax: hourMs,
  /** The breaker opens after this many consecutive failures. */
  breakerFailures: 10,
  /**
   * The breaker also opens if this percentage of at least `breakerAttemptsMin` attempts failed within
   * `breakerWindowMs`.
   */
  breakerPercent: 70,
  breakerAttemptsMin: 10,
  breakerWindowMs: 5 * minuteMs,
  /** The pause before the first probe of an open breaker. It doubles after each failed probe, up to `probeMsMax`. */
  probeMsMin: 30 * secondMs,
  probeMsMax: 15 * minuteMs,
  /** How long an endpoint has failed before the first alert email, the second one, and the disabling of the subscription. */
  failingNoticeMs: dayMs,
  failingSecondNoticeMs: 3 * dayMs,
  failingDisableMs: 5 * dayMs,
  /** Retention of held deliveries, delivered deliveries, attempts and events. */
  retentionMs: 30 * dayMs,
}

export type DeliveryLimits = { readonly [K in keyof typeof deliveryLimitsDefault]: number }

const limitNames = Object.keys(deliveryLimitsDefault) as readonly (keyof DeliveryLimits)[]

/** Limits that an operator can set (WEBHOOK_LIMITS). The other limits follow from the time limits of exchanges, or suit every installation. */
export const operatorLimits = [
  'inFlightPerEndpointMax',
  'inFlightMax',
  'failingDisableMs',
  'retentionMs',
] as const satisfies readonly (keyof DeliveryLimits)[]

export function readLimits(given: Partial<DeliveryLimits>): DeliveryLimits {
  const limits = { ...deliveryLimitsDefault, ...given }
  for (const name of limitNames)
    assert(Number.isSafeInteger(limits[name]) && limits[name] > 0, `the limit ${name} must be a positive whole number`)
  return limits
}

/** The pause after each failure: 12 attempts in about 71 hours. Then the delivery is held. */
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
 * The largest expected difference between the clocks of two machines. A lease or a rest that exceeds its maximum by more was
 * written before a clock was set back.
 */
export const clockDifferenceMsMax = hourMs
/**
 * Clock difference between machines that can make an event seem older than a subscription that was created before it.
 */
export const subscriptionMarginMs = 5 * minuteMs
/** Largest share added to a pause, so that deliveries that failed together are not retried together. */
export const jitterMax = 0.2
/** Pause of an endpoint queue after an error of ours, for example if a secret cannot be decrypted. */
export const errorRestMs = 30 * secondMs
