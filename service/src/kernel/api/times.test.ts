import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionFailure } from '../index.ts'
import { readTime } from './index.ts'

test('every form of an RFC 3339 UTC time is read to the millisecond', () => {
  const cases = [
    { text: '2026-11-22T09:30:00Z', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00+00:00', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00-00:00', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22t09:30:00z', read: '2026-11-22T09:30:00.000Z' },
    { text: '2026-11-22T09:30:00.5Z', read: '2026-11-22T09:30:00.500Z' },
    { text: '2026-11-22T09:30:00.123456+00:00', read: '2026-11-22T09:30:00.123Z' },
    { text: '2026-11-22T09:30:00.999999999Z', read: '2026-11-22T09:30:00.999Z' },
    { text: `2026-11-22T09:30:00.${'7'.repeat(40)}Z`, read: '2026-11-22T09:30:00.777Z' },
    { text: '0001-01-01T00:00:00Z', read: '0001-01-01T00:00:00.000Z' },
    { text: '9999-12-31T23:59:59.999Z', read: '9999-12-31T23:59:59.999Z' },
  ]
  for (const { text, read } of cases) assert.equal(readTime(text).toISOString(), read, text)
})

test('a text that has not passed the schema is a bug of the caller', () => {
  for (const text of ['', 'yesterday', '2026-11-22', '2026-13-01T00:00:00Z'])
    assert.throws(() => readTime(text), AssertionFailure)
})
