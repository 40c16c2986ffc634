/** The last day on which an ordinary transfer can be sent to arrive in time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastDayToSend } from './deadline.ts'

const now = new Date('2026-11-30T09:00:00Z') // a Monday

const cases = [
  ['an hour: no ordinary transfer', '2026-11-30T10:00:00Z', undefined],
  ['until the next day: no ordinary transfer', '2026-12-01T09:00:00Z', undefined],
  ['until Wednesday: today, and it arrives on Tuesday', '2026-12-02T09:00:00Z', '2026-11-30'],
  ['until Monday: Thursday, and it arrives on Friday', '2026-12-07T09:00:00Z', '2026-12-03'],
  ['over Christmas, on which TARGET is closed', '2026-12-28T09:00:00Z', '2026-12-23'],
  ['half an hour after midnight in Brussels is the next day', '2026-12-02T23:30:00Z', '2026-12-01'],
] as const

for (const [title, expiresAt, day] of cases)
  test(title, () => assert.equal(lastDayToSend(new Date(expiresAt), now), day))

test('on a Saturday, a deadline on Monday is too early for an ordinary transfer', () => {
  const saturday = new Date('2026-12-05T09:00:00Z')
  assert.equal(lastDayToSend(new Date('2026-12-07T09:00:00Z'), saturday), undefined)
  assert.equal(lastDayToSend(new Date('2026-12-09T09:00:00Z'), saturday), '2026-12-07')
})
