/**
 * The attempts that a process may have in flight, shared among partners. Pure. A partner may hold twice as many slots as
 * are free, so one partner alone gets two thirds of them. An endpoint queue without an attempt in flight may start one in
 * any case, because a slow endpoint must not delay its partner's others. The last twentieth is for partners without any
 * attempt in flight, one each.
 */
const shareOfFree = 2
const newPartnersPart = 20

export function createSlots(max: number) {
  const taken = new Map<string, number>()
  let total = 0
  /**
   * Attempts that are delivered and not recorded yet. Up to `max` of them do not count, so that endpoints and database
   * work side by side.
   */
  let recording = 0
  const free = () => max - total - Math.max(0, recording - max)
  const release = (partnerId: string): void => {
    total -= 1
    const left = (taken.get(partnerId) ?? 1) - 1
    if (left === 0) taken.delete(partnerId)
    else taken.set(partnerId, left)
  }
  return {
    taken: () => total,
    free,
    mayTake: (partnerId: string, inFlightOfQueue: number): boolean => {
      const left = free()
      const own = taken.get(partnerId) ?? 0
      if (own === 0) return left > 0
      return left > max / newPartnersPart && (inFlightOfQueue === 0 || own < left * shareOfFree)
    },
    take: (partnerId: string): void => {
      total += 1
      taken.set(partnerId, (taken.get(partnerId) ?? 0) + 1)
    },
    release,
    /** Releases the slot of a delivered attempt before it is recorded. */
    beginRecording: (partnerId: string): void => {
      release(partnerId)
      recording += 1
    },
    endRecording: (): void => void (recording -= 1),
  }
}

export type Slots = ReturnType<typeof createSlots>
