import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { mailsIn } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createCustomer, finalTransaction } from '../support/world.ts'

const service = await useSharedService()

const day = 86_400_000

async function ready(body: JsonObject): Promise<JsonObject> {
  const { client } = service
  const id = textAt(success(await client.post('/v1/reports', body)), 'id')
  return until('the report is ready', async () => {
    const report = success(await client.get(`/v1/reports/${id}`))
    assert.notEqual(report.status, 'Failed')
    return report.status === 'Ready' && report
  })
}

async function paid(): Promise<void> {
  const guid = textAt(await createCustomer(service.client), 'guid')
  const deposit = { customerId: guid, amount: 12.5, currency: 'EUR', outcome: 'completed' }
  const { reference } = success(await service.client.post('/v1/simulations/deposits', deposit))
  await finalTransaction(service.client, String(reference))
}

const content = (id: unknown, headers: Record<string, string> = {}) =>
  service.client.send({ method: 'GET', target: `/v1/reports/${String(id)}/content`, headers })

test('200 with the whole file, whose length and hash the report states', async () => {
  await paid()
  const to = new Date(Date.now()).toISOString()
  const from = new Date(Date.now() - day).toISOString()
  const report = await ready({ kind: 'statement', format: 'csv', currency: 'EUR', from, to })
  const answer = await content(report.id)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
  assert.equal(Number(answer.headers['content-length']), report.bytes)
  assert.equal(answer.headers['accept-ranges'], 'bytes')
  assert.equal(answer.headers.etag, `"${textAt(report, 'sha256')}"`)
  assert.match(String(answer.headers['content-disposition']), /^attachment; filename="statement-EUR-[\d-]+\.csv"$/)
  assert.equal(createHash('sha256').update(answer.text).digest('hex'), report.sha256)
  assert.match(answer.text, /^record,currency,.*\r\nopening,EUR/)
  assert.equal(answer.text.trimEnd().split('\r\n').length - 1, report.rows)
  const again = await ready({ kind: 'statement', format: 'csv', currency: 'EUR', from, to })
  assert.equal(again.sha256, report.sha256)
})

test('206 with a range, 200 when the range is of another version, and 416 beyond the end', async () => {
  const period = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
  const { id, sha256 } = await ready({ kind: 'fees', format: 'csv', ...period })
  const whole = (await content(id)).text
  const ranges = [
    ['bytes=0-0', whole.slice(0, 1), 'bytes 0-0'],
    ['bytes=3-9', whole.slice(3, 10), 'bytes 3-9'],
    ['bytes=5-', whole.slice(5), `bytes 5-${whole.length - 1}`],
    ['bytes=-4', whole.slice(-4), `bytes ${whole.length - 4}-${whole.length - 1}`],
    ['bytes=0-999999', whole, `bytes 0-${whole.length - 1}`],
  ] as const
  for (const [range, text, shown] of ranges) {
    const answer = await content(id, { Range: range })
    assert.deepEqual(
      [answer.status, answer.text, answer.headers['content-range']],
      [206, text, `${shown}/${whole.length}`],
      range,
    )
  }
  for (const range of ['bytes=', 'bytes=-', 'bytes=9-3', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=x-1'])
    assert.deepEqual([(await content(id, { Range: range })).status, range], [200, range])
  const matching = { Range: 'bytes=0-1', 'If-Range': `"${String(sha256)}"` }
  assert.equal((await content(id, matching)).status, 206)
  assert.equal((await content(id, { ...matching, 'If-Range': '"other"' })).status, 200)
  const behind = await content(id, { Range: `bytes=${whole.length}-` })
  assertProblem(behind, { status: 416, code: 'range_not_satisfiable' })
  assert.equal(behind.headers['content-range'], `bytes */${whole.length}`)
})

test('404 when the report is deleted, for its content as well', async () => {
  const period = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
  const { id } = await ready({ kind: 'reconciliation', format: 'jsonl', ...period })
  assert.equal((await service.client.delete(`/v1/reports/${String(id)}`)).status, 204)
  assertProblem(await content(id), { status: 404, code: 'not_found' })
  assertProblem(await service.client.get(`/v1/reports/${String(id)}`), { status: 404, code: 'not_found' })
})

test('200 for the link of a mail without a signature, 404 for any other token', async () => {
  const { client, databaseUrl } = service
  const schedule = {
    kind: 'statement',
    format: 'pdf',
    currency: 'EUR',
    frequency: 'daily',
    emails: ['cfo@example.com'],
  }
  assertProblem(await client.post('/v1/reports/schedules', schedule), { status: 400, pointer: '/emails/0' })
  const person = { email: 'cfo@example.com', fullName: 'Joan Clarke', role: 'Operator' }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  const { id } = success(await client.post('/v1/reports/schedules', schedule))
  const { createDatabase, sql } = await import('../../service/src/postgres/index.ts')
  const { createLog } = await import('../../service/src/kernel/index.ts')
  const db = createDatabase({ url: databaseUrl, connectionsMax: 1, log: createLog('silent') })
  const end = new Date(Math.floor(Date.now() / day) * day)
  await db.run(sql`update reports.schedules set next_at = ${end} where id = ${String(id)}`)
  await db.close()
  const mail = await until('the mail is sent', async () =>
    (await mailsIn(service, 'cfo@example.com')).find((each) => each.includes('/reports/')),
  )
  const link = /X-Invitation-Link: (\S+)|\n(http\S+\/reports\/\S+)/.exec(mail.replaceAll('=\n', ''))
  const path = new URL(link?.[1] ?? link?.[2] ?? '').pathname
  const answer = await fetch(new URL(path, service.baseUrl))
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/pdf')
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  assert.match(await answer.text(), /^%PDF-1\.7/)
  const wrong = await fetch(new URL(`${path.slice(0, -2)}xx`, service.baseUrl))
  assert.equal(wrong.status, 404)
  assert.equal(((await wrong.json()) as { code: string }).code, 'not_found')
})
