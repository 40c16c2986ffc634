import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../api/index.ts'
import { sqlState } from './errors.ts'
import { type Keyed, KeyTaken, once } from './once.ts'

const row: Keyed = { requestFingerprint: 'h', reference: 'R-1' }
const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const never = () => assert.fail('it must not be made')

/** What `find` answers, call after call. */
const finding = (...answers: readonly (Keyed | undefined)[]) => {
  const left = [...answers]
  return () => Promise.resolve(left.shift())
}

test('made where there is none, replayed where there is one', async () => {
  const make = () => Promise.resolve(row)
  assert.deepEqual(await once({ requestFingerprint: 'h', find: finding(undefined), make }), { row, replayed: false })
  assert.deepEqual(await once({ requestFingerprint: 'h', find: finding(row), make: never }), { row, replayed: true })
})

test('the twin that lost the key gets the answer of the one that won it', async () => {
  const make = () => Promise.reject(new KeyTaken())
  assert.deepEqual(await once({ requestFingerprint: 'h', find: finding(undefined, row), make }), {
    row,
    replayed: true,
  })
})

test('another request under the key is refused and told which has it, before and after a race', async () => {
  const named = (error: unknown) => {
    assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
    assert.match(error.detail, /R-1/)
    return error.errors[0]?.pointer === '/idempotencyKey'
  }
  await assert.rejects(once({ requestFingerprint: 'other', find: finding(row), make: never }), named)
  const make = () => Promise.reject(new KeyTaken())
  await assert.rejects(once({ requestFingerprint: 'other', find: finding(undefined, row), make }), named)
})

test('a twin that does not end in time, or ended in nothing: try again in a second', async () => {
  const late = Object.assign(new Error('lock'), { code: sqlState.lockNotAvailable })
  for (const failure of [late, new KeyTaken()])
    await assert.rejects(
      once({ requestFingerprint: 'h', find: finding(undefined, undefined), make: () => Promise.reject(failure) }),
      (error) => refusedAs('request_in_progress')(error) && (error as Refusal).headers['retry-after'] === '1',
    )
})

test('what is refused passes through: the key stays free', async () => {
  const make = () => Promise.reject(new Refusal('insufficient_funds'))
  await assert.rejects(
    once({ requestFingerprint: 'h', find: finding(undefined), make }),
    refusedAs('insufficient_funds'),
  )
})
