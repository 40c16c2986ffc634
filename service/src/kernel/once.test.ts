import assert from 'node:assert/strict'
import { test } from 'node:test'
import { once } from './once.ts'

test('calls share one value, and a failure is tried again', async () => {
  let calls = 0
  const read = once(async () => {
    calls += 1
    if (calls === 1) throw new Error('too many open files')
    return { calls }
  })
  const failed = await Promise.allSettled([read(), read()])
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  const [one, other] = await Promise.all([read(), read()])
  assert.equal(one, other)
  assert.equal(await read(), one)
  assert.equal(calls, 2)
})
