import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, dayMs, minuteMs, secondMs } from '../../kernel/index.ts'
import { createWindow, type Health, healthy, nextHealth, type HealthChange } from './health.ts'
import { limitsDefault } from '../limits.ts'
import type { Verdict } from './schedule.ts'

/** An endpoint with a clock of its own. */
function endpoint(start: Health = healthy) {
  const window = createWindow()
  let now = new Date('2026-01-01T00:00:00.000Z')
  let health = start
  return {
    health: () => health,
    now: () => now,
    wait: (ms: number) => {
      now = after(now, ms)
    },
    attempt: (verdict: Verdict, more: { isProbe?: boolean; restMs?: number } = {}): HealthChange => {
      const learned = { verdict, isProbe: more.isProbe ?? false, restMs: more.restMs ?? 0, now, fraction: 0 }
      const outcome = nextHealth(health, window, learned, limitsDefault)
      health = outcome.health
      return outcome
    },
  }
}
const pauseMs = (one: ReturnType<typeof endpoint>) => (one.health().pausedUntil?.getTime() ?? 0) - one.now().getTime()

test('ten consecutive failures open the breaker, nine do not; each counts in the retry schedule', () => {
  const one = endpoint()
  for (let i = 0; i < 9; i += 1) assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.equal(one.health().probeMs, null)
  assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.deepEqual([one.health().probeMs, pauseMs(one)], [30 * secondMs, 30 * secondMs])
})

test('seven failures of ten attempts within five minutes open the breaker; older ones do not count', () => {
  const mixed: Verdict[] = ['failed', 'failed', 'delivered', 'failed', 'failed', 'delivered', 'failed', 'failed']
  const one = endpoint()
  for (const verdict of [...mixed, 'delivered', 'failed'] as const) one.attempt(verdict)
  assert.ok(one.health().probeMs !== null)
  const slow = endpoint()
  for (const verdict of [...mixed, 'delivered', 'failed'] as const) {
    slow.attempt(verdict)
    slow.wait(minuteMs)
  }
  assert.equal(slow.health().probeMs, null)
})

test('a failed probe does not count in the retry schedule and doubles the pause, up to 15 minutes', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  const waits: number[] = []
  for (let i = 0; i < 7; i += 1) {
    one.wait(pauseMs(one))
    assert.equal(one.attempt('failed', { isProbe: true }).countsAsFailure, false)
    waits.push(pauseMs(one) / secondMs)
  }
  assert.deepEqual(waits, [60, 120, 240, 480, 900, 900, 900])
})

test('an attempt that was in flight when the breaker opened does not change the probe', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  const { probeMs, pausedUntil } = one.health()
  one.wait(secondMs)
  assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.deepEqual([one.health().probeMs, one.health().pausedUntil], [probeMs, pausedUntil])
})

test('a success closes the breaker; the slow start allows one more attempt after each success, up to the limit', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  one.wait(pauseMs(one))
  const allowed: (number | null)[] = []
  for (let i = 0; i < 10; i += 1) {
    one.attempt('delivered', { isProbe: i === 0 })
    allowed.push(one.health().slowStart)
  }
  assert.deepEqual(allowed, [2, 3, 4, 5, 6, 7, 8, 9, null, null])
  assert.deepEqual(one.health(), healthy)
})

test('a rest counts neither in the retry schedule nor for the breaker, but the endpoint is failing', () => {
  const one = endpoint()
  for (let i = 0; i < 20; i += 1) assert.equal(one.attempt('rested', { restMs: minuteMs }).countsAsFailure, false)
  assert.deepEqual([one.health().probeMs, pauseMs(one)], [null, minuteMs])
  assert.deepEqual(one.health().failingSince, one.now())
  // A shorter Retry-After does not shorten the present rest.
  one.attempt('rested', { restMs: secondMs })
  assert.equal(pauseMs(one), minuteMs)
})

test('failures: one alert after a day and one after three, disabled after five; a success starts over', () => {
  const one = endpoint()
  const alerts: (string | undefined)[] = []
  for (let hour = 0; hour <= 120; hour += 6) {
    const { alert, disable } = one.attempt('failed')
    if (alert ?? disable) alerts.push(`${hour} ${alert ?? disable}`)
    one.wait(dayMs / 4)
  }
  assert.deepEqual(alerts, ['24 Failing24h', '72 Failing72h', '120 Failing'])
  one.attempt('delivered')
  assert.deepEqual([one.health().failingSince, one.health().lastAlert], [null, null])
  const late = endpoint()
  late.attempt('failed')
  late.wait(4 * dayMs)
  assert.equal(
    late.attempt('failed').alert,
    'Failing72h',
    'without an attempt at the first step there is only the second alert',
  )
})

test('410 disables the subscription at once', () => {
  assert.equal(endpoint().attempt('gone').disable, 'Gone')
})
