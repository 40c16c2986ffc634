import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { createAdmissionControl } from './admission.ts'

const overloaded = (error: unknown) =>
  error instanceof Refusal && error.code === 'overloaded' && error.headers['retry-after'] === '1'

test('admits up to the maximum, and a second release of one request has no effect', () => {
  const { admit, isFull } = createAdmissionControl(2)
  const [releaseFirst, releaseSecond] = [admit(), admit()]
  assert.throws(admit, overloaded)
  assert.ok(isFull())
  releaseFirst()
  releaseFirst()
  const releaseThird = admit()
  assert.throws(admit, overloaded, 'the second release of a request frees nothing')
  releaseSecond()
  releaseThird()
  assert.ok(!isFull())
  admit()
  admit()
  assert.throws(admit, overloaded)
})
