import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../api/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { hourMs, newId, secondMs } from '../kernel/index.ts'
import { createRateLimiter } from './rate.ts'

const caller = newId()
const limited = (error: unknown) => error instanceof Refusal && error.code === 'rate_limited'

test('refuses after the burst, and refills with time', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const { take } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  take(caller)
  take(caller)
  assert.throws(() => take(caller), limited)
  clock.advance(secondMs)
  take(caller)
  assert.throws(() => take(caller), limited)
})

test('a clock that is set back takes no tokens away', () => {
  const clock = createManualClock(new Date('2026-01-01T12:00:00Z'))
  const { take } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  take(caller)
  clock.advance(-hourMs)
  take(caller)
  assert.throws(() => take(caller), limited)
  clock.advance(secondMs)
  take(caller)
})
