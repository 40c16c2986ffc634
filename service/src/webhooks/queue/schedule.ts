/** The verdict on an attempt, and the time of the next one. Pure. */
import { after, secondMs } from '../../kernel/index.ts'
import { jitterMax } from '../limits.ts'

export type AttemptResult = {
  readonly startedAt: Date
  readonly durationMs: number
  /** The HTTP status, if the endpoint sent one. */
  readonly status?: number
  /** Reason why the exchange did not complete. A 2xx with an error is a failure. */
  readonly error?: string
  readonly responseBody?: string
  readonly address?: string
  /** The Retry-After header as sent. */
  readonly retryAfter?: string
}

export type Verdict = 'delivered' | 'failed' | 'rested' | 'gone'

/**
 * Classifies an attempt. A complete 2xx response is a success. 410 means that the endpoint is gone for good. 429 and
 * 503 can ask for a rest. Everything else is a failure, redirects included.
 */
export function classifyAttempt(result: Omit<AttemptResult, 'startedAt' | 'durationMs'>, restMs = 0): Verdict {
  const { status, error } = result
  if (status === 410) return 'gone'
  if ((status === 429 || status === 503) && restMs > 0) return 'rested'
  return error === undefined && status !== undefined && status >= 200 && status < 300 ? 'delivered' : 'failed'
}

/** Reads a Retry-After header (RFC 9110 section 10.2.3): seconds or a date, up to `msMax`. Any other text is 0. */
export function retryAfterMs(header: string | undefined, now: Date, msMax: number): number {
  if (header === undefined) return 0
  const ms = /^\d{1,10}$/.test(header.trim())
    ? Number(header) * secondMs
    : /^[A-Z][a-z]{2}, /.test(header)
      ? Date.parse(header) - now.getTime()
      : 0
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), msMax)
}

/** Adds up to `jitterMax`, by `fraction` in [0, 1). */
export const withJitter = (ms: number, fraction: number): number => Math.round(ms * (1 + jitterMax * fraction))

export type NextAttempt =
  | { readonly status: 'Pending'; readonly failures: number; readonly dueAt: Date }
  | { readonly status: 'Held'; readonly failures: number; readonly dueAt: null }

/** Returns the state of a delivery after one more failure. `failures`: earlier failures that count in the schedule. */
export function attemptAfterFailure(
  failures: number,
  now: Date,
  fraction: number,
  retryDelaysMs: readonly number[],
): NextAttempt {
  const delayMs = retryDelaysMs[failures]
  return delayMs === undefined
    ? { status: 'Held', failures: failures + 1, dueAt: null }
    : { status: 'Pending', failures: failures + 1, dueAt: after(now, withJitter(delayMs, fraction)) }
}
