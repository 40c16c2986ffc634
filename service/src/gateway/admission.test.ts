import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../api/index.ts'
import { createCapacity } from './admission.ts'

const overloaded = (error: unknown) =>
  error instanceof Refusal && error.code === 'overloaded' && error.headers['retry-after'] === '1'

test('as many as allowed are inside, and each place is given back once', () => {
  const { enter, isFull } = createCapacity(2)
  const [first, second] = [enter(), enter()]
  assert.throws(enter, overloaded)
  assert.ok(isFull())
  first()
  first()
  const third = enter()
  assert.throws(enter, overloaded, 'a place that is given back twice is one place')
  second()
  third()
  assert.ok(!isFull())
  enter()
  enter()
  assert.throws(enter, overloaded)
})
