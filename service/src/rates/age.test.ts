import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourMs } from '../kernel/index.ts'
import { ageMs } from './age.ts'

const hours = (from: string, to: string, publishes: 'always' | 'target_days' = 'target_days') =>
  ageMs(new Date(`${from}:00Z`), new Date(`${to}:00Z`), publishes) / hourMs

test('the days on which the ECB publishes no rates do not make a sheet older', () => {
  // Friday to Monday.
  assert.equal(hours('2026-11-20T14:00', '2026-11-23T14:00'), 24)
  // Maundy Thursday to the Tuesday behind Easter, in three years.
  assert.equal(hours('2026-04-02T14:00', '2026-04-07T14:00'), 24)
  assert.equal(hours('2027-03-25T14:00', '2027-03-30T14:00'), 24)
  assert.equal(hours('2025-04-17T14:00', '2025-04-22T14:00'), 24)
  // 24 December to 29 December: Christmas, and a weekend.
  assert.equal(hours('2025-12-24T14:00', '2025-12-29T14:00'), 24)
  assert.equal(hours('2025-12-31T14:00', '2026-01-02T14:00'), 24)
  assert.equal(hours('2026-04-30T14:00', '2026-05-04T14:00'), 24)
  // Whit Monday is an ordinary day.
  assert.equal(hours('2026-05-22T14:00', '2026-05-25T14:00'), 24)
})

test('every other day counts, and part of a day', () => {
  assert.equal(hours('2026-11-17T14:00', '2026-11-18T20:00'), 30)
  assert.equal(hours('2026-11-17T14:00', '2026-11-17T14:30'), 0.5)
  assert.equal(hours('2026-11-20T23:00', '2026-11-21T05:00'), 1)
  assert.equal(hours('2026-11-20T14:00', '2026-11-23T14:00', 'always'), 72)
})

test('a sheet of the future has no age, and one of long ago its whole age', () => {
  assert.equal(hours('2026-11-17T15:00', '2026-11-17T14:00'), 0)
  assert.equal(hours('1970-01-01T00:00', '1980-01-01T00:00'), 3652 * 24)
})
