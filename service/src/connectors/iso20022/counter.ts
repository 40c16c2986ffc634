/**
 * Counts how often each key of a message has occurred, so that equal entries have numbers. A message may have millions of entries,
 * so it holds 64 bits of a digest and a count for each key instead of its text: 24 bytes an entry at most.
 */
import { hash } from 'node:crypto'

const slotsMin = 1 << 10
/** Above this load a table with open addressing becomes slow. */
const fullest = 0.7

type Table = { readonly high: Uint32Array; readonly low: Uint32Array; readonly counts: Uint32Array }
const tableOf = (slots: number): Table => ({
  high: new Uint32Array(slots),
  low: new Uint32Array(slots),
  counts: new Uint32Array(slots),
})

/** The place of a key, or the free one where it belongs. */
function slotOf({ high, low, counts }: Table, first: number, second: number): number {
  const mask = counts.length - 1
  let slot = second & mask
  while (counts[slot] !== 0 && (high[slot] !== first || low[slot] !== second)) slot = (slot + 1) & mask
  return slot
}

export function createCounter(): (key: string) => number {
  let table = tableOf(slotsMin)
  let held = 0
  const grow = () => {
    const { high, low, counts } = table
    const larger = tableOf(counts.length * 2)
    counts.forEach((count, at) => {
      if (count === 0) return
      const slot = slotOf(larger, high[at] ?? 0, low[at] ?? 0)
      larger.high[slot] = high[at] ?? 0
      larger.low[slot] = low[at] ?? 0
      larger.counts[slot] = count
    })
    table = larger
  }
  /** Returns 1 for the first time. */
  return (key) => {
    const digest = hash('sha1', key, 'buffer')
    const first = digest.readUInt32BE(0)
    const second = digest.readUInt32BE(4)
    if (held > table.counts.length * fullest) grow()
    const slot = slotOf(table, first, second)
    if (table.counts[slot] === 0) held += 1
    table.high[slot] = first
    table.low[slot] = second
    const count = (table.counts[slot] ?? 0) + 1
    table.counts[slot] = count
    return count
  }
}
