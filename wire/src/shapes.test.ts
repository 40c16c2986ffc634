/** Shapes and values of the wire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Typebox, { type TSchema } from 'typebox'
import fc from 'fast-check'
import { Reference, singleLinePattern, timestampPattern } from './shapes.ts'
import * as wire from './index.ts'
import { Type } from './type.ts'
import { parseUntrustedJson, selectUntrustedFields } from './foreign.ts'
import { decimalText, isDecimal, isRawNumber, parseJsonExactly, rawNumber } from './decimal.ts'
import { permissions } from './operations.ts'
import { roleAllows } from './roles.ts'

const line = new RegExp(singleLinePattern, 'u')

test('a single line has a visible character and no control character', () => {
  for (const text of ['a', ' a ', 'Größe 10', '\u00a0x', '😀', 'a\u3000', 'שלום\u200f', 'a\u200bb'])
    assert.ok(line.test(text), JSON.stringify(text))
  for (const text of [
    '',
    ' ',
    '\u00a0\u2003\ufeff',
    '\u200b',
    'a\nb',
    '\ta',
    'a\u0000',
    'a\u007f',
    '\r',
    'a\u0085b',
    'a\u2028b',
    'a\u202eb',
    'a\u2066b',
  ])
    assert.ok(!line.test(text), JSON.stringify(text))
})

test('a reference is a single line other than "." and "..", which no URL can name', () => {
  const reference = new RegExp((Reference as unknown as { readonly pattern: string }).pattern, 'u')
  for (const text of ['...', '.a', 'a.', '. .', 'INV-1', ' .']) assert.ok(reference.test(text), JSON.stringify(text))
  for (const text of ['.', '..', '', ' ', 'a\nb']) assert.ok(!reference.test(text), JSON.stringify(text))
})

test('an invalid line of the maximum body size is refused in linear time', () => {
  // The maximum body size. A pattern with overlapping parts takes a minute here and blocks the event loop.
  for (const text of [`${'a'.repeat(262_144)}\u0001`, `${' '.repeat(262_144)}\u0001`, ' a'.repeat(131_072) + '\n']) {
    const started = performance.now()
    assert.ok(!line.test(text))
    assert.ok(performance.now() - started < 1000)
  }
})

test('the timestamp pattern refuses year 0, which PostgreSQL cannot store', () => {
  const timestamp = new RegExp(timestampPattern, 'u')
  assert.ok(timestamp.test('0001-01-01T00:00:00.000Z'))
  assert.ok(!timestamp.test('0000-01-01T00:00:00.000Z'))
})

/** Everything that typebox reads: the order of the keywords, and what is hidden. */
const written = (value: unknown): unknown => {
  if (typeof value === 'function') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(written)
  const keywords = Object.entries(value).map(([name, own]) => [name, written(own)])
  const hidden = Object.getOwnPropertyNames(value).filter((name) => !Object.keys(value).includes(name))
  return { keywords, hidden: hidden.map((name) => [name, written((value as Record<string, unknown>)[name])]) }
}

const isText = (value: unknown) => typeof value === 'string'
const error = () => 'must be a text'

/** One schema of each form that the contract uses. */
const schemas = (type: typeof Type): Readonly<Record<keyof typeof Type, TSchema>> => ({
  Array: type.Array(type.String(), { maxItems: 3, description: 'Texts.' }),
  Boolean: type.Boolean({ description: 'A choice.' }),
  Enum: type.Enum(['one', 'two'], { description: 'One of two.' }),
  Integer: type.Integer({ minimum: 1 }),
  Null: type.Null(),
  Object: type.Object(
    { name: type.String(), note: type.Optional(type.String({ maxLength: 3 })) },
    { additionalProperties: false },
  ),
  Optional: type.Optional(type.Refine(type.String({ minLength: 1 }), isText, error)),
  Record: type.Record(type.String(), type.Unknown(), { description: 'An object.' }),
  Refine: type.Refine(type.Unsafe<string>({ 'x-json-type': 'number' }), isText, error),
  String: type.String({ pattern: '^a$' }),
  Union: type.Union([type.String(), type.Null()]),
  Unknown: type.Unknown({ description: 'Any value.' }),
  Unsafe: type.Unsafe<string>({ type: 'string', 'x-json-type': 'number' }),
  With: type.With(type.Optional(type.String({ description: 'Before.', minLength: 1 })), { description: 'After.' }),
})

test('each schema type equals the typebox type, including hidden properties and the order of keywords', () => {
  const theirs = schemas(Typebox)
  assert.deepEqual(Object.keys(theirs).toSorted(), Object.keys(Type).toSorted())
  for (const [name, own] of Object.entries(schemas(Type)))
    assert.deepEqual(written(own), written(theirs[name as keyof typeof Type]), name)
  assert.deepEqual(written(Type.Object({})), written(Typebox.Object({})))
})

test('each record schema of the contract accepts any text as a key, the only kind that the builder supports', () => {
  const keys = new Set<string>()
  const seen = new Set<unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const key of Object.keys((value as { readonly patternProperties?: object }).patternProperties ?? {}))
      keys.add(key)
    for (const part of Object.values(value)) visit(part)
  }
  visit(wire)
  assert.deepEqual([...keys], Object.keys(Typebox.Record(Typebox.String(), Typebox.Unknown()).patternProperties))
})

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
const read = (value: unknown) => parseUntrustedJson(JSON.stringify(value), Person, charsMax)

test('a value that matches the schema is copied, with only the fields of the schema', () => {
  const whole = { ...ada, count: 9, note: null, isOn: false, parts: [{ name: '' }], names: { a: 'x', toString: 'y' } }
  assert.deepEqual(read(whole), whole)
  assert.deepEqual(read({ ...whole, parts: [{ name: 'b', more: 1 }], more: { deep: [] } }), {
    ...whole,
    parts: [{ name: 'b' }],
  })
  assert.deepEqual(parseUntrustedJson('{"name":"ada","kind":"one","__proto__":{"count":5}}', Person, charsMax), ada)
  const fields = parseUntrustedJson('{"__proto__":"x"}', Type.Record(Type.String(), Type.String()), charsMax)
  assert.ok(fields && Object.hasOwn(fields, '__proto__') && Object.getPrototypeOf(fields) === Object.prototype)
})

test('a value that does not match is refused as a whole', () => {
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

test('text that is not JSON, or exceeds its limit, is refused before its values are read', () => {
  for (const text of ['', '{', 'undefined', "{'name':'ada'}", '{"name":"ada","kind":"one"}x'])
    assert.equal(parseUntrustedJson(text, Person, charsMax), undefined, text)
  const text = JSON.stringify(ada)
  assert.deepEqual(parseUntrustedJson(text, Person, text.length), ada)
  assert.equal(parseUntrustedJson(text, Person, text.length - 1), undefined)
  const deep = `{"name":"ada","kind":"one","more":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  assert.deepEqual(parseUntrustedJson(deep, Person, deep.length), ada)
})

test('a schema with a keyword that the reader does not support throws', () => {
  assert.throws(() => selectUntrustedFields('x', Type.Unknown()), /unsupported form/)
})

/** Any JSON number literal. */
const literal = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?$/)

test('every number literal round-trips unchanged', () => {
  fc.assert(
    fc.property(literal, (text) => {
      const parsed = parseJsonExactly(text)
      assert.ok(isDecimal(parsed))
      assert.equal(decimalText(parsed), text)
      assert.equal(JSON.stringify({ amount: parsed }), `{"amount":${text}}`)
    }),
  )
})

test('a document without white space round-trips unchanged, including its numbers', () => {
  fc.assert(
    fc.property(fc.json(), literal, (json, number) => {
      const text = `{"a":[${JSON.stringify(JSON.parse(json))},${number}]}`
      assert.equal(JSON.stringify(parseJsonExactly(text)), text)
    }),
  )
})

test('safe integers remain numbers, and literals that a double could change are kept as text', () => {
  for (const text of ['0', '-7', '9007199254740991']) assert.equal(parseJsonExactly(text), Number(text))
  for (const text of ['0.1', '1.0', '1e2', '-0', '9007199254740992', '1e400'])
    assert.ok(isRawNumber(parseJsonExactly(text)), text)
})

test('rawNumber refuses text that is not a number literal', () => {
  for (const text of ['', ' 1', '01', '1.', '.5', '+1', 'NaN', 'Infinity', '0x10', '1,5', '{}', '[1]'])
    assert.throws(() => rawNumber(text), SyntaxError, text)
})

test('an object with a rawJSON field is not a raw number', () => {
  const forged = parseJsonExactly('{"rawJSON":"1"}')
  assert.equal(isRawNumber(forged), false)
  assert.equal(isDecimal(forged), false)
  for (const value of ['1', null, true, [], 1n]) assert.equal(isDecimal(value), false)
})

const permissionsOf = (role: 'Admin' | 'Developer' | 'Operator') => permissions.filter((each) => roleAllows(role, each))

test('Admin has every permission', () => {
  assert.deepEqual(permissionsOf('Admin'), permissions)
})

test('Developer has every read permission, and writes only webhooks and simulations', () => {
  const reads = permissions.filter((each) => each.endsWith(':read'))
  assert.deepEqual(permissionsOf('Developer'), [...reads, 'simulations:write', 'webhooks:write'].sort())
})

test('Operator reads and writes the groups of money and customers, reads transactions, and nothing else', () => {
  assert.deepEqual(permissionsOf('Operator'), [
    'accounts:read',
    'accounts:write',
    'beneficiaries:read',
    'beneficiaries:write',
    'checkout:read',
    'checkout:write',
    'customers:read',
    'customers:write',
    'fx:read',
    'fx:write',
    'payouts:read',
    'payouts:write',
    'reports:read',
    'reports:write',
    'transactions:read',
    'wallets:read',
    'wallets:write',
  ])
})

test('Developer cannot create payouts', () => {
  assert.equal(roleAllows('Developer', 'payouts:write'), false)
  assert.equal(roleAllows('Operator', 'payouts:write'), true)
})
