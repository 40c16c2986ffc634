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
  /** The detail of the refusal. */
  readonly detail: string
}

/** A full process works off its requests in a fraction of a second. */
export const retryHeaders = { 'retry-after': '1' } as const

export function createAdmissionControl(requestsMax: number): AdmissionControl {
  let inProgress = 0
  const isFull = () => inProgress >= requestsMax
  const detail = `This process is serving its maximum of ${requestsMax} requests. Retry after the time in Retry-After.`
  return {
    isFull,
    detail,
    admit: () => {
      if (isFull()) throw new Refusal('overloaded', detail, { headers: retryHeaders })
      inProgress += 1
      let released = false
      return () => {
        if (!released) inProgress -= 1
        released = true
      }
    },
  }
}
