import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createRefusals } from './refusals.ts'

const start = new Date('2026-01-01T00:00:00Z')

test('an address closes its connections and waits beyond 1,000 refusals at once and 20 a second; another address does not', () => {
  const clock = createManualClock(start)
  const refusals = createRefusals(clock)
  const count = (times: number, ip: string) =>
    Array.from({ length: times }, () => refusals.count(new Socket(), ip)).filter(
      ({ isLast, delayMs }) => isLast && delayMs > 0,
    ).length
  assert.equal(count(1005, '192.0.2.1'), 5)
  assert.equal(count(1000, '192.0.2.2'), 0)
  clock.advance(1000)
  assert.equal(count(25, '192.0.2.1'), 5)
})

test('a connection closes with its 100th refusal', () => {
  const refusals = createRefusals(createManualClock(start))
  const socket = new Socket()
  const closed = Array.from({ length: 101 }, (_, index) => refusals.count(socket, `192.0.2.${index}`).isLast)
  assert.deepEqual([closed.indexOf(true), closed.lastIndexOf(false)], [99, 98])
})
