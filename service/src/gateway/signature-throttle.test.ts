import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './signature-throttle.ts'

/** What has come when a turn of the event loop has ended. */
const turnEnds = () => new Promise((resolve) => void setImmediate(resolve))

test('whoever comes together enters by few a turn, in order, and nobody is left', async () => {
  const turn = createTurns(2)
  const entered: number[] = []
  for (let n = 0; n < 5; n += 1) void turn().then(() => entered.push(n))
  const seen: number[] = []
  for (let n = 0; n < 4; n += 1) {
    await turnEnds()
    seen.push(entered.length)
  }
  assert.deepEqual(seen, [2, 4, 5, 5])
  assert.deepEqual(entered, [0, 1, 2, 3, 4])
})

test('one who comes while others wait is behind them, and one who comes later does not wait for anybody', async () => {
  const turn = createTurns(1)
  const entered: string[] = []
  const come = (name: string) => turn().then(() => entered.push(name))
  const [first, second] = [come('first'), come('second')]
  await first
  await Promise.all([come('third'), second])
  assert.deepEqual(entered, ['first', 'second', 'third'])
  await come('late')
  assert.equal(entered.at(-1), 'late')
})
