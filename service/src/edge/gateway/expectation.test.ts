import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FieldError, type Operation, operationIds, operations, type TSchema } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { nearestPath, toRoutePaths } from './served.ts'
import { compileValidator } from './validate.ts'

type SchemaLike = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, SchemaLike>>
  readonly items?: SchemaLike
  readonly anyOf?: readonly SchemaLike[]
}
type Violation = { readonly pointer: string; readonly value: unknown; readonly came: RegExp; readonly wanted: RegExp }

const branchOf = (schema: SchemaLike): SchemaLike => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema

/** Invalid values of one field: of another type, beyond each bound, in another format. */
function wrongValues(schema: SchemaLike): readonly Omit<Violation, 'pointer'>[] {
  const given = branchOf(schema)
  const { type, pattern, minLength, maxLength, minimum, maximum, minItems } = given
  const isText = type === 'string' || given.enum !== undefined
  const wrongType = isText ? { value: true, came: /^is true, / } : { value: 'x', came: /^is "x", / }
  const bounds = [
    ...(minLength === 1 ? [{ value: '', came: /^is empty, / }] : []),
    ...(maxLength === undefined
      ? []
      : [{ value: 'x'.repeat(maxLength + 1), came: /^is (?:"x+"|a text of \d+ characters), / }]),
    ...(type === 'integer' && minimum !== undefined
      ? [{ value: minimum - 1, came: new RegExp(`^is ${minimum - 1}, `) }]
      : []),
    ...(type === 'integer' && maximum !== undefined
      ? [{ value: maximum + 1, came: new RegExp(`^is ${maximum + 1}, `) }]
      : []),
    ...(minItems === undefined || minItems === 0 ? [] : [{ value: [], came: /^is an empty array, / }]),
    ...(pattern === undefined ? [] : [{ value: '\n?', came: /^is (?:"\\n\?"|a text of 2 characters), / }]),
    ...(given.enum === undefined ? [] : [{ value: 'Nope', came: /^is "Nope", / }]),
  ]
  return [wrongType, ...bounds].map((each) => ({ ...each, wanted: /, must (?:be|have|not) / }))
}

/** The invalid values of every field, at any depth, each in an object with only this field. */
function violationsOf(
  schema: SchemaLike,
  pointer = '',
  wrap: (value: unknown) => unknown = (value) => value,
): readonly Violation[] {
  const { properties = {}, items } = branchOf(schema)
  const own = pointer === '' ? [] : wrongValues(schema).map((each) => ({ ...each, pointer, value: wrap(each.value) }))
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, field]) =>
      violationsOf(field, `${pointer}/${name}`, (value) => wrap({ [name]: value })),
    ),
    ...(items === undefined ? [] : violationsOf(items, `${pointer}/0`, (value) => wrap([value]))),
  ]
}

function errorsOf(schema: TSchema, value: unknown): readonly FieldError[] {
  try {
    compileValidator(schema)(value)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error.errors
  }
  return []
}

let checked = 0
for (const id of operationIds)
  test(`the error of each invalid field states its pointer, the received value and the expected value: ${id}`, () => {
    const { body, query }: Operation = operations[id]
    for (const schema of [body, query].filter((each) => each !== undefined))
      for (const { pointer, value, came, wanted } of violationsOf(schema as SchemaLike)) {
        const error = errorsOf(schema, value).find((each) => each.pointer === pointer)
        assert.ok(error, `${pointer} is refused: ${JSON.stringify(value).slice(0, 200)}`)
        assert.match(error.message, came, pointer)
        assert.match(error.message, wanted, pointer)
        checked += 1
      }
  })

test('more than 1,000 field errors of the operations are checked', () => assert.ok(checked > 1000, `${checked}`))

test('the received value is shortened, shows hidden characters as codes, and does not repeat secrets', () => {
  const schema = operations.setSingleSignOn.body
  const messageOf = (fields: object, pointer: string) =>
    errorsOf(schema, fields).find((each) => each.pointer === pointer)?.message ?? ''
  assert.match(messageOf({ emailDomain: `a\u202eb\u0007` }, '/emailDomain'), /^is "a\\u\{202e\}b\\u0007", /)
  const secret = messageOf({ clientSecret: 'hunter2\n' }, '/clientSecret')
  assert.match(secret, /^is a text of 8 characters, /)
  const many = { allowedAddresses: Array.from({ length: 51 }, (_, at) => `192.0.2.${at}`) }
  const [crowded] = errorsOf(operations.createServiceAccount.body, many).filter(({ code }) => code === 'too_many')
  assert.match(crowded?.message ?? '', /^is an array of 51 items, must be an array of at most 50 items/)
  assert.ok(messageOf({ issuer: 'x'.repeat(100_000) }, '/issuer').length < 200)
})

test('the refusal of an unknown path suggests the nearest route, if one is near', () => {
  const served = [
    ...operationIds.map((id) =>
      toRoutePaths(operations[id].path.replaceAll(/\{(\w+)\}/g, ':$1'), [operations[id].method]),
    ),
    toRoutePaths('/docs', ['GET']),
  ]
  const nearest: Readonly<Record<string, string | undefined>> = {
    '/v1/customers/': '/v1/customers',
    '/V1/Customers': '/v1/customers',
    '/customers': '/v1/customers',
    '//v1//customers': '/v1/customers',
    '/v1/custmers': '/v1/customers',
    '/v1/Payouts/Fiat/': '/v1/payouts/fiat',
    '/payouts/ABC/cancel': '/v1/payouts/ABC/cancel',
    '/v1/payouts/ABC/cancle': '/v1/payouts/ABC/cancel',
    '/Docs/': '/docs',
    '/v1': undefined,
    '/': undefined,
    '/wp-admin/setup.php': undefined,
    [`/v1/customers/${'x'.repeat(400)}/`]: undefined,
  }
  for (const [path, meant] of Object.entries(nearest)) assert.equal(nearestPath(served, path), meant, path)
})
