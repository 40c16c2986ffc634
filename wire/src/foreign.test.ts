import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readForeign, selectForeign } from './foreign.ts'
import { Type } from './type.ts'

const charsMax = 1000
const Person = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 5, pattern: '^[a-z]+$' }),
  kind: Type.Enum(['one', 'two']),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
  note: Type.Optional(Type.Union([Type.String({ maxLength: 9 }), Type.Null()])),
  isOn: Type.Optional(Type.Boolean()),
  parts: Type.Optional(Type.Array(Type.Object({ name: Type.String() }), { minItems: 1, maxItems: 2 })),
  names: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 3 }))),
})
const ada = { name: 'ada', kind: 'one' }
const read = (value: unknown) => readForeign(JSON.stringify(value), Person, charsMax)

test('what fits the schema is copied, with the fields of the schema alone', () => {
  const whole = { ...ada, count: 9, note: null, isOn: false, parts: [{ name: '' }], names: { a: 'x', toString: 'y' } }
  assert.deepEqual(read(whole), whole)
  assert.deepEqual(read({ ...whole, parts: [{ name: 'b', more: 1 }], more: { deep: [] } }), {
    ...whole,
    parts: [{ name: 'b' }],
  })
  assert.deepEqual(readForeign('{"name":"ada","kind":"one","__proto__":{"count":5}}', Person, charsMax), ada)
  const fields = readForeign('{"__proto__":"x"}', Type.Record(Type.String(), Type.String()), charsMax)
  assert.ok(fields && Object.hasOwn(fields, '__proto__') && Object.getPrototypeOf(fields) === Object.prototype)
})

test('what does not fit is refused whole', () => {
  for (const change of [
    ...['', 'abcdef', 'Ada', 'a\0', 'a\ud800', 5, null, [], {}, { length: 6e7 }, ['ada']].map((name) => ({ name })),
    ...['three', null, 1, {}].map((kind) => ({ kind })),
    ...[0, 10, 1.5, '1', 1e300, -0.5, null].map((count) => ({ count })),
    ...[1, 'a\0', 'a\udc00', '0123456789', {}].map((note) => ({ note })),
    ...['true', 1, null].map((isOn) => ({ isOn })),
    ...[[], {}, [{}], [{ name: 'a' }, { name: 'b' }, { name: 'c' }], { length: 1, 0: { name: 'a' } }].map((parts) => ({
      parts,
    })),
    ...[{ a: 1 }, { a: 'four' }, { 'a\0': 'x' }, { '\ud800': 'x' }, [], 'x'].map((names) => ({ names })),
    { name: undefined },
    { kind: undefined },
  ])
    assert.equal(read({ ...ada, ...change }), undefined, JSON.stringify(change))
  for (const other of [null, [], [ada], 'ada', 5, true]) assert.equal(read(other), undefined)
})

test('what is no JSON, or longer than its bound, is refused before it is walked', () => {
  for (const text of ['', '{', 'undefined', "{'name':'ada'}", '{"name":"ada","kind":"one"}x'])
    assert.equal(readForeign(text, Person, charsMax), undefined, text)
  const text = JSON.stringify(ada)
  assert.deepEqual(readForeign(text, Person, text.length), ada)
  assert.equal(readForeign(text, Person, text.length - 1), undefined)
  const deep = `{"name":"ada","kind":"one","more":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  assert.deepEqual(readForeign(deep, Person, deep.length), ada)
})

test('a schema with a keyword that the reader does not know is a fault of the code', () => {
  assert.throws(() => selectForeign('x', Type.Unknown()), /does not know/)
})
