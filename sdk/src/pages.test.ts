import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Respond, assertSigned, drop, json, startScriptedApi } from '../../test/support/scripted-api.ts'
import { methods, operations } from './generated/operations.ts'
import { ApiConnectionError } from './problem.ts'

/** Serves the numbers from 0 to `count` - 1 in pages of `size`. The cursor is the number of the next item. */
const numbers =
  (count: number, size: number, cursorName = 'cursor'): Respond =>
  (response, number, request) => {
    const from = Number(new URL(request.url, 'http://x').searchParams.get(cursorName) ?? 0)
    const to = Math.min(count, from + size)
    const data = Array.from({ length: to - from }, (_, index) => ({ guid: String(from + index) }))
    const hasMore = to < count
    json(200, { data, hasMore, nextCursor: hasMore ? String(to) : null })(response, number, request)
  }
const queries = (requests: readonly { readonly url: string }[]) => requests.map(({ url }) => url.split('?')[1])

test('listAll returns the items of all pages, in order, with the filters on every page', async (context) => {
  const { client, requests } = await startScriptedApi(context, numbers(7, 3))
  const guids: string[] = []
  for await (const { guid } of client.customers.listAll({ email: 'a@b.c' })) guids.push(guid)
  assert.deepEqual(guids, ['0', '1', '2', '3', '4', '5', '6'])
  assert.deepEqual(queries(requests), [
    'email=a%40b.c&limit=100',
    'cursor=3&email=a%40b.c&limit=100',
    'cursor=6&email=a%40b.c&limit=100',
  ])
  for (const request of requests) assertSigned(request)
})

test('listAll requests a page only when the iteration reaches it, and ends after a break', async (context) => {
  const { client, requests } = await startScriptedApi(context, numbers(100, 2))
  const all = client.customers.listAll({ limit: 2 })
  assert.equal(requests.length, 0)
  for await (const { guid } of all) if (guid === '3') break
  assert.deepEqual(queries(requests), ['limit=2', 'cursor=2&limit=2'])
})

test('pages returns whole pages, and each iteration starts again', async (context) => {
  const { client } = await startScriptedApi(context, numbers(5, 2))
  const all = client.customers.listAll()
  for (let round = 0; round < 2; round += 1) {
    const sizes: (readonly [number, string | null])[] = []
    for await (const page of all.pages()) sizes.push([page.data.length, page.nextCursor])
    assert.deepEqual(sizes, [
      [2, '2'],
      [2, '4'],
      [1, null],
    ])
  }
})

test('continues from a given cursor, also in the event feed, whose last page has a cursor', async (context) => {
  const customers = await startScriptedApi(context, numbers(5, 2))
  assert.equal((await Array.fromAsync(customers.client.customers.listAll({ cursor: '3' }))).length, 2)
  const feed = await startScriptedApi(context, (response, count, request) => {
    const after = new URL(request.url, 'http://x').searchParams.get('after')
    const body = { data: [{ id: String(after) }], nextCursor: after === null ? 'a' : 'b', hasMore: after === null }
    json(200, body)(response, count, request)
  })
  const ids = (await Array.fromAsync(feed.client.webhooks.listAllEvents())).map(({ id }) => id)
  assert.deepEqual(ids, ['null', 'a'])
  assert.equal((await Array.fromAsync(feed.client.webhooks.listAllEvents({ after: 'x' }))).length, 1)
})

test('continues past an empty page, and passes on the options and the errors of the requests', async (context) => {
  const { client, requests } = await startScriptedApi(context, (response, count, request) => {
    if (count > 2) return drop(response, count, request)
    return json(200, { data: [], hasMore: true, nextCursor: String(count) })(response, count, request)
  })
  await assert.rejects(
    Array.fromAsync(client.webhooks.listAllDeliveries('w', {}, { retries: 0, requestId: 'r' })),
    ApiConnectionError,
  )
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-request-id']),
    ['r', 'r', 'r'],
  )
})

test('every operation with a cursor has a method for all pages', async (context) => {
  const { client } = await startScriptedApi(context, json(200, { data: [], hasMore: false, nextCursor: null }))
  let count = 0
  for (const [namespace, names] of Object.entries(methods)) {
    const group = client[namespace as keyof typeof methods] as unknown as Readonly<Record<string, Function>>
    for (const [name, id] of Object.entries(names)) {
      const { cursor, params } = operations[id]
      if (cursor === undefined) continue
      count += 1
      const all = group[name.replace(/^list/, 'listAll')]?.(...params.map(() => 'x')) as AsyncIterable<unknown>
      assert.deepEqual(await Array.fromAsync(all), [])
    }
  }
  assert.ok(count >= 9, String(count))
})
