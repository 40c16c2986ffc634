/** The operations port: liveness, readiness, and the metrics that docs/operations.md explains. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, readMigrations, sql } from '../../service/src/postgres/index.ts'
import { success } from '../support/client.ts'
import { useProxiedDatabase, useReceiver, useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'

const { database, wire, url } = await useProxiedDatabase()
const receiver = await useReceiver()
const service = await useService({ env: { DATABASE_URL: url } })
await createWorld(service.client, receiver.url, service)

const ask = async (path: string) => {
  const answer = await fetch(`${service.opsUrl}${path}`)
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() }
}
// Before a test disconnects the database: an attempt that cannot be recorded is repeated only after its lease.
await until('a delivery', async () => (await ask('/metrics')).text.includes('outcome="delivered"'))

test('200 for liveness always; 503 for readiness while the database is unreachable or silent', async () => {
  assert.deepEqual(await ask('/healthz'), { status: 200, type: 'application/json', text: '{"status":"ok"}' })
  const ready = await ask('/readyz')
  const schema = (await readMigrations()).at(-1)?.number
  assert.deepEqual(ready, { status: 200, type: 'application/json', text: `{"status":"ok","schema":${schema}}` })
  assert.equal((await ask('/')).status, 404)
  await wire.cut()
  const unready = await ask('/readyz')
  assert.equal(unready.status, 503)
  assert.deepEqual(JSON.parse(unready.text), { status: 'unavailable', reason: 'the database cannot be reached' })
  assert.equal((await ask('/healthz')).status, 200)
  await wire.mend()
  await until('ready again', async () => (await ask('/readyz')).status === 200)
  wire.hold()
  assert.match((await ask('/readyz')).text, /the database does not answer/)
  await wire.mend()
  await until('ready again', async () => (await ask('/readyz')).status === 200)
  const db = createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') })
  await db.run(sql`update public.schema_migrations set number = -number where number = 315`)
  const lacking = await ask('/readyz')
  assert.equal(lacking.status, 503)
  assert.match(lacking.text, /the database lacks migration 0315-mail\.sql/)
  await db.run(sql`update public.schema_migrations set number = 315 where number = -315`)
  await db.close()
  await until('ready again', async () => (await ask('/readyz')).status === 200)
})

test('404 for the API at the operations port, and for the operations paths at the API', async () => {
  assert.equal((await ask('/v1/accounts')).status, 404)
  for (const path of ['/metrics', '/healthz', '/readyz'])
    assert.equal((await fetch(`${service.baseUrl}${path}`)).status, 404, path)
})

const names = (text: string, prefix: RegExp) =>
  new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name).filter((name) => prefix.test(name)))

test('the metrics are Prometheus text, count requests, and match docs/operations.md exactly', async () => {
  success(await service.client.get('/v1/accounts'))
  assert.equal((await fetch(`${service.baseUrl}/v1/accounts`)).status, 401)
  await until('both requests are counted', async () =>
    (await ask('/metrics')).text.includes('operation="listAccounts",status="401"'),
  )
  const { status, type, text } = await ask('/metrics')
  assert.equal(status, 200)
  assert.match(type, /^text\/plain; version=/)
  assert.match(text, /^payments_request_duration_seconds_count\{operation="createFiatPayout",status="200"\} \d+$/m)
  assert.match(
    text,
    /^payments_request_duration_seconds_bucket\{le="0.1",operation="createFiatPayout",status="200"\} \d+$/m,
  )
  assert.match(text, /^payments_database_connections\{state="idle"\} \d+$/m)
  assert.match(text, /^nodejs_eventloop_lag_p99_seconds \S+$/m)
  const page = readFileSync(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8')
  const cells = [...page.matchAll(/^\| (`payments_[^|]+)\|/gm)].map(([, cell = '']) => cell)
  const explained = new Set(cells.flatMap((cell) => cell.match(/payments_\w+/g) ?? []))
  assert.deepEqual(explained, names(text, /^payments_/))
  for (const [, name = ''] of page.matchAll(/`((?:nodejs|process)_\w+)`/g))
    assert.ok(names(text, /./).has(name), `docs/operations.md names ${name}, which is missing in the output`)
})
