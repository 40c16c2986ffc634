/** Log hooks. Their arguments contain no header, query or body, and so no credentials and no personal data of bodies. */
import type { OperationId } from './generated/operations.ts'
import type { ProblemCode } from './problem.ts'

export type RequestLog = {
  readonly operation: OperationId
  readonly method: string
  /** The path without the query. */
  readonly path: string
  /** The same for all attempts of a call. */
  readonly requestId: string
  /** 1 for the first attempt. */
  readonly attempt: number
}

export type ResponseLog = RequestLog & {
  readonly status: number
  readonly durationMs: number
  /** The problem code, if the request was refused. */
  readonly code?: ProblemCode
}

/** `attempt` is the attempt that failed. */
export type RetryLog = RequestLog & {
  readonly reason: ProblemCode | 'connection_failed' | 'timeout'
  readonly delayMs: number
}

export type Hooks = {
  readonly onRequest?: ((log: RequestLog) => unknown) | undefined
  readonly onResponse?: ((log: ResponseLog) => unknown) | undefined
  readonly onRetry?: ((log: RetryLog) => unknown) | undefined
}

/**
 * Calls a hook. Ignores its exceptions and rejections, so that a faulty hook cannot make a successful payout look
 * failed.
 */
export function callHook<T>(hook: ((log: T) => unknown) | undefined, log: T): void {
  try {
    const result = hook?.(log)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    // A hook has no other channel to report its own failure.
  }
}
