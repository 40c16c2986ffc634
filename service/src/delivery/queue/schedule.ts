/** Pure: what an attempt means, and when the next one is. */
import { after, secondMs } from '../../kernel/index.ts'
import { jitterMax } from '../limits.ts'

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

export type Verdict = 'delivered' | 'failed' | 'rested' | 'gone'

/**
 * 2xx, body included, is success; 410 says that the endpoint is gone for good; 429 and 503 may ask for a rest; all else,
 * redirects too, is failure.
 */
export function verdictOf(result: Omit<AttemptResult, 'startedAt' | 'durationMs'>, restMs = 0): Verdict {
  const { status, error } = result
  if (status === 410) return 'gone'
  if ((status === 429 || status === 503) && restMs > 0) return 'rested'
  return error === undefined && status !== undefined && status >= 200 && status < 300 ? 'delivered' : 'failed'
}

/** RFC 9110 section 10.2.3: seconds, or a date; `msMax` at most. Anything else asks for nothing. */
export function retryAfterMs(header: string | undefined, now: Date, msMax: number): number {
  if (header === undefined) return 0
  const asked = /^\d{1,10}$/.test(header.trim())
    ? Number(header) * secondMs
    : /^[A-Z][a-z]{2}, /.test(header)
      ? Date.parse(header) - now.getTime()
      : 0
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), msMax)
}

/** With up to a fifth more, by `fraction` in [0, 1). */
export const withJitter = (ms: number, fraction: number): number => Math.round(ms * (1 + jitterMax * fraction))

export type Next =
  | { readonly status: 'Pending'; readonly failures: number; readonly dueAt: Date }
  | { readonly status: 'Held'; readonly failures: number; readonly dueAt: null }

/** What becomes of a delivery after its next failure, with `failures` of the schedule behind it. */
export function nextOf(failures: number, now: Date, fraction: number, retryDelaysMs: readonly number[]): Next {
  const delayMs = retryDelaysMs[failures]
  return delayMs === undefined
    ? { status: 'Held', failures: failures + 1, dueAt: null }
    : { status: 'Pending', failures: failures + 1, dueAt: after(now, withJitter(delayMs, fraction)) }
}
