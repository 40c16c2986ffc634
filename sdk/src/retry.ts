/** When to try again, and after how long. */
import { ApiProblem, ApiUnreachable } from './problem.ts'

/** A longer wait than this is the caller's to arrange: the problem is thrown, with its `Retry-After`. */
const retryAfterMsMax = 60_000
const backoffMsMax = 10_000

export type RetryOptions = {
  readonly retries: number
  readonly backoffMs: number
  readonly signal: AbortSignal | undefined
}

const retryStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The twin of this very request is still being carried out: its answer comes under the same idempotency key. */
const isRetryable = ({ status, code }: ApiProblem) => retryStatuses.has(status) || code === 'request_in_progress'

/** RFC 9110 section 10.2.3: seconds or a date. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/** Full jitter: many clients that failed together must not come back together. */
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

/** How long until the next attempt; undefined where there is to be none. */
function delayAfter(error: unknown, attempt: number, backoffMs: number): number | undefined {
  if (error instanceof ApiUnreachable) return backoff(attempt, backoffMs)
  if (!(error instanceof ApiProblem) || !isRetryable(error)) return undefined
  const told = retryAfterMs(error.headers, Date.now())
  if (told === undefined) return backoff(attempt, backoffMs)
  return told > retryAfterMsMax ? undefined : told
}

/** `attempt` throws ApiUnreachable where no answer came; it is told how many attempts came before it. */
export async function retrying<T>(attempt: (before: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { retries, backoffMs, signal } = options
  for (let before = 0; ; before += 1) {
    signal?.throwIfAborted()
    try {
      return await attempt(before)
    } catch (error) {
      const delay = before < retries ? delayAfter(error, before, backoffMs) : undefined
      if (delay === undefined) throw error
      await wait(delay, signal)
    }
  }
}
