import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from './log.ts'
import { startLoop } from './loop.ts'

const log = createLog('silent')
const longMs = 60_000

/** A loop whose steps the test completes one by one. */
function stepped(idleMs: number) {
  const gates: ((processed: number) => void)[] = []
  const arrivals: (() => void)[] = []
  const loop = startLoop({
    name: 'test',
    idleMs,
    log,
    step: () =>
      new Promise<number>((resolve) => {
        gates.push(resolve)
        arrivals.shift()?.()
      }),
  })
  const arrival = () => (gates.length > 0 ? Promise.resolve() : new Promise<void>((resolve) => arrivals.push(resolve)))
  const next = async (processed: number) => {
    await arrival()
    gates.shift()?.(processed)
  }
  return { loop, next, arrival }
}

test('does not rest while there is work; a wake ends the rest, also if it came before the rest began', async () => {
  const { loop, next, arrival } = stepped(longMs)
  await next(1)
  await next(1)
  await arrival()
  loop.wake()
  await next(0)
  await next(0)
  loop.wake()
  await arrival()
  const stopped = loop.stop()
  await next(1)
  await stopped
})

test('stop waits for the current step, and no further step begins', async () => {
  const { loop, next, arrival } = stepped(longMs)
  await arrival()
  let ended = false
  const stopped = loop.stop().then(() => (ended = true))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ended, false)
  await next(1)
  await stopped
})

test('the loop goes on after a failed step', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let steps = 0
  const again = Promise.withResolvers<undefined>()
  const loop = startLoop({
    name: 'test',
    idleMs: longMs,
    log,
    step: () => {
      steps += 1
      if (steps === 1) return Promise.reject(new Error('the database is unreachable'))
      again.resolve(undefined)
      return Promise.resolve(0)
    },
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(steps, 1, 'the loop rests before the next try')
  t.mock.timers.tick(1000)
  await again.promise
  await loop.stop()
})
