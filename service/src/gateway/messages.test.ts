import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { inBatches } from './messages.ts'

test('what is said in one turn travels together, in its order', async () => {
  const posted: (readonly number[])[] = []
  const say = inBatches<number>((messages) => posted.push(messages))
  for (const number of [1, 2, 3]) say(number)
  assert.deepEqual(posted, [])
  await turn()
  assert.deepEqual(posted, [[1, 2, 3]])
  say(4)
  await turn()
  assert.deepEqual(posted, [[1, 2, 3], [4]])
})

test('many do not wait for the end of the turn, and none is said twice or lost', async () => {
  const posted: (readonly number[])[] = []
  const say = inBatches<number>((messages) => posted.push(messages))
  const numbers = Array.from({ length: 100 }, (_, index) => index)
  for (const number of numbers) say(number)
  assert.ok(posted.length > 1, 'some have gone')
  await turn()
  await turn()
  assert.deepEqual(posted.flat(), numbers)
})
