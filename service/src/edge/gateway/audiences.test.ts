/** No operation is served without the authentication of its audience. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { servingOf } from './audiences.ts'

const signed = () => Promise.resolve(undefined)

test('an operation is served by the authentication of its audience', () => {
  assert.equal(servingOf({ signed }, 'getCustomer', 'signed'), signed)
})

test('an operation whose audience nothing authenticates is not served', () => {
  for (const audience of ['public', 'session', 'staff'] as const)
    assert.throws(() => servingOf({ signed }, 'listCases', audience), /listCases .* authenticates: /)
})
