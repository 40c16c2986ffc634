/**
 * Admission control: limits the requests in progress. Above what a process can serve, a queue only adds latency to every
 * request, so that further requests are refused at once.
 */
import { Refusal } from '../api/index.ts'

export type AdmissionControl = {
  /** Refuses: overloaded (503) with Retry-After. Returns a function that ends the request; calling it twice is safe. */
  readonly admit: () => () => void
  /** Lets the server refuse before it does any work. */
  readonly isFull: () => boolean
}

/** A full process works off its requests in a fraction of a second. */
export const retryHeaders = { 'retry-after': '1' } as const

export function createAdmissionControl(requestsMax: number): AdmissionControl {
  let inProgress = 0
  const isFull = () => inProgress >= requestsMax
  return {
    isFull,
    admit: () => {
      if (isFull()) throw new Refusal('overloaded', undefined, { headers: retryHeaders })
      inProgress += 1
      let released = false
      return () => {
        if (!released) inProgress -= 1
        released = true
      }
    },
  }
}
