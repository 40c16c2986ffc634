/** Invalid bodies, generated from the operations table for every operation with a body. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Call, type JsonObject, success, textAt } from '../support/client.ts'
import { type Field, fieldsOf, spoiled, wrongValues } from '../support/fields.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { type Subject, subjects, subjectsWithBody } from '../support/requests.ts'
import { askedOf } from '../support/service.ts'
import { createWorld, snapshot } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service
const world = await createWorld(client, receiver.url, service)
const before = await snapshot(client)
const bodies = askedOf(subjectsWithBody)

function attempt(subject: Subject, change: Partial<Call> = {}) {
  return client.send({ method: subject.operation.method, ...subject.request(world), ...change })
}

function bodyOf(subject: Subject): JsonObject {
  return JSON.parse(subject.request(world).body ?? '{}') as JsonObject
}

const pathText = (field: Field) => field.pointer
const strings = (subject: Subject) => fieldsOf(subject.operation.body).filter((field) => field.kind === 'string')
/** Replaces the value of a field with JSON text that JSON.stringify does not write. */
function withText(subject: Subject, field: Field, text: string): string {
  const marker = 'd0b7-marker'
  return JSON.stringify(spoiled(bodyOf(subject), field.path, marker)).replace(JSON.stringify(marker), () => text)
}

for (const subject of bodies.filter((each) => each.operation.bodyOptional === undefined))
  test(`400 body_required when there is no body: ${subject.name}`, async () => {
    const { target } = subject.request(world)
    const { method } = subject.operation
    assertProblem(await client.send({ method, target }), { status: 400, code: 'body_required' })
    assertProblem(await client.send({ method, target, body: '' }), { status: 400, code: 'body_required' })
  })

for (const subject of bodies)
  test(`400 malformed_json when the body is broken JSON: ${subject.name}`, async () => {
    const { body = '' } = subject.request(world)
    const broken = ['{', '{"a":}', `${body}x`, `${body}${body}`, body.slice(0, -1), "{'a':1}", '{"a":01}', '{"a":NaN}']
    for (const text of [
      ...broken,
      '{"a":1,}',
      '// c\n{}',
      '{"a":"\u0001"}',
      '{"a":.5}',
      '{"a":"\\x"}',
      '\ufeff\ufeff{}',
    ])
      assertProblem(await attempt(subject, { body: text }), { status: 400, code: 'malformed_json' })
  })

for (const subject of bodies)
  test(`400 when the body is JSON but not an object: ${subject.name}`, async () => {
    for (const text of ['[]', '"text"', '5', 'true', 'null', '[{}]', '1e400'])
      assertProblem(await attempt(subject, { body: text }), { status: 400 })
  })

for (const subject of bodies)
  test(`400 when the body is not UTF-8: ${subject.name}`, async () => {
    const codes = ['malformed_json', 'malformed_request', 'unsupported_media_type']
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
      const body = Buffer.concat([Buffer.from('{"alias":"'), Buffer.from(bytes), Buffer.from('"}')])
      const answer = await attempt(subject, { body })
      assertProblem(answer, { status: answer.status === 415 ? 415 : 400, code: codes })
    }
    const utf16 = Buffer.from(subject.request(world).body ?? '', 'utf16le')
    assertProblem(await attempt(subject, { body: utf16 }), { status: 400 })
  })

for (const subject of bodies)
  test(`400 with a pointer when a field is of the wrong type: ${subject.name}`, async () => {
    for (const field of fieldsOf(subject.operation.body))
      for (const value of wrongValues(field)) {
        const body = JSON.stringify(spoiled(bodyOf(subject), field.path, value))
        assertProblem(await attempt(subject, { body }), { status: 400, pointer: field.pointer })
      }
  })

for (const subject of bodies)
  test(`400 with a pointer when a required field is missing: ${subject.name}`, async () => {
    for (const field of fieldsOf(subject.operation.body).filter((each) => each.required)) {
      const body = JSON.stringify(spoiled(bodyOf(subject), field.path, undefined))
      assertProblem(await attempt(subject, { body }), {
        status: 400,
        code: 'validation_failed',
        pointer: field.pointer,
      })
    }
  })

for (const subject of bodies)
  test(`400 unknown_field when a field is unknown, at any depth: ${subject.name}`, async () => {
    const closed = fieldsOf(subject.operation.body).map((field) => field.path.slice(0, -1))
    const places = new Map(closed.map((path) => [path.join('/'), path]))
    for (const path of places.values())
      for (const name of ['nope', 'Amount', 'uboFirstName6', 'constructor', 'toString', ' email']) {
        const body = JSON.stringify(spoiled(bodyOf(subject), [...path, name], 'x'))
        const pointer = `/${[...path, name].join('/')}`
        assertProblem(await attempt(subject, { body }), { status: 400, code: 'unknown_field', pointer })
      }
    for (const { name, pointer } of [
      { name: '__proto__', pointer: '/__proto__' },
      { name: 'a/b', pointer: '/a~1b' },
      { name: 'm~n', pointer: '/m~0n' },
      { name: '', pointer: '/' },
    ]) {
      const body = `{"${name}":{"email":"x"},${JSON.stringify(bodyOf(subject)).slice(1)}`
      assertProblem(await attempt(subject, { body }), { status: 400, code: 'unknown_field', pointer })
    }
  })

/** The signature debugger describes a request, which may have an empty query and an empty body. */
const maybeEmpty = new Set(['diagnoseSignature /query', 'diagnoseSignature /body'])

for (const subject of bodies)
  test(`400 with a pointer when a text is empty or too long: ${subject.name}`, async () => {
    for (const field of strings(subject)) {
      const long = field.charsMax === undefined ? [] : ['x'.repeat(field.charsMax + 1)]
      const empty = maybeEmpty.has(`${subject.id} ${field.pointer}`) ? [] : ['']
      for (const value of [...empty, ...long, 'y'.repeat(50_000)]) {
        const body = JSON.stringify(spoiled(bodyOf(subject), field.path, value))
        assertProblem(await attempt(subject, { body }), { status: 400, pointer: field.pointer })
      }
    }
  })

for (const subject of bodies)
  test(`400 with a pointer when a text contains NUL or an unpaired surrogate: ${subject.name}`, async () => {
    for (const field of strings(subject))
      for (const text of ['"a\\u0000b"', '"\\ud800"', '"a\\udc00b"', '"\\udc00\\ud800"', '"\\ud800\\u0041"'])
        assertProblem(await attempt(subject, { body: withText(subject, field, text) }), {
          status: 400,
          pointer: pathText(field),
        })
  })

for (const subject of bodies)
  test(`400 duplicate_key with a pointer when a field appears twice: ${subject.name}`, async () => {
    const text = JSON.stringify(bodyOf(subject))
    for (const field of fieldsOf(subject.operation.body)) {
      const name = String(field.path.at(-1))
      // Behind the names of the objects that it is in, because they may have a field of the same name.
      const first = field.path
        .filter((part) => typeof part === 'string')
        .reduce((at, part) => (at === -1 ? -1 : text.indexOf(`"${part}":`, at)), 0)
      if (first === -1) continue
      const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
      for (const spelling of [name, escaped]) {
        const body = `${text.slice(0, first)}"${spelling}":"other",${text.slice(first)}`
        assertProblem(await attempt(subject, { body }), { status: 400, code: 'duplicate_key', pointer: field.pointer })
      }
    }
  })

for (const subject of bodies)
  test(`400 when the body is nested 1,000 and 100,000 deep: ${subject.name}`, async () => {
    for (const field of fieldsOf(subject.operation.body).slice(0, 3))
      for (const depth of [1000, 100_000]) {
        const lists = withText(subject, field, '['.repeat(depth) + ']'.repeat(depth))
        assertProblem(await attempt(subject, { body: lists }), { status: 400, code: 'nesting_too_deep' })
      }
    const objects = `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`
    assertProblem(await attempt(subject, { body: objects }), { status: 400, code: 'nesting_too_deep' })
  })

for (const subject of bodies)
  test(`413 when the body exceeds 256 KiB, with Content-Length and chunked: ${subject.name}`, async () => {
    const expected = { status: 413, code: 'body_too_large' }
    const { body = '' } = subject.request(world)
    for (const bytes of [256 * 1024 + 1, 10 * 1024 * 1024])
      for (const chunked of [false, true])
        assertProblem(await attempt(subject, { body: body.padEnd(bytes), chunked }), expected)
  })

for (const subject of bodies)
  test(`415 when the body is not application/json in UTF-8: ${subject.name}`, async () => {
    const types = [
      'text/plain',
      'text/json',
      'application/xml',
      'application/x-www-form-urlencoded',
      'nonsense',
      'application/',
    ]
    const charsets = ['iso-8859-1', 'utf-16', 'latin1'].map((charset) => `application/json; charset=${charset}`)
    for (const type of [...types, ...charsets, 'application/jsonx', 'multipart/form-data; boundary=x', '', undefined])
      assertProblem(await attempt(subject, { headers: { 'Content-Type': type } }), {
        status: 415,
        code: 'unsupported_media_type',
      })
  })

for (const subject of askedOf(subjects).filter(
  (each) => each.operation.body === undefined && each.operation.method !== 'GET',
))
  test(`400 when an operation without a body receives fields: ${subject.name}`, async () => {
    assertProblem(await attempt(subject, { body: '{"nope":1}' }), {
      status: 400,
      code: 'unknown_field',
      pointer: '/nope',
    })
    assertProblem(await attempt(subject, { body: '{' }), { status: 400, code: 'malformed_json' })
  })

test('400 with a pointer when customFields contain NUL or an unpaired surrogate, are not an object, or exceed 4 KiB', async () => {
  const subject = subjectsWithBody.find((each) => each.id === 'simulateDeposit')
  const field = subject && fieldsOf(subject.operation.body).find((each) => each.path[0] === 'customFields')
  assert.ok(subject && field)
  const cases = [
    { text: '{"a":"\\u0000"}', pointer: '/customFields/a' },
    { text: '{"a":{"b":["\\ud800"]}}', pointer: '/customFields/a/b/0' },
    { text: '{"a":1,"a":2}', pointer: '/customFields/a' },
    { text: `{"a":"${'x'.repeat(5000)}"}`, pointer: '/customFields' },
    { text: '[1]', pointer: '/customFields' },
    { text: '7', pointer: '/customFields' },
  ] as const
  for (const { text, pointer } of cases)
    assertProblem(await attempt(subject, { body: withText(subject, field, text) }), { status: 400, pointer })
  assertProblem(await attempt(subject, { body: withText(subject, field, '{"a\\u0000":1}') }), { status: 400 })
})

test('200 to every read afterwards: the refused requests changed nothing', async () => {
  assert.deepEqual(await snapshot(client), before)
})

test('200 to JSON with white space, escapes, a charset, chunks, and exactly 256 KiB', async () => {
  const body = JSON.stringify({ id: world.beneficiary, name: 'Grace Hopper' })
  const put = (call: Partial<Call>) => client.send({ method: 'PUT', target: '/v1/beneficiaries', body, ...call })
  for (const type of ['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/JSON'])
    success(await put({ headers: { 'Content-Type': type } }))
  success(await put({ chunked: true }))
  success(await put({ body: body.padEnd(256 * 1024) }))
  success(await put({ body: ` \t\r\n${body}\n` }))
  const escaped = body.replace('name', '\\u006eame').replace('Hopper', '\\ud83d\\ude80 H\u00f6pper')
  assert.equal(textAt(success(await put({ body: escaped })), 'name'), 'Grace \u{1f680} H\u00f6pper')
})
