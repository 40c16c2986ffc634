/** The public pages of a running service: the reference, the pages of problems, and where `/` leads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'

const service = await useSharedService()

const read = (path: string, method = 'GET') =>
  fetch(new URL(path, service.baseUrl), { method, redirect: 'manual', signal: AbortSignal.timeout(10_000) })

test('302 from / to /docs, to GET and HEAD, without authentication', async () => {
  for (const method of ['GET', 'HEAD']) {
    const answer = await read('/', method)
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs'])
  }
  assert.equal((await read('/docs')).status, 200)
  assert.equal((await read('/docs', 'HEAD')).status, 200)
})

test('200 to the `type` of a problem: a page with cause, cure and example, without authentication', async () => {
  const problem = assertProblem(await service.client.get('/v1/transactions/unknown'), {
    status: 404,
    code: 'not_found',
  })
  assert.equal(textAt(problem, 'type'), '/problems/not_found')
  const page = await read(textAt(problem, 'type'))
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  const html = await page.text()
  for (const part of ['Cause', 'Cure', 'Example', 'HTTP status 404']) assert.ok(html.includes(part), part)
})

test('404 to the problem page of an unknown code and to an unknown path', async () => {
  for (const path of ['/problems/none', '/docs/none', '/docs/browser/try.js'])
    assert.equal((await read(path)).status, 404, path)
})
