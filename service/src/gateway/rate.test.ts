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

test('several tokens are taken together or not at all, and Retry-After says when there are enough', () => {
  const limiter = createRateLimiter({
    clock: createManualClock(new Date('2026-01-01T00:00:00Z')),
    perSecond: 10,
    burst: 100,
  })
  limiter.take(caller, 70)
  assert.throws(
    () => limiter.take(caller, 50),
    (error) => limited(error) && (error as Refusal).headers['retry-after'] === '2',
  )
  limiter.take(caller, 30)
  assert.equal(limiter.tryTake(caller), false)
})
