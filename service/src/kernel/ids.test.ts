import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { derivedTimeId, idAfter, newId, randomFraction, randomText, timedText, randomToken } from './ids.ts'

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids sort in creation order, also many within a millisecond', () => {
  const ids = Array.from({ length: 20_000 }, newId)
  for (const id of ids) assert.match(id, v7)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('an id begins with its creation time', () => {
  const before = Date.now()
  const ms = Number.parseInt(newId().replace('-', '').slice(0, 12), 16)
  // When the counter of a millisecond is used up, the next milliseconds are used.
  assert.ok(ms >= before && ms < before + 1000, `${ms - before}`)
})

test('the ids behind an id are its neighbours, and those of the next id are others', () => {
  const [first, second] = [newId(), newId()]
  const ids = Array.from({ length: 100 }, (_, steps) => idAfter(first, steps))
  assert.equal(ids[0], first)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(idAfter(first, 99) < second)
  assert.equal(idAfter('01980000-0000-7000-8000-ffffffffffff', 1), '01980000-0000-7000-8001-000000000000')
})

test('equal inputs give the same derived id, and different inputs different ids', () => {
  const timeId = newId()
  fc.assert(
    fc.property(fc.array(fc.uuid(), { minLength: 1 }), fc.array(fc.uuid(), { minLength: 1 }), (names, others) => {
      const id = derivedTimeId(timeId, ...names)
      assert.match(id, v7)
      assert.equal(id.slice(0, 13), timeId.slice(0, 13), 'the time is that of the given id')
      assert.equal(id === derivedTimeId(timeId, ...others), names.join() === others.join())
    }),
  )
  assert.notEqual(derivedTimeId(timeId, 'a', 'bc'), derivedTimeId(timeId, 'ab', 'c'))
})

test('random text is of the reduced alphabet; tokens are 256 bits, URL-safe; fractions lie in [0, 1)', () => {
  assert.match(randomText(1000), /^[0-9a-hjkmnp-tv-z]{1000}$/)
  assert.match(randomToken(), /^[A-Za-z0-9_-]{43}$/)
  assert.notEqual(randomToken(), randomToken())
  for (let i = 0; i < 1000; i += 1) {
    const fraction = randomFraction()
    assert.ok(fraction >= 0 && fraction < 1)
  }
})

test('a timed text sorts by its time, and two of the same millisecond differ', () => {
  const texts = Array.from({ length: 2000 }, () => timedText(12))
  assert.equal(new Set(texts).size, texts.length)
  for (const text of texts) assert.match(text, /^[0-9a-hjkmnp-tv-z]{22}$/)
  const times = texts.map((text) => text.slice(0, 10))
  assert.deepEqual(times, times.toSorted())
})
