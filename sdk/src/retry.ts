/** Decides which failures are retried and how long to pause before each attempt. */
import { ApiProblem, ApiConnectionError } from './problem.ts'

/**
 * The longest `Retry-After` that is honoured. A longer one throws the problem, and the caller decides when to retry.
 */
const retryAfterSecondsMax = 60
const backoffMsMax = 10_000

export type Failure = ApiProblem | ApiConnectionError

export type RetryOptions = {
  readonly retries: number
  readonly backoffMs: number
  readonly signal: AbortSignal | undefined
  readonly onRetry: (error: Failure, delayMs: number) => void
}

const retryStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** `request_in_progress`: a retry returns the result of the request that holds the same idempotency key. */
const isRetryable = ({ status, code }: ApiProblem) => retryStatuses.has(status) || code === 'request_in_progress'

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

const isFailure = (error: unknown): error is Failure =>
  error instanceof ApiConnectionError || (error instanceof ApiProblem && isRetryable(error))

/** The pause before the next attempt, or undefined if the error is not retried. */
function delayAfter(error: Failure, attempt: number, backoffMs: number): number | undefined {
  const seconds = error instanceof ApiProblem ? error.retryAfterSeconds : undefined
  if (seconds === undefined) return backoff(attempt, backoffMs)
  return seconds > retryAfterSecondsMax ? undefined : seconds * 1000
}

/** Runs `attempt` until it succeeds or its error is not retried. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, backoffMs, signal, onRetry } = options
  for (let previousAttempts = 0; ; previousAttempts += 1) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      if (!isFailure(error) || previousAttempts >= retries) throw error
      const delayMs = delayAfter(error, previousAttempts, backoffMs)
      if (delayMs === undefined) throw error
      onRetry(error, delayMs)
      await wait(delayMs, signal)
    }
  }
}
