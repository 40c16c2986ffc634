/** Limits the streams that a partner's readers have open at once, in a process. */
import { Refusal } from './refusal.ts'

/** A warehouse needs one; another one may start before the end of the first is known. */
const readersMax = 2
const retrySeconds = 5

/** Counts a reader until the returned function is called. Refuses: rate_limited. */
export function createReaders(): (partnerId: string) => () => void {
  const readers = new Map<string, number>()
  const count = (partnerId: string, change: 1 | -1) => {
    const left = (readers.get(partnerId) ?? 0) + change
    if (left > 0) readers.set(partnerId, left)
    else readers.delete(partnerId)
  }
  return (partnerId) => {
    if ((readers.get(partnerId) ?? 0) >= readersMax)
      throw new Refusal('rate_limited', `The partner already reads ${readersMax} streams. Close one first.`, {
        headers: { 'retry-after': String(retrySeconds) },
      })
    count(partnerId, 1)
    return () => count(partnerId, -1)
  }
}
