import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionFailure } from '../kernel/index.ts'
import { noSql, sql, toStatement } from './sql.ts'

const sent = (...statement: Parameters<typeof toStatement>) => {
  const { text, values } = toStatement(...statement)
  return { text, values }
}

test('holes become numbered parameters, never text', () => {
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

test('an object is a parameter unless the tag made it', () => {
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
