/** Random numbers that a seed determines. */
export type Random = {
  /** Returns a whole number below `below`. */
  readonly number: (below: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(list: readonly T[]) => T
  readonly shuffled: <T>(list: readonly T[]) => readonly T[]
}

/** Mulberry32: one word of state, so that a seed names a run. */
export function createRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const number = (below: number) => Math.floor(next() * below)
  return {
    number,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]) => list[number(list.length)] as T,
    shuffled: (list) =>
      list
        .map((item) => [next(), item] as const)
        .toSorted(([one], [other]) => one - other)
        .map(([, item]) => item),
  }
}
