/** The texts of the API: operation summaries and descriptions, problem titles and details. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { operations, problems } from '@partner-payments/wire'
import document from '@partner-payments/wire/openapi.json' with { type: 'json' }
import type { Finding } from './source.ts'
import { checkDescriptions, checkOperationTexts, checkProblemTexts, describedParts } from './text-rules.ts'

const none: readonly Finding[] = []

suite('API texts', () => {
  test('the rules read enough operations, problems and descriptions', () => {
    assert.ok(Object.keys(operations).length >= 40)
    assert.ok(Object.keys(problems).length >= 40)
    assert.ok(describedParts(document).length >= 600)
  })
  test('a summary is a short verb phrase, and a description consists of short sentences', () =>
    assert.deepEqual(checkOperationTexts(operations), none))
  test('a problem title is a short phrase, and a problem detail consists of short sentences', () =>
    assert.deepEqual(checkProblemTexts(problems), none))
  test('every property, parameter and header of the OpenAPI document has a description of short sentences', () =>
    assert.deepEqual(checkDescriptions(document), none))
})

suite('each rule for API texts reports a violation', () => {
  const description = 'Returns an invitation.'
  const title = 'Cursor expired'
  const detail = 'The cursor is too old. Start again.'

  test('summaries', () => {
    for (const summary of [
      '',
      'retrieve an invitation',
      'The invitation',
      'Retrieve an invitation.',
      'Retrieve an invitation that the partner sent some time ago',
    ])
      assert.equal(checkOperationTexts({ id: { summary, description } }).length, 1, summary)
    for (const summary of ['Retrieve an invitation', 'Re-enable a webhook subscription'])
      assert.deepEqual(checkOperationTexts({ id: { summary, description } }), none, summary)
  })

  test('descriptions', () => {
    for (const text of ['', 'Returns an invitation', 'returns an invitation.', `Returns ${'a '.repeat(30)}word.`])
      assert.equal(checkOperationTexts({ id: { summary: 'List events', description: text } }).length, 1, text)
    const list = 'Filter by `status`. The list has `v1.` and 1.5 items: newest first; at most 20.'
    assert.deepEqual(checkOperationTexts({ id: { summary: 'List events', description: list } }), none)
  })

  test('two operations with one summary', () => {
    const texts = { summary: 'List events', description }
    assert.equal(checkOperationTexts({ one: texts, other: texts }).length, 1)
  })

  test('problem titles', () => {
    for (const text of ['', 'Cursor expired.', 'cursor expired', `Cursor ${'very '.repeat(9)}old`])
      assert.equal(checkProblemTexts({ code: { title: text, detail } }).length, 1, text)
    assert.deepEqual(checkProblemTexts({ code: { title, detail } }), none)
  })

  test('problem details', () => {
    for (const text of ['', title, 'the cursor is too old.'])
      assert.equal(checkProblemTexts({ code: { title, detail: text } }).length, 1, text)
  })

  test('properties, parameters and headers without a description', () => {
    const good = { type: 'string', description: 'Identifies the payout.' }
    const schema = (id: object) => ({ type: 'object', properties: { id: { ...id } } })
    for (const id of [{}, { type: 'string' }, { type: 'string', description: 'the id' }, { $ref: '#/schemas/Id' }])
      assert.equal(checkDescriptions({ schemas: { Payout: schema(id) } }).length, 1, JSON.stringify(id))
    assert.deepEqual(checkDescriptions({ schemas: { Payout: schema(good) } }), none)
    assert.equal(checkDescriptions({ get: { parameters: [{ name: 'limit', in: 'query' }] } }).length, 1)
    assert.equal(checkDescriptions({ 200: { headers: { Location: { schema: {} } } } }).length, 1)
    assert.deepEqual(checkDescriptions({ get: { parameters: [{ $ref: '#/components/parameters/Id' }] } }), none)
    assert.deepEqual(checkDescriptions({ examples: { one: { value: schema({}) } } }), none)
  })
})
