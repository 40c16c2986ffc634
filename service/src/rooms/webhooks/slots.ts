/**
 * Pure: the attempts that a process may have under way, shared among partners. A partner may have twice what is still
 * free: one alone has two thirds of all, and who comes later his part of the rest. A lane with nothing under way may have
 * its first, since a slow endpoint must not cost its partner the others. The last twentieth is for partners with nothing
 * under way at all, one attempt each.
 */
const shareOfFree = 2
const newcomersPart = 20

export function createSlots(max: number) {
  const taken = new Map<string, number>()
  let total = 0
  return {
    taken: () => total,
    free: () => max - total,
    isFor: (partnerId: string, inLane: number): boolean => {
      const free = max - total
      const own = taken.get(partnerId) ?? 0
      if (own === 0) return free > 0
      return free > max / newcomersPart && (inLane === 0 || own < free * shareOfFree)
    },
    take: (partnerId: string): void => {
      total += 1
      taken.set(partnerId, (taken.get(partnerId) ?? 0) + 1)
    },
    giveBack: (partnerId: string): void => {
      total -= 1
      const left = (taken.get(partnerId) ?? 1) - 1
      if (left === 0) taken.delete(partnerId)
      else taken.set(partnerId, left)
    },
  }
}

export type Slots = ReturnType<typeof createSlots>
