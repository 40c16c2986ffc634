/**
 * Admission control: limits the requests in progress. Above what a process can serve, a queue only adds latency to every
 * request, so that further requests are refused at once. Requests that wait for a host which a partner has chosen have
 * places of their own: a host that never answers must take none from the others.
 */
import { type Admitted, Refusal, Unreachable } from '../../kernel/api/index.ts'

export type AdmissionControl = {
  /** Refuses: overloaded (503) with Retry-After. Returns a function that ends the request; calling it twice is safe. */
  readonly admit: (asked?: Admitted) => () => void
  /** Reports whether the shared places are taken, so that the server refuses before it does any work. */
  readonly isFull: () => boolean
}

/** A full process works off its requests in a fraction of a second. */
export const retryHeaders = { 'retry-after': '1' } as const

/** Twice as many as may wait for chosen hosts (`placesMax` in webhooks/exchange/chosen-hosts.ts): the others are refused after one look. */
const callingMax = 128

export function createAdmissionControl(requestsMax: number): AdmissionControl {
  const inProgress = { shared: 0, calling: 0 }
  const max = { shared: requestsMax, calling: callingMax }
  return {
    isFull: () => inProgress.shared >= max.shared,
    admit: ({ callsChosenHost = false } = {}) => {
      const places = callsChosenHost ? 'calling' : 'shared'
      if (inProgress[places] >= max[places]) throw new Refusal('overloaded', undefined, { headers: retryHeaders })
      inProgress[places] += 1
      let released = false
      return () => {
        if (!released) inProgress[places] -= 1
        released = true
      }
    },
  }
}

/**
 * The deadline of a request, because the time-outs of its consecutive waits would add up. Rejects with Unreachable (504) at
 * the deadline. The work continues, and its outcome is unknown.
 */
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
