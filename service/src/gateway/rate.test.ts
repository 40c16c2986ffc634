import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, Refusal } from '../api/index.ts'
import { createManualClock, hourMs, newId, secondMs } from '../kernel/index.ts'
import { createRateLimiter } from './rate.ts'

const caller: Caller = { partnerId: newId(), serviceAccountId: newId(), name: 'Till', permissions: [] }
const limited = (error: unknown) => error instanceof Refusal && error.code === 'rate_limited'

test('a burst is spent, and comes back with time', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const { spend } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  spend(caller)
  spend(caller)
  assert.throws(() => spend(caller), limited)
  clock.advance(secondMs)
  spend(caller)
  assert.throws(() => spend(caller), limited)
})

test('a clock that is set back does not lock anybody out', () => {
  const clock = createManualClock(new Date('2026-01-01T12:00:00Z'))
  const { spend } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  spend(caller)
  clock.advance(-hourMs)
  spend(caller)
  assert.throws(() => spend(caller), limited)
  clock.advance(secondMs)
  spend(caller)
})
