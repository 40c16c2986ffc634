/** Assertions for problem responses. Interface document, Problem body; contract page, content type of errors. */
import assert from 'node:assert/strict'
import { type Answer, type JsonObject, listAt, textAt } from './client.ts'

export type ExpectedProblem = {
  readonly status: number
  readonly code?: string | readonly string[]
  /** A JSON pointer that `errors` must contain. */
  readonly pointer?: string
}

/** The headers of every response. */
export function assertCommonHeaders(answer: Answer): void {
  assert.match(String(answer.headers['x-request-id']), /^.{8,}$/, 'X-Request-Id')
  assert.ok(!Number.isNaN(Date.parse(String(answer.headers.date))), 'Date')
}

export function assertProblem(answer: Answer, expected: ExpectedProblem): JsonObject {
  const said = `${answer.status} ${answer.text.slice(0, 1000)}\n  to ${answer.asked}`
  assert.equal(answer.status, expected.status, `expected ${expected.status}, got ${said}`)
  assertCommonHeaders(answer)
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json(;|$)/, 'content type of a problem')
  const body = answer.json
  for (const field of ['type', 'title', 'detail', 'instance', 'code', 'requestId'])
    assert.notEqual(textAt(body, field), '', `${field} is empty: ${said}`)
  const known = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', 'errors']
  // Only the sandbox adds these, and only to a refused signature.
  if (body.status === 401) known.push('canonicalString', 'likelyMistake')
  const unknown = Object.keys(body).filter((field) => !known.includes(field))
  assert.deepEqual(unknown, [], `unknown fields in a problem: ${said}`)
  assert.equal(body.status, answer.status, `status in the body: ${said}`)
  assert.equal(body.requestId, answer.headers['x-request-id'], 'requestId is X-Request-Id')
  if (expected.code !== undefined) {
    const codes = typeof expected.code === 'string' ? [expected.code] : expected.code
    assert.ok(codes.includes(textAt(body, 'code')), `expected the code ${codes.join(' or ')}, got ${said}`)
  }
  if (expected.pointer !== undefined) assertPointer(body, expected.pointer, said)
  return body
}

function assertPointer(body: JsonObject, pointer: string, said: string): void {
  assert.ok(Array.isArray(body.errors), `expected errors with the pointer ${pointer}, got ${said}`)
  const errors = listAt(body, 'errors')
  for (const error of errors) {
    assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'pointer'], 'the fields of a field error')
    assert.notEqual(textAt(error, 'message'), '')
  }
  const pointers = errors.map((error) => error.pointer)
  assert.ok(pointers.includes(pointer), `expected the pointer ${pointer}, got ${said}`)
}

/** The response without the fields of the single request: equal for two refusals that a caller cannot distinguish. */
export function indistinct(answer: Answer): unknown {
  const { instance: _instance, requestId: _requestId, ...rest } = answer.json
  const names = Object.keys(answer.json)
  const headers = answer.headerNames.filter((name) => name !== 'content-length')
  return { status: answer.status, rest, names, headers, contentType: answer.headers['content-type'] }
}
