import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourMs } from '../../kernel/index.ts'
import { jitterMax, limitsOfOperator, readLimits, retryDelaysMsDefault } from '../limits.ts'
import { nextAfterFailure, retryAfterMs, verdictOf } from './schedule.ts'

test('only a complete 2xx is success', () => {
  assert.equal(verdictOf({ status: 204 }), 'delivered')
  assert.equal(verdictOf({ status: 200, error: 'cut off' }), 'failed')
  assert.equal(verdictOf({ error: 'refused' }), 'failed')
  for (const status of [301, 302, 304, 400, 429, 500, 503]) assert.equal(verdictOf({ status }), 'failed')
  assert.equal(verdictOf({ status: 410 }), 'gone')
})

test('only 429 and 503 can ask for a rest', () => {
  assert.deepEqual(
    [200, 410, 429, 500, 503].map((status) => verdictOf({ status }, 1000)),
    ['delivered', 'gone', 'rested', 'failed', 'rested'],
  )
})

test('the schedule has eleven pauses with up to a fifth added; then the delivery is held', () => {
  const now = new Date('2026-01-01T00:00:00.000Z')
  retryDelaysMsDefault.forEach((delayMs, failures) => {
    const early = nextAfterFailure(failures, now, 0, retryDelaysMsDefault)
    const late = nextAfterFailure(failures, now, 0.999_999, retryDelaysMsDefault)
    assert.equal(early.dueAt?.getTime(), now.getTime() + delayMs)
    const added = (late.dueAt?.getTime() ?? 0) - now.getTime() - delayMs
    assert.ok(added > delayMs * 0.19 && added <= delayMs * jitterMax)
  })
  assert.deepEqual(nextAfterFailure(11, now, 0, retryDelaysMsDefault), { status: 'Held', dueAt: null, failures: 12 })
  const hours = retryDelaysMsDefault.reduce((sum, ms) => sum + ms, 0) / hourMs
  assert.ok(hours > 70 && hours < 72)
})

test('Retry-After is read as seconds or a date, an hour at most; other texts are ignored', () => {
  const now = new Date('2026-01-01T00:00:00.000Z')
  const read = (text: string | undefined) => retryAfterMs(text, now, hourMs)
  assert.equal(read('120'), 120_000)
  assert.equal(read('Thu, 01 Jan 2026 00:02:00 GMT'), 120_000)
  assert.equal(read('999999999'), hourMs)
  for (const text of [undefined, '', '-5', '1.5', 'soon', 'Mon, nonsense', 'Wed, 31 Dec 2025 23:00:00 GMT'])
    assert.equal(read(text), 0)
})

test('a limit that is not a positive whole number is refused', () => {
  assert.equal(readLimits({ inFlightMax: 7 }).inFlightMax, 7)
  for (const name of limitsOfOperator)
    for (const value of [0, -1, 1.5, NaN]) assert.throws(() => readLimits({ [name]: value }), new RegExp(name))
})
