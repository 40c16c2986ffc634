/** The time of the signatures: the local clock, corrected by the `Date` header of the service. */

/** `Date` has a resolution of one second. A smaller difference does not explain a refused timestamp. */
const correctionMsMin = 5000

export type Clock = {
  readonly nowMs: () => number
  /** The difference that `nowMs` adds to the local clock. */
  readonly offsetMs: () => number
  /** Adopts the time of the response. Returns whether it differs from the time that the refused request used. */
  readonly correct: (headers: Headers, usedOffsetMs: number) => boolean
}

export function createClock(localMs: () => number): Clock {
  let offsetMs = 0
  return {
    nowMs: () => localMs() + offsetMs,
    offsetMs: () => offsetMs,
    correct: (headers, usedOffsetMs) => {
      const serverMs = Date.parse(headers.get('date') ?? '')
      if (Number.isNaN(serverMs)) return false
      const found = serverMs - localMs()
      if (Math.abs(found - usedOffsetMs) < correctionMsMin) return false
      offsetMs = found
      return true
    },
  }
}
