/** Values, errors and statements, without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionFailure } from '../kernel/index.ts'
import { noSql, sql, toStatement } from './sql.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { classify, isReadOnly, isRetryable, sqlState, sqlStateOf, violates } from './errors.ts'
import { type IdempotentRow, KeyTaken, oncePerKey } from './once.ts'

const sent = (...statement: Parameters<typeof toStatement>) => {
  const { text, values } = toStatement(...statement)
  return { text, values }
}

test('placeholders become numbered parameters, never text', () => {
  const evil = "'; drop table x; --"
  assert.deepEqual(sent(sql`select ${evil}, ${2n} from t where a = ${null}`), {
    text: 'select $1, $2 from t where a = $3',
    values: [evil, 2n, null],
  })
  assert.deepEqual(sent(sql`select 1`), { text: 'select 1', values: [] })
})

test('fragments compose at any depth, and their parameters are numbered in order', () => {
  const condition = sql`b = ${2} and ${sql`c = ${3}`}`
  assert.deepEqual(sent(sql`select ${1} where ${condition}${noSql} or d = ${4}`), {
    text: 'select $1 where b = $2 and c = $3 or d = $4',
    values: [1, 2, 3, 4],
  })
})

test('an object is a parameter unless the sql tag created it', () => {
  const date = new Date(0)
  const look = { parts: 'x' }
  assert.deepEqual(sent(sql`select ${date}, ${look}, ${[1, 2]}`).values, [date, look, [1, 2]])
})

test('undefined is refused, because it is probably a forgotten value', () => {
  assert.throws(() => sql`select ${undefined}`, AssertionFailure)
})

test('the name of a statement depends on its text and not on its values', () => {
  const name = (value: number) => toStatement(sql`select ${value}`).name
  assert.equal(name(1), name(2))
  assert.notEqual(name(1), toStatement(sql`select ${1} `).name)
  // PostgreSQL truncates names at 63 bytes without an error.
  assert.ok(name(1).length < 63)
})

const error = (fields: object, message = 'x') => Object.assign(new Error(message), fields)
const codeOf = (thrown: unknown) => (thrown instanceof Unreachable ? thrown.code : undefined)

test('an error with the code of an unavailable server is converted to Unreachable', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', '08006', '57P01', '57P03', '53300'])
    assert.equal(codeOf(classify(error({ code }))), 'downstream_unreachable', code)
  assert.equal(codeOf(classify(error({ code: 'ETIMEDOUT' }))), 'downstream_timeout')
})

test('an error with the code of a server that cannot store data is converted to storage_unavailable', () => {
  for (const code of ['25006', '53100', '53200', '58030'])
    assert.equal(codeOf(classify(error({ code }))), 'storage_unavailable', code)
  assert.equal(isReadOnly(classify(error({ code: '25006' }))), true)
  assert.equal(isReadOnly(classify(error({ code: '53100' }))), false)
})

test('an error that is not an outage is returned unchanged', () => {
  const others = [error({ code: sqlState.uniqueViolation }), error({}), new Refusal('not_found'), 'text', undefined]
  for (const other of others) assert.equal(classify(other), other)
})

test('a violated constraint is recognised by its name, with or without the number of a shard', () => {
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

test('deadlocks, serialisation failures and violations of constraints on rows read without a lock are retryable', () => {
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
  for (const code of ['ECONNRESET', 40001, undefined]) assert.equal(sqlStateOf(error({ code })), undefined)
  assert.equal(sqlStateOf(null), undefined)
})

const row: IdempotentRow = { requestFingerprint: 'h', reference: 'R-1' }
const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const neverMade = () => assert.fail('make must not run')

/** Creates a `find` that returns these answers, one per call. */
const findReturns = (...answers: readonly (IdempotentRow | undefined)[]) => {
  const left = [...answers]
  return () => Promise.resolve(left.shift())
}

test('a new key creates the row, and a used key replays it', async () => {
  const make = () => Promise.resolve(row)
  assert.deepEqual(await oncePerKey({ requestFingerprint: 'h', find: findReturns(undefined), make }), {
    row,
    replayed: false,
  })
  assert.deepEqual(await oncePerKey({ requestFingerprint: 'h', find: findReturns(row), make: neverMade }), {
    row,
    replayed: true,
  })
})

test('a concurrent duplicate gets the answer of the request that used the key first', async () => {
  const make = () => Promise.reject(new KeyTaken())
  assert.deepEqual(await oncePerKey({ requestFingerprint: 'h', find: findReturns(undefined, row), make }), {
    row,
    replayed: true,
  })
})

test('another request with a used key is refused with the reference of the first, also after a race', async () => {
  const named = (error: unknown) => {
    assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
    assert.match(error.detail, /R-1/)
    return error.errors[0]?.pointer === '/idempotencyKey'
  }
  await assert.rejects(oncePerKey({ requestFingerprint: 'other', find: findReturns(row), make: neverMade }), named)
  const make = () => Promise.reject(new KeyTaken())
  await assert.rejects(oncePerKey({ requestFingerprint: 'other', find: findReturns(undefined, row), make }), named)
})

test('409 with Retry-After when the first request with the key does not end in time, or ends without a row', async () => {
  const late = Object.assign(new Error('lock'), { code: sqlState.lockNotAvailable })
  for (const failure of [late, new KeyTaken()])
    await assert.rejects(
      oncePerKey({
        requestFingerprint: 'h',
        find: findReturns(undefined, undefined),
        make: () => Promise.reject(failure),
      }),
      (error) => refusedAs('request_in_progress')(error) && (error as Refusal).headers['retry-after'] === '1',
    )
})

test('a refusal is thrown unchanged, and the key can be used again', async () => {
  const make = () => Promise.reject(new Refusal('insufficient_funds'))
  await assert.rejects(
    oncePerKey({ requestFingerprint: 'h', find: findReturns(undefined), make }),
    refusedAs('insufficient_funds'),
  )
})
