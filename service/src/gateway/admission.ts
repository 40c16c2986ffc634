/**
 * Requests under way at once. Beyond what a process can serve a queue only makes everybody wait: what comes on top is
 * refused at once, which costs little, and what was accepted is answered about as fast as ever.
 */
import { Refusal } from '../api/index.ts'

export type Capacity = {
  /** Throws overloaded (503) with Retry-After. Answers how to give the place back, which happens once. */
  readonly enter: () => () => void
  /** What would be refused later can be refused now, at a fraction of the cost. */
  readonly isFull: () => boolean
  /** What is answered then. */
  readonly detail: string
}

/** A second is many times what a queue that is full takes to empty. */
export const retryHeaders = { 'retry-after': '1' } as const

export function createCapacity(requestsMax: number): Capacity {
  let underWay = 0
  const isFull = () => underWay >= requestsMax
  const detail = `More than ${requestsMax} requests are under way.`
  return {
    isFull,
    detail,
    enter: () => {
      if (isFull()) throw new Refusal('overloaded', detail, { headers: retryHeaders })
      underWay += 1
      let inside = true
      return () => {
        if (inside) underWay -= 1
        inside = false
      }
    },
  }
}
