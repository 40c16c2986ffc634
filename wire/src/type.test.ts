import assert from 'node:assert/strict'
import { test } from 'node:test'
import Typebox, { type TSchema } from 'typebox'
import * as wire from './index.ts'
import { Type } from './type.ts'

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

test('each schema type is the one that typebox makes, hidden properties and the order of keywords included', () => {
  const theirs = schemas(Typebox)
  assert.deepEqual(Object.keys(theirs).toSorted(), Object.keys(Type).toSorted())
  for (const [name, own] of Object.entries(schemas(Type)))
    assert.deepEqual(written(own), written(theirs[name as keyof typeof Type]), name)
  assert.deepEqual(written(Type.Object({})), written(Typebox.Object({})))
})

test('each record of the contract has keys of any text, the one kind that is built', () => {
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
