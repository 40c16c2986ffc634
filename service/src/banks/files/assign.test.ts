import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assign, makeRoom, type Pair } from './assign.ts'

/** Reads pairs in the form `booking-entry verdict points`. */
const pairsOf = (...texts: readonly string[]): readonly Pair<string, string>[] =>
  texts
    .map((text) => {
      const [, booking = '', row = '', verdict = '', points = ''] = /^(\w+)-(\w+) (\w+) (\d+)$/.exec(text) ?? []
      return { booking, row, verdict: verdict as 'same', points: Number(points) }
    })
    .toSorted((a, b) => b.points - a.points)

function run(pairs: readonly Pair<string, string>[]) {
  const payments = new Map<string, string>()
  const open = new Set(pairs.map(({ row }) => row))
  assign(pairs, { payments, open }, ['strong', 'same'])
  const doubts = makeRoom(pairs, { payments, open })
  return { payments: Object.fromEntries([...payments].toSorted()), doubts: Object.fromEntries(doubts), open: [...open] }
}

test('a booking that says little leaves the entry that only another one fits', () => {
  assert.deepEqual(run(pairsOf('little-A same 90', 'little-B same 90', 'text-A same 55')), {
    payments: { little: 'B', text: 'A' },
    doubts: {},
    open: [],
  })
})

test('a booking that is perhaps an entry keeps it as a doubt, while the one that is the same moves', () => {
  assert.deepEqual(run(pairsOf('little-A same 90', 'little-B same 90', 'text-A maybe 45')), {
    payments: { little: 'B' },
    doubts: { text: 'A' },
    open: ['A'],
  })
})

test('bookings move in a chain', () => {
  const pairs = pairsOf('p-A same 90', 'p-B same 80', 'q-B same 85', 'q-C same 60', 'r-A same 55')
  assert.deepEqual(run(pairs).payments, { p: 'B', q: 'C', r: 'A' })
})

test('an entry that was left over because its booking was perhaps another one is a doubt of the next booking', () => {
  const { payments, doubts } = run(pairsOf('p-A same 90', 'p-B maybe 20', 'q-A same 55'))
  assert.deepEqual([payments, doubts], [{ p: 'A' }, { q: 'B' }])
})

test('a booking that a reference names does not move, and one without any entry is new', () => {
  const { payments, doubts } = run(pairsOf('p-A strong 200', 'p-B same 80', 'q-A same 55'))
  assert.deepEqual([payments, doubts], [{ p: 'A' }, {}])
  assert.deepEqual(run(pairsOf('p-A same 90', 'q-A same 55')).doubts, {})
})

test('of drawn pairs as many bookings get an entry as can, each entry once', () => {
  const drawn = fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.nat(100)), { maxLength: 16 })
  fc.assert(
    fc.property(drawn, (list) => {
      const unique = [...new Map(list.map((one) => [`${one[0]}-${one[1]}`, one])).values()]
      const pairs = pairsOf(...unique.map(([booking, row, points]) => `b${booking}-r${row} same ${points}`))
      const { payments, doubts } = run(pairs)
      const rows = Object.values(payments)
      assert.equal(new Set(rows).size, rows.length)
      assert.deepEqual(doubts, {})
      assert.equal(rows.length, mostOf(pairs, new Set()))
    }),
  )
})

/** The largest number of bookings that get an entry, found by trying everything. */
function mostOf(pairs: readonly Pair<string, string>[], taken: ReadonlySet<string>): number {
  const [booking] = pairs.map((pair) => pair.booking)
  if (booking === undefined) return 0
  const others = pairs.filter((pair) => pair.booking !== booking)
  const own = pairs.filter((pair) => pair.booking === booking && !taken.has(pair.row))
  return Math.max(mostOf(others, taken), ...own.map(({ row }) => 1 + mostOf(others, new Set([...taken, row]))))
}
