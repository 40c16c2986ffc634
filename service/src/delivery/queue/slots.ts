/**
 * Pure: the attempts that a process may have under way, shared among partners; as many again may have been delivered and
 * wait for their record, so that endpoints and database work side by side. A partner may have twice what is still
 * free: one alone has two thirds of all, and who comes later his part of the rest. A endpoint queue with nothing under way may have
 * its first, since a slow endpoint must not cost its partner the others. The last twentieth is for partners with nothing
 * under way at all, one attempt each.
 */
const shareOfFree = 2
const newcomersPart = 20

export function createSlots(max: number) {
  const taken = new Map<string, number>()
  let total = 0
  let delivered = 0
  const free = () => max - total - Math.max(0, delivered - max)
  const giveBack = (partnerId: string): void => {
    total -= 1
    const left = (taken.get(partnerId) ?? 1) - 1
    if (left === 0) taken.delete(partnerId)
    else taken.set(partnerId, left)
  }
  return {
    taken: () => total,
    free,
    isFor: (partnerId: string, inEndpointQueue: number): boolean => {
      const left = free()
      const own = taken.get(partnerId) ?? 0
      if (own === 0) return left > 0
      return left > max / newcomersPart && (inEndpointQueue === 0 || own < left * shareOfFree)
    },
    take: (partnerId: string): void => {
      total += 1
      taken.set(partnerId, (taken.get(partnerId) ?? 0) + 1)
    },
    giveBack,
    /** Its place is free, its record is still to be made. */
    deliver: (partnerId: string): void => {
      giveBack(partnerId)
      delivered += 1
    },
    recorded: (): void => void (delivered -= 1),
  }
}

export type Slots = ReturnType<typeof createSlots>
