/** The deadline of a request. The time-outs of its consecutive waits alone would add up. */
import { Unreachable } from '../../kernel/api/index.ts'

/** Rejects with Unreachable (504) at the deadline. The work continues, and its outcome is unknown. */
export type Deadline = <T>(work: Promise<T>) => Promise<T>

export function startDeadline(timeoutMs: number): Deadline {
  const endMs = performance.now() + timeoutMs
  return async (work) => {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new Unreachable('downstream_timeout', 'the request did not complete in time')),
      endMs - performance.now(),
    )
    // After the deadline no caller reads the outcome.
    work.catch(() => undefined)
    try {
      return await Promise.race([work, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
