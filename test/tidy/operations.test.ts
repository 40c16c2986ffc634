/** The texts of the API: operation summaries and descriptions, problem titles and details. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { operations, problems } from '@partner-payments/wire'
import type { Finding } from './source.ts'
import { checkOperationTexts, checkProblemTexts } from './text-rules.ts'

const none: readonly Finding[] = []

suite('API texts', () => {
  test('the tables are complete enough to check', () => {
    assert.ok(Object.keys(operations).length >= 40)
    assert.ok(Object.keys(problems).length >= 40)
  })
  test('a summary is a short verb phrase, and a description consists of short sentences', () =>
    assert.deepEqual(checkOperationTexts(operations), none))
  test('a problem title is a short phrase, and a problem detail consists of short sentences', () =>
    assert.deepEqual(checkProblemTexts(problems), none))
})

suite('each rule for API texts finds a violation', () => {
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
})
