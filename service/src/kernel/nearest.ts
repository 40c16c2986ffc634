/** Finds the name that a mistyped name was meant to be. */

/** Maximum number of typing errors. Short names allow fewer, because two errors could turn one name into another. */
const slipsMax = 2

/**
 * Finds the name with the fewest typing errors: at most two, and fewer than half of its letters. Undefined: no name is
 * close enough.
 */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, slips: editDistance(typed, name) }))
    .filter(({ name, slips }) => slips <= slipsMax && slips * 2 < name.length)
    .toSorted((a, b) => a.slips - b.slips)
  return best?.name
}

/** Computes the Damerau-Levenshtein distance: letters that are added, missing, changed, or swapped with the next letter. */
export function editDistance(typed: string, name: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: name.length + 1 }, (_value, index) => index)
  for (let at = 1; at <= typed.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= name.length; to += 1) {
      const changed = (row[to - 1] ?? 0) + (typed[at - 1] === name[to - 1] ? 0 : 1)
      const isSwapped = at > 1 && to > 1 && typed[at - 1] === name[to - 2] && typed[at - 2] === name[to - 1]
      const swapped = isSwapped ? (before[to - 2] ?? 0) + 1 : changed
      next.push(Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, changed, swapped))
    }
    before = row
    row = next
  }
  return row[name.length] ?? 0
}
