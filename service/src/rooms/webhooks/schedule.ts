/** Pure: what an attempt means, and when the next one is. */
import { after, dayMs, hourMs, minuteMs, secondMs } from '../../kernel/index.ts'
import type { DeliveryStatus } from './rules.ts'

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
/** Up to a fifth is added, so that what failed together does not come back together. */
export const jitterMax = 0.2
/** An endpoint may ask for a rest of this long; a longer wish is shortened to it. */
export const retryAfterMsMax = hourMs

export type AttemptResult = {
  readonly startedAt: Date
  readonly durationMs: number
  /** The HTTP status, where one came. */
  readonly status?: number
  /** Why the exchange did not come to its end; a 2xx with an error is a failure. */
  readonly error?: string
  readonly responseBody?: string
  readonly address?: string
  /** The Retry-After header as sent. */
  readonly retryAfter?: string
}

export type Verdict = 'delivered' | 'failed' | 'gone'

/** 2xx, body included, is success; 410 says that the endpoint is gone for good; all else, redirects too, is failure. */
export function verdictOf({ status, error }: Pick<AttemptResult, 'status' | 'error'>): Verdict {
  if (status === 410) return 'gone'
  return error === undefined && status !== undefined && status >= 200 && status < 300 ? 'delivered' : 'failed'
}

/** RFC 9110 section 10.2.3: seconds, or a date. Anything else asks for nothing. */
export function retryAfterMs(header: string | undefined, now: Date): number {
  if (header === undefined) return 0
  const asked = /^\d{1,10}$/.test(header.trim())
    ? Number(header) * secondMs
    : /^[A-Z][a-z]{2}, /.test(header)
      ? Date.parse(header) - now.getTime()
      : 0
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), retryAfterMsMax)
}

export type Next = {
  readonly status: DeliveryStatus
  readonly failures: number
  readonly nextAttemptAt: Date | null
  /** The whole endpoint rests until then. */
  readonly pausedUntil: Date | null
}

/** What becomes of a delivery with `failures` failures behind it. `fraction` is in [0, 1). */
export function nextOf(
  result: AttemptResult,
  failures: number,
  now: Date,
  fraction: number,
  retryDelaysMs: readonly number[],
): Next {
  if (verdictOf(result) === 'delivered')
    return { status: 'Delivered', failures, nextAttemptAt: null, pausedUntil: null }
  const restMs = retryAfterMs(result.retryAfter, now)
  const pausedUntil = restMs > 0 && (result.status === 429 || result.status === 503) ? after(now, restMs) : null
  const delayMs = retryDelaysMs[failures]
  if (delayMs === undefined) return { status: 'Held', failures: failures + 1, nextAttemptAt: null, pausedUntil }
  const waitMs = Math.max(delayMs * (1 + jitterMax * fraction), restMs)
  return { status: 'Pending', failures: failures + 1, nextAttemptAt: after(now, Math.round(waitMs)), pausedUntil }
}
