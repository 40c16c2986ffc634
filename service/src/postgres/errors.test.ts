import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { classify, isReadOnly, isRetryable, sqlState, stateOf, violates } from './errors.ts'

const error = (fields: object, message = 'x') => Object.assign(new Error(message), fields)
const codeOf = (thrown: unknown) => (thrown instanceof Unreachable ? thrown.code : undefined)

test('the code of an error shows that the server is unavailable', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', '08006', '57P01', '57P03', '53300'])
    assert.equal(codeOf(classify(error({ code }))), 'downstream_unreachable', code)
  assert.equal(codeOf(classify(error({ code: 'ETIMEDOUT' }))), 'downstream_timeout')
})

test('the code of an error shows that the server cannot store', () => {
  for (const code of ['25006', '53100', '53200', '58030'])
    assert.equal(codeOf(classify(error({ code }))), 'storage_unavailable', code)
  assert.equal(isReadOnly(classify(error({ code: '25006' }))), true)
  assert.equal(isReadOnly(classify(error({ code: '53100' }))), false)
})

test('other errors are returned unchanged', () => {
  const others = [error({ code: sqlState.uniqueViolation }), error({}), new Refusal('not_found'), 'text', undefined]
  for (const other of others) assert.equal(classify(other), other)
})

test('a constraint is recognised by its name, with or without the number of its shard', () => {
  const violation = (constraint: string) => error({ code: sqlState.uniqueViolation, constraint })
  const is = (thrown: unknown) => violates(thrown, sqlState.uniqueViolation, 'payouts_key')
  assert.deepEqual(
    [violation('payouts_key'), violation('payouts_key_102049'), violation('payouts_key_x'), violation('keys')].map(is),
    [true, true, false, false],
  )
  assert.equal(is(error({ code: sqlState.checkViolation, constraint: 'payouts_key' })), false)
  assert.equal(is(error({ code: sqlState.uniqueViolation })), true, 'a shard reports no constraint')
  assert.equal(is(null), false)
})

test('deadlocks, serialisation failures and the constraints over what was read are retryable', () => {
  assert.deepEqual(
    [sqlState.deadlock, sqlState.serializationFailure, sqlState.lockNotAvailable, sqlState.uniqueViolation].map(
      (code) => isRetryable(error({ code })),
    ),
    [true, true, false, false],
  )
  const check = (constraint?: string) => error({ code: sqlState.checkViolation, ...(constraint && { constraint }) })
  assert.deepEqual(
    [check('accounts_judged_by_state'), check('accounts_judged_by_state_102049'), check('accounts_state'), check()].map(
      isRetryable,
    ),
    [true, true, false, false],
  )
  for (const code of ['ECONNRESET', 40001, undefined]) assert.equal(stateOf(error({ code })), undefined)
  assert.equal(stateOf(null), undefined)
})
