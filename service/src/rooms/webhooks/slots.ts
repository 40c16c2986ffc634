/**
 * Pure: the attempts that a process may have under way, shared among partners. A partner has at most so many times what
 * is still free: one alone has two thirds of all, three have two sevenths each, and there is always room for one more
 * partner. A lane with nothing under way may have its first, since a slow endpoint must not cost its partner the others.
 */
const shareOfFree = 2

export function createSlots(max: number) {
  const taken = new Map<string, number>()
  let total = 0
  return {
    taken: () => total,
    free: () => max - total,
    isFor: (partnerId: string, inLane: number): boolean =>
      max > total && (inLane === 0 || (taken.get(partnerId) ?? 0) < (max - total) * shareOfFree),
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
