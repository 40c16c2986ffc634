import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linePattern, timestampPattern } from './shapes.ts'

const line = new RegExp(linePattern, 'u')

test('a line has something to read and no control character', () => {
  for (const text of ['a', ' a ', 'Größe 10', '\u00a0x', '😀', 'a\u3000'])
    assert.ok(line.test(text), JSON.stringify(text))
  for (const text of ['', ' ', '\u00a0\u2003\ufeff', 'a\nb', '\ta', 'a\u0000', 'a\u007f', '\r'])
    assert.ok(!line.test(text), JSON.stringify(text))
})

test('a hostile line is refused in the time that reading it takes', () => {
  // The size of a whole body. A pattern whose parts overlap needs a minute here, and nobody else is served meanwhile.
  for (const text of [`${'a'.repeat(262_144)}\u0001`, `${' '.repeat(262_144)}\u0001`, ' a'.repeat(131_072) + '\n']) {
    const started = performance.now()
    assert.ok(!line.test(text))
    assert.ok(performance.now() - started < 1000)
  }
})

test('no timestamp is let through that the database cannot read', () => {
  const timestamp = new RegExp(timestampPattern, 'u')
  assert.ok(timestamp.test('0001-01-01T00:00:00.000Z'))
  assert.ok(!timestamp.test('0000-01-01T00:00:00.000Z'))
})
