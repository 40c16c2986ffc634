/**
 * Admission control: limits the requests in progress. Above what a process can serve, a queue would only add latency to every
 * request, so further requests are refused at once. Requests that wait for a host chosen by a partner have their own limit, so that
 * a silent host cannot block other requests.
 */
import { type AdmissionOptions, Refusal, Unreachable } from '../../kernel/api/index.ts'

export type AdmissionControl = {
  /**
   * Admits a request. Refuses: overloaded (503) with Retry-After. Returns a function that releases the place of the
   * request. It may be called twice.
   */
  readonly admit: (asked?: AdmissionOptions) => () => void
  /** Reports whether all shared places are taken, so that the server can refuse before any work. */
  readonly isFull: () => boolean
}

/**
 * The delay after which a refused client may retry. A full process completes its requests in a fraction of a second.
 */
export const retryHeaders = { 'retry-after': '1' } as const

/** Twice `concurrentCallsMax` of webhooks/exchange/chosen-hosts.ts, which itself refuses calls beyond its limit. */
const chosenHostRequestsMax = 128

export function createAdmissionControl(requestsMax: number): AdmissionControl {
  const inProgress = { shared: 0, calling: 0 }
  const max = { shared: requestsMax, calling: chosenHostRequestsMax }
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
 * Rejects with Unreachable (504) at the deadline of a request. One deadline covers all its waits, because their
 * time-outs would add up. After the deadline the work continues, and its outcome is unknown.
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
