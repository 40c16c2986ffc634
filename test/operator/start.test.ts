/** Starts, stops, restarts and kills of the service as a user runs it, with the embedded database. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createClient, success, textAt } from '../support/client.ts'
import { halfRequest } from '../support/half-request.ts'
import { freePorts, launch, linesOf, type Program, run, start, stop } from '../support/program.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createCustomer } from '../support/world.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'partner-payments-start-'))
const [PORT, OPS_PORT] = (await freePorts(2)) as [string, string]
const env = { DATA_DIR: dataDir, PORT, OPS_PORT }
const baseUrl = `http://127.0.0.1:${PORT}`
const credentialsPath = join(dataDir, 'sandbox-credentials.json')
const readFileOf = (path: string) => readCredentials(JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>)

let service: Program
const startService = async () => {
  service = await start(['serve'], env)
  await until('the welcome', () => service.stdout().includes('Ctrl-C'))
}

const postgresPid = () => Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

before(startService)
after(async () => {
  service.signal('SIGTERM')
  await service.ended
  await rm(dataDir, { recursive: true, force: true })
})

test('a first start prints its addresses in under ten lines, and writes credentials that work', async () => {
  assert.equal(service.stderr(), '')
  assert.ok(linesOf(service.stdout()).length < 10, service.stdout())
  for (const part of [baseUrl, credentialsPath, `:${OPS_PORT}/healthz`])
    assert.ok(service.stdout().includes(part), part)
  assert.equal(statSync(credentialsPath).mode & 0o777, 0o600)
  const file = JSON.parse(readFileSync(credentialsPath, 'utf8')) as Record<string, unknown>
  assert.deepEqual(Object.keys(file), ['baseUrl', 'partnerId', 'apiKey', 'apiSecret', 'privateKeyPem'])
  assert.equal(file.baseUrl, baseUrl)
  success(await createClient(baseUrl, readFileOf(credentialsPath)).get('/v1/accounts'))
})

test('a second service on the same folder and a failing command end with one line and do not disturb the first', async () => {
  const [port, opsPort] = (await freePorts(2)) as [string, string]
  const second = await run(['serve'], { DATA_DIR: dataDir, PORT: port, OPS_PORT: opsPort })
  assert.equal(second.code, 1)
  assert.deepEqual(linesOf(second.stderr), [
    `the data folder ${dataDir} is in use by another service (pid ${service.pid}): stop that one first`,
  ])
  assert.equal(second.stdout, '')
  const unknownPartnerId = '00000000-0000-7000-8000-000000000000'
  const words = ['operator', 'impersonate', '--partner', unknownPartnerId, '--staff', 'Sam', '--note', 'Ticket 7']
  const refused = await run(words, env)
  const { code, stdout, stderr } = refused
  assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: 'No such partner.\n' })
  const created = await run(['operator', 'partner', 'create', '--name', 'Second Partner'], env)
  assert.equal(created.code, 0, created.stderr)
  const client = createClient(baseUrl, readCredentials(JSON.parse(created.stdout) as Record<string, string>))
  success(await client.get('/v1/accounts'))
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} answers the request in flight, ends all processes, and the next start has all data`, async () => {
    const credentials = readFileOf(credentialsPath)
    const email = `drain-${signal.toLowerCase()}@example.com`
    const request = await halfRequest(baseUrl, credentials, '/v1/customers', { email })
    const pid = postgresPid()
    service.signal(signal)
    await until('not ready while stopping', async () => {
      const answer = await fetch(`http://127.0.0.1:${OPS_PORT}/readyz`)
      return answer.status === 503 && (await answer.text()).includes('stopping')
    })
    const answer = await request.finish()
    assert.match(answer, /HTTP\/1\.1 200 OK\r\n/)
    const { code, stderr } = await service.ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    await until('PostgreSQL has ended', () => !isAlive(pid))
    assert.equal(existsSync(join(dataDir, 'service.pid')), false)

    await startService()
    assert.deepEqual(readFileOf(credentialsPath), credentials)
    const list = success(await createClient(baseUrl, credentials).get('/v1/customers'))
    assert.equal((list.data as readonly { email: string }[])[0]?.email, email)
  })

test('after SIGKILL, PostgreSQL ends and the next start has all acknowledged data', async () => {
  const client = createClient(baseUrl, readFileOf(credentialsPath))
  const guid = textAt(await createCustomer(client), 'guid')
  const pid = postgresPid()
  service.signal('SIGKILL')
  await service.ended
  await startService()
  assert.equal(isAlive(pid), false)
  success(await client.get(`/v1/customers/${guid}`))
})

test('a start that fails after PostgreSQL started stops PostgreSQL and removes the lock', async () => {
  await stop(service)
  const [other, opsOther] = (await freePorts(2)) as [string, string]
  const holder = launch(['serve'], { DATA_DIR: `${dataDir}-holder`, PORT: other, OPS_PORT: opsOther })
  try {
    await until('the other service listens', () => holder.stdout().includes('Ctrl-C'))
    for (const { variable, port } of [
      { variable: 'PORT', port: other },
      { variable: 'OPS_PORT', port: opsOther },
    ]) {
      const ending = await run(['serve'], { ...env, [variable]: port })
      const { code, stdout, stderr } = ending
      const line = `127.0.0.1:${port} is in use: choose another with ${variable}\n`
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: line })
      assert.equal(existsSync(join(dataDir, 'service.pid')), false)
      assert.equal(existsSync(join(dataDir, 'postgres/postmaster.pid')), false)
    }
  } finally {
    await stop(holder)
    await rm(`${dataDir}-holder`, { recursive: true, force: true })
  }
  await startService()
})

test('a data folder that does not exist is created, also without the embedded database', async () => {
  const database = await createTestDatabase()
  const missing = join(dataDir, 'not', 'there')
  const [port, opsPort] = (await freePorts(2)) as [string, string]
  const keys = { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATABASE_URL: database.url }
  const program = await start(['serve'], { DATA_DIR: missing, PORT: port, OPS_PORT: opsPort, ...keys })
  await until('the credentials', () => existsSync(join(missing, 'sandbox-credentials.json')))
  assert.equal((await stop(program)).code, 0)
  await database.drop()
})
