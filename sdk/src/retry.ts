/** Which failures are retried, and the pause before each attempt. */
import { ApiProblem, ApiConnectionError } from './problem.ts'

/** For a longer `Retry-After` the problem is thrown, and the caller decides when to retry. */
const retryAfterMsMax = 60_000
const backoffMsMax = 10_000

export type RetryOptions = {
  readonly retries: number
  readonly backoffMs: number
  readonly signal: AbortSignal | undefined
}

const retryStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** `request_in_progress`: a retry returns the result of the request that holds the same idempotency key. */
const isRetryable = ({ status, code }: ApiProblem) => retryStatuses.has(status) || code === 'request_in_progress'

/** RFC 9110 section 10.2.3: `Retry-After` is a number of seconds or a date. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/** Full jitter, so that clients that failed together do not retry together. */
function backoff(attempt: number, baseMs: number): number {
  return Math.random() * Math.min(backoffMsMax, baseMs * 2 ** attempt)
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The pause before the next attempt, or undefined if the error is not retried. */
function delayAfter(error: unknown, attempt: number, backoffMs: number): number | undefined {
  if (error instanceof ApiConnectionError) return backoff(attempt, backoffMs)
  if (!(error instanceof ApiProblem) || !isRetryable(error)) return undefined
  const retryAfter = retryAfterMs(error.headers, Date.now())
  if (retryAfter === undefined) return backoff(attempt, backoffMs)
  return retryAfter > retryAfterMsMax ? undefined : retryAfter
}

/** Runs `attempt` with the number of previous attempts, until it succeeds or its error is not retried. */
export async function withRetries<T>(
  attempt: (previousAttempts: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { retries, backoffMs, signal } = options
  for (let previousAttempts = 0; ; previousAttempts += 1) {
    signal?.throwIfAborted()
    try {
      return await attempt(previousAttempts)
    } catch (error) {
      const delay = previousAttempts < retries ? delayAfter(error, previousAttempts, backoffMs) : undefined
      if (delay === undefined) throw error
      await wait(delay, signal)
    }
  }
}
