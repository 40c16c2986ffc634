import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reference, singleLinePattern, timestampPattern } from './shapes.ts'

const line = new RegExp(singleLinePattern, 'u')

test('a single line has a visible character and no control character', () => {
  for (const text of ['a', ' a ', 'Größe 10', '\u00a0x', '😀', 'a\u3000', 'שלום\u200f', 'a\u200bb'])
    assert.ok(line.test(text), JSON.stringify(text))
  for (const text of [
    '',
    ' ',
    '\u00a0\u2003\ufeff',
    '\u200b',
    'a\nb',
    '\ta',
    'a\u0000',
    'a\u007f',
    '\r',
    'a\u0085b',
    'a\u2028b',
    'a\u202eb',
    'a\u2066b',
  ])
    assert.ok(!line.test(text), JSON.stringify(text))
})

test('a reference is a single line other than "." and "..", which no URL can name', () => {
  const reference = new RegExp((Reference as unknown as { readonly pattern: string }).pattern, 'u')
  for (const text of ['...', '.a', 'a.', '. .', 'INV-1', ' .']) assert.ok(reference.test(text), JSON.stringify(text))
  for (const text of ['.', '..', '', ' ', 'a\nb']) assert.ok(!reference.test(text), JSON.stringify(text))
})

test('an invalid line of the maximum body size is refused in linear time', () => {
  // The maximum body size. A pattern with overlapping parts takes a minute here and blocks the event loop.
  for (const text of [`${'a'.repeat(262_144)}\u0001`, `${' '.repeat(262_144)}\u0001`, ' a'.repeat(131_072) + '\n']) {
    const started = performance.now()
    assert.ok(!line.test(text))
    assert.ok(performance.now() - started < 1000)
  }
})

test('the timestamp pattern refuses year 0, which PostgreSQL cannot store', () => {
  const timestamp = new RegExp(timestampPattern, 'u')
  assert.ok(timestamp.test('0001-01-01T00:00:00.000Z'))
  assert.ok(!timestamp.test('0000-01-01T00:00:00.000Z'))
})
