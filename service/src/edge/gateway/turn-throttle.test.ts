import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurnThrottle } from './turn-throttle.ts'

const turnOfEventLoop = () => new Promise((resolve) => void setImmediate(resolve))

test('calls that arrive together proceed in order, a limited number in each turn of the event loop', async () => {
  const throttle = createTurnThrottle(2)
  const entered: number[] = []
  for (let n = 0; n < 5; n += 1) void throttle().then(() => entered.push(n))
  const seen: number[] = []
  for (let n = 0; n < 4; n += 1) {
    await turnOfEventLoop()
    seen.push(entered.length)
  }
  assert.deepEqual(seen, [2, 4, 5, 5])
  assert.deepEqual(entered, [0, 1, 2, 3, 4])
})

test('a call waits behind the calls before it, and proceeds at once when none waits', async () => {
  const throttle = createTurnThrottle(1)
  const entered: string[] = []
  const enter = (name: string) => throttle().then(() => entered.push(name))
  const [first, second] = [enter('first'), enter('second')]
  await first
  await Promise.all([enter('third'), second])
  assert.deepEqual(entered, ['first', 'second', 'third'])
  await enter('late')
  assert.equal(entered.at(-1), 'late')
})
