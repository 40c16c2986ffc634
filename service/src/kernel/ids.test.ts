import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { derivedId, newId, randomFraction, randomText, timedText, randomToken } from './ids.ts'

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const v8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids sort in the order of their making, also many within a millisecond', () => {
  const ids = Array.from({ length: 20_000 }, newId)
  for (const id of ids) assert.match(id, v7)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('an id begins with the time of its making', () => {
  const before = Date.now()
  const ms = Number.parseInt(newId().replace('-', '').slice(0, 12), 16)
  // The counter of a busy millisecond may have borrowed from the next ones.
  assert.ok(ms >= before && ms < before + 1000, `${ms - before}`)
})

test('a derived id is the same for the same names, another for others, and not moved by where they are parted', () => {
  fc.assert(
    fc.property(fc.array(fc.uuid(), { minLength: 1 }), fc.array(fc.uuid(), { minLength: 1 }), (names, others) => {
      assert.match(derivedId(...names), v8)
      assert.equal(derivedId(...names) === derivedId(...others), names.join() === others.join())
    }),
  )
  assert.notEqual(derivedId('a', 'bc'), derivedId('ab', 'c'))
})

test('random text is of the telephone alphabet; tokens are 256 bits, URL-safe; fractions lie in [0, 1)', () => {
  assert.match(randomText(1000), /^[0-9a-hjkmnp-tv-z]{1000}$/)
  assert.match(randomToken(), /^[A-Za-z0-9_-]{43}$/)
  assert.notEqual(randomToken(), randomToken())
  for (let i = 0; i < 1000; i += 1) {
    const fraction = randomFraction()
    assert.ok(fraction >= 0 && fraction < 1)
  }
})

test('a timed text sorts by its time, and two of one moment differ', () => {
  const texts = Array.from({ length: 2000 }, () => timedText(12))
  assert.equal(new Set(texts).size, texts.length)
  for (const text of texts) assert.match(text, /^[0-9a-hjkmnp-tv-z]{22}$/)
  const times = texts.map((text) => text.slice(0, 10))
  assert.deepEqual(times, times.toSorted())
})
