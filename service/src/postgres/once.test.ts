import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { sqlState } from './errors.ts'
import { type Keyed, KeyTaken, once } from './once.ts'

const row: Keyed = { requestFingerprint: 'h', reference: 'R-1' }
const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const neverMade = () => assert.fail('make must not run')

/** `find` returns these, one per call. */
const findReturns = (...answers: readonly (Keyed | undefined)[]) => {
  const left = [...answers]
  return () => Promise.resolve(left.shift())
}

test('a free key makes the row, a taken key replays it', async () => {
  const make = () => Promise.resolve(row)
  assert.deepEqual(await once({ requestFingerprint: 'h', find: findReturns(undefined), make }), {
    row,
    replayed: false,
  })
  assert.deepEqual(await once({ requestFingerprint: 'h', find: findReturns(row), make: neverMade }), {
    row,
    replayed: true,
  })
})

test('a duplicate that lost the key gets the answer of the request that won it', async () => {
  const make = () => Promise.reject(new KeyTaken())
  assert.deepEqual(await once({ requestFingerprint: 'h', find: findReturns(undefined, row), make }), {
    row,
    replayed: true,
  })
})

test('another request under a taken key is refused with the reference, before and after a race', async () => {
  const named = (error: unknown) => {
    assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
    assert.match(error.detail, /R-1/)
    return error.errors[0]?.pointer === '/idempotencyKey'
  }
  await assert.rejects(once({ requestFingerprint: 'other', find: findReturns(row), make: neverMade }), named)
  const make = () => Promise.reject(new KeyTaken())
  await assert.rejects(once({ requestFingerprint: 'other', find: findReturns(undefined, row), make }), named)
})

test('409 with Retry-After when a duplicate does not end in time, or ended without a row', async () => {
  const late = Object.assign(new Error('lock'), { code: sqlState.lockNotAvailable })
  for (const failure of [late, new KeyTaken()])
    await assert.rejects(
      once({ requestFingerprint: 'h', find: findReturns(undefined, undefined), make: () => Promise.reject(failure) }),
      (error) => refusedAs('request_in_progress')(error) && (error as Refusal).headers['retry-after'] === '1',
    )
})

test('a refusal passes through, and the key stays free', async () => {
  const make = () => Promise.reject(new Refusal('insufficient_funds'))
  await assert.rejects(
    once({ requestFingerprint: 'h', find: findReturns(undefined), make }),
    refusedAs('insufficient_funds'),
  )
})
