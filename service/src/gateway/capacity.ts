/**
 * Requests under way at once. Beyond what a process can serve a queue only makes everybody wait: what comes on top is
 * refused at once, which costs little, and what was accepted is answered about as fast as ever.
 */
import { Refusal } from '../kernel/index.ts'

export type Capacity = {
  /** Throws overloaded (503) with Retry-After. Answers how to give the place back, which happens once. */
  readonly enter: () => () => void
  /** Throws as `enter` does, and takes no place: what would be refused later is refused now. */
  readonly requireRoom: () => void
}

export function createCapacity(requestsMax: number): Capacity {
  let underWay = 0
  const requireRoom = () => {
    if (underWay >= requestsMax)
      throw new Refusal('overloaded', `More than ${requestsMax} requests are under way.`, {
        headers: { 'retry-after': '1' },
      })
  }
  return {
    requireRoom,
    enter: () => {
      requireRoom()
      underWay += 1
      let inside = true
      return () => {
        if (inside) underWay -= 1
        inside = false
      }
    },
  }
}
