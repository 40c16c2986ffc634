import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { hourMs, newId, secondMs } from '../../kernel/index.ts'
import { createAddressLimiter, createRateLimiter, networkOf } from './rate.ts'

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

test('a full table forgets who was away longest, and no other', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const { tryTake } = createRateLimiter({ clock, perSecond: 1, burst: 1 })
  const crowd = (from: number, count: number) => {
    for (let index = from; index < from + count; index += 1) assert.ok(tryTake(`name ${index}`))
  }
  assert.ok(tryTake('first'))
  crowd(0, 60_000)
  assert.equal(tryTake('first'), false)
  crowd(60_000, 60_000)
  assert.equal(tryTake('first'), false, 'the bucket was used after most others')
  assert.equal(tryTake('name 119999'), false)
  assert.ok(tryTake('name 0'), 'the oldest is forgotten')
})

test('an IPv6 client is counted by its /64, in every spelling, and an IPv4 client by its address', () => {
  for (const [ip, name] of [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
    ['not:an:address', 'not:an:address'],
  ] as const)
    assert.equal(networkOf(ip), name, ip)
  const limiter = createAddressLimiter({
    clock: createManualClock(new Date('2026-01-01T00:00:00Z')),
    perSecond: 1,
    burst: 1,
  })
  limiter.take('2001:db8:1:2::1')
  assert.throws(() => limiter.take('2001:db8:1:2:ffff::1'), limited)
  assert.equal(limiter.tryTake('2001:db8:1:2::2'), false)
  limiter.take('2001:db8:1:3::1')
})
