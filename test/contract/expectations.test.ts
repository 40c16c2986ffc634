/** Refusals name what is expected: allowed values, formats with an example, bounds, positions, known names. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { formatMeanings, patternMeanings, timeInputPattern } from '@partner-payments/wire'
import { type Call, type JsonObject, listAt, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { subjects, subjectsWithBody } from '../support/requests.ts'

const service = await useSharedService()
const { client } = service

/** The message of the field error with this pointer. */
function messageOf(problem: JsonObject, pointer: string): string {
  const error = listAt(problem, 'errors').find((each) => each.pointer === pointer)
  assert.ok(error, `no error with the pointer ${pointer}: ${JSON.stringify(problem)}`)
  return textAt(error, 'message')
}

type RefusedCall = { readonly call: Call; readonly pointer: string; readonly message: RegExp }
const get = (target: string, pointer: string, message: RegExp): RefusedCall => ({
  call: { method: 'GET', target },
  pointer,
  message,
})
const post = (target: string, body: JsonObject, pointer: string, message: RegExp): RefusedCall => ({
  call: { method: 'POST', target, body: JSON.stringify(body) },
  pointer,
  message,
})
const invitation = { email: 'ada@example.com', fullName: 'Ada', role: 'Admin' }

const refusals: readonly RefusedCall[] = [
  get('/v1/transactions?status=Done', '/query/status', /one of Pending, Completed, Unsuccessful, Cancelled, Expired$/),
  get(
    '/v1/transactions?createdFrom=today',
    '/query/createdFrom',
    /a date with a time in UTC .* for example 2026-11-22T00:00:00Z$/,
  ),
  get('/v1/transactions?beneficiaryId=7', '/query/beneficiaryId', /a UUID, for example [0-9a-f-]{36}$/),
  get('/v1/transactions?customerId=7', '/query/customerId', /guid or serviceId, for example .* or cus_/),
  get('/v1/payouts?limit=500', '/query/limit', /an integer from 1 to 100$/),
  get(
    '/v1/payouts?state=Sent',
    '/query/state',
    /; known parameters: limit, cursor, status, beneficiaryId, customerId, currency, reference, idempotencyKey, createdFrom, createdTo$/,
  ),
  get('/v1/webhooks/event-types?x=1', '/query/x', /; it has no parameters$/),
  get('/v1/payouts?cursor=x', '/query/cursor', /`nextCursor` of its previous page/),
  get('/v1/events?types=x', '/query/types', /one of partner\.customer\.deposit\.created, /),
  post(
    '/v1/payouts/fiat/preview',
    { amount: 0, currency: 'EUR', beneficiaryId: randomUUID() },
    '/amount',
    /a JSON number from 0\.01 to 10000000, for example 12\.50$/,
  ),
  post('/v1/webhooks', { url: 'x' }, '/url', /an absolute URL of 1 to 2048 characters, for example https:/),
  post('/v1/webhooks', { url: 'https://example.com', signature: 'v2' }, '/signature', /one of v1, v1a$/),
  post('/v1/webhooks', { url: 'https://example.com', apiVersion: 3 }, '/apiVersion', /the integer 2$/),
  post('/v1/webhooks', { url: 'https://example.com', events: Array(51).fill('a') }, '/events', /50 items/),
  post('/v1/webhooks', { url: 'https://example.com', ordered: 1 }, '/ordered', /true or false$/),
  post('/v1/webhooks', {}, '/url', /is required; must be an absolute URL .*for example /),
  post(
    '/v1/webhooks',
    { url: 'https://example.com', uri: 'x' },
    '/uri',
    /; known fields: url, events, extensionEvents, description, apiVersion, ordered, signature$/,
  ),
  post(
    '/v1/users/invitations',
    { invitations: [invitation], expiryInDays: 31 },
    '/expiryInDays',
    /integer from 1 to 30, or null$/,
  ),
  post(
    '/v1/users/invitations',
    { invitations: [{ ...invitation, role: 'Boss' }] },
    '/invitations/0/role',
    /one of Admin, Developer, Operator$/,
  ),
  post(
    '/v1/users/invitations',
    { invitations: [{ ...invitation, email: 'ada' }] },
    '/invitations/0/email',
    /for example name@example\.com/,
  ),
  post(
    '/v1/customers',
    { kyc: { dateOfBirth: '31.12.1990' } },
    '/kyc/dateOfBirth',
    /YYYY-MM-DD, for example 1990-12-31/,
  ),
  post(
    '/v1/customers',
    { kyc: { citizenshipCountryCode: 'GBR' } },
    '/kyc/citizenshipCountryCode',
    /alpha-2 .*for example DE/,
  ),
  post('/v1/customers', { kyc: { name: 'Ada' } }, '/kyc/name', /; known fields: addressLine1, .*fullName/),
  post('/v1/customers', { kyc: { city: 'x'.repeat(71) } }, '/kyc/city', /a string of 1 to 70 characters, or null$/),
  post(
    '/v1/customers',
    { email: 5 },
    '/email',
    /an email address of at most 254 characters, for example name@example\.com, or null$/,
  ),
  post(
    '/v1/beneficiaries',
    { name: 'Ada', currency: 'EUR', iban: 'DE00' },
    '/iban',
    /has 4 characters; an IBAN of DE has 22$/,
  ),
  post('/v1/beneficiaries', { name: 'Ada', currency: 'ABC' }, '/currency', /one of EUR, GBP, USD, USDC, EURC$/),
]
for (const { call, pointer, message } of refusals)
  test(`400 with what is expected at ${pointer}: ${call.method} ${call.target.split('?')[0]} ${String(message)}`, async () => {
    const problem = assertProblem(await client.send(call), { status: 400, pointer })
    assert.match(messageOf(problem, pointer), message)
    assert.match(textAt(problem, 'detail'), message, 'detail states the first error')
  })

type SchemaLike = {
  readonly type?: string
  readonly pattern?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaLike>>
  readonly items?: SchemaLike
  readonly anyOf?: readonly SchemaLike[]
}
const partsOf = (schema: SchemaLike): readonly SchemaLike[] => [
  schema,
  ...[
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ].flatMap(partsOf),
]

/** The requests with a date in one of their fields that is a time, by its pointer. */
const isTime = (schema: unknown) => partsOf(schema as SchemaLike).some(({ pattern }) => pattern === timeInputPattern)
const withDate = subjects.flatMap(({ operation: { method, path, query, body } }) => {
  const target = path.replace('{currency}', 'EUR').replaceAll(/\{\w+\}/g, randomUUID())
  const timesOf = (schema: unknown) =>
    Object.entries((schema as SchemaLike | undefined)?.properties ?? {}).flatMap(([name, each]) =>
      isTime(each) ? [name] : [],
    )
  return [
    ...timesOf(query).map((name) => ({
      call: { method, target: `${target}?${name}=2026-11-22` },
      pointer: `/query/${name}`,
    })),
    ...timesOf(body).map((name) => ({
      call: { method, target, body: JSON.stringify({ [name]: '2026-11-22' }) },
      pointer: `/${name}`,
    })),
  ]
})
test('400 with an example of a time when a date has no time, in every query and body', async () => {
  assert.ok(withDate.filter(({ pointer }) => pointer.startsWith('/query/')).length > 10)
  assert.ok(withDate.some(({ pointer }) => !pointer.startsWith('/query/')))
  for (const { call, pointer } of withDate) {
    const problem = assertProblem(await client.send(call), { status: 400 })
    assert.match(
      messageOf(problem, pointer),
      /^is "2026-11-22", must be a date with a time in UTC .* for example 2026-11-22T00:00:00Z(?:, or null)?$/,
    )
  }
})

test('404 with the nearest path for an extra slash, capitals, a missing /v1 and a typo', async () => {
  for (const target of [
    '/v1/customers/',
    '/v1/Customers',
    '/V1/customers',
    '/customers',
    '//v1/customers',
    '/v1/custmers',
  ]) {
    const problem = assertProblem(await client.get(target), { status: 404, code: 'not_found' })
    assert.match(textAt(problem, 'detail'), /Did you mean \/v1\/customers\? /, target)
  }
})

test('400 that states the received amount and both limits', async () => {
  for (const amount of [10_000_001, 0, -1]) {
    const body = { amount, currency: 'EUR', beneficiaryId: randomUUID() }
    const problem = assertProblem(await client.post('/v1/payouts/fiat/preview', body), {
      status: 400,
      pointer: '/amount',
    })
    assert.match(messageOf(problem, '/amount'), new RegExp(`^is ${amount}, must be .*0.*10000000`))
  }
})

test('400 with the line and the column of broken JSON', async () => {
  const body = '{\n  "name": "Ada",\n  "currency": "EUR",\n}'
  const problem = assertProblem(await client.send({ method: 'POST', target: '/v1/beneficiaries', body }), {
    status: 400,
    code: 'malformed_json',
  })
  assert.match(textAt(problem, 'detail'), /at line 4, column 1: expected a field name in double quotes\.$/)
})

test('every pattern and format of a request has a meaning with an example', () => {
  const requests = [
    ...subjectsWithBody.map(({ operation }) => operation.body),
    ...subjects.map(({ operation }) => operation.query),
  ]
  const strings = requests.flatMap((schema) => (schema ? partsOf(schema as SchemaLike) : []))
  const unknown = strings.filter(
    ({ pattern, format }) =>
      (pattern !== undefined && patternMeanings[pattern] === undefined) ||
      (pattern === undefined && format !== undefined && formatMeanings[format] === undefined),
  )
  assert.deepEqual(unknown, [])
  assert.ok(strings.filter(({ pattern }) => pattern !== undefined).length > 20)
})
