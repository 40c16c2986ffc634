import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCursors } from './cursor.ts'
import { newId, randomBytes } from '../ids.ts'
import { Refusal } from './refusal.ts'

const cursors = createCursors(randomBytes(32))
const rows = Array.from({ length: 7 }, () => ({ id: newId() })).toReversed()
const refused = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === '/query/cursor'

/** A list as a store returns it: the rows after the cursor, one more than the limit. */
const pageAfter = (query: { readonly limit?: string; readonly cursor?: string }) => {
  const request = cursors.read('list', query)
  const rest = rows.filter(({ id }) => request.afterId === null || id < request.afterId)
  return cursors.page('list', request, rest.slice(0, request.limit + 1))
}

test('the pages together contain every row once, for every limit', () => {
  for (let limit = 1; limit <= rows.length + 1; limit += 1) {
    const seen: string[] = []
    let page = pageAfter({ limit: String(limit) })
    for (;;) {
      seen.push(...page.data.map(({ id }) => id))
      assert.equal(page.hasMore, page.nextCursor !== null)
      if (page.nextCursor === null) break
      assert.equal(page.data.length, limit)
      page = pageAfter({ limit: String(limit), cursor: page.nextCursor })
    }
    assert.deepEqual(
      seen,
      rows.map(({ id }) => id),
    )
  }
})

test('the default limit is 25; an empty list has no cursor', () => {
  assert.deepEqual(cursors.read('list', {}), { limit: 25, afterId: null })
  const empty = { data: [], nextCursor: null, hasMore: false }
  assert.deepEqual(cursors.page('list', { limit: 25, afterId: null }, []), empty)
})

test('refuses a cursor of another list, of another key, changed or truncated', () => {
  const cursor = pageAfter({ limit: '2' }).nextCursor ?? ''
  assert.throws(() => cursors.read('other list', { cursor }), refused)
  assert.throws(() => createCursors(randomBytes(32)).read('list', { cursor }), refused)
  const bytes = Buffer.from(cursor, 'base64url')
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    assert.throws(() => cursors.read('list', { cursor: changed.toString('base64url') }), refused, `byte ${at}`)
    const cut = bytes.subarray(0, at).toString('base64url')
    assert.throws(() => cursors.read('list', { cursor: cut }), refused, `cut at ${at}`)
  }
})

test('refuses a text that is not a cursor', () => {
  fc.assert(fc.property(fc.string(), (cursor) => assert.throws(() => cursors.read('list', { cursor }), refused)))
})
