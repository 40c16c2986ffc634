/** Tests start, stop, restart and kill of the service as a user runs it, with the embedded database. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient, success, textAt } from '../support/client.ts'
import { atEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { halfRequest } from '../support/half-request.ts'
import { assertRefusal, freePortSettings, launch, linesOf, run, start, stop } from '../support/program.ts'
import { createPartner, readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createCustomer } from '../support/world.ts'

const dataDir = await useFolder()
const env = { DATA_DIR: dataDir, ...(await freePortSettings()) }
const baseUrl = `http://127.0.0.1:${env.PORT}`
const credentialsPath = join(dataDir, 'sandbox-credentials.json')
const storedCredentials = () => readCredentials(readFileSync(credentialsPath, 'utf8'))

const startService = async () => {
  const program = await start(['serve'], env)
  await until('the welcome', () => program.stdout().includes('Ctrl-C'))
  return program
}
let service = await startService()
atEnd(() => stop(service))

const postgresPid = () => Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

test('a first start prints its addresses in under ten lines, and writes credentials that work', async () => {
  assert.equal(service.stderr(), '')
  assert.ok(linesOf(service.stdout()).length < 10, service.stdout())
  for (const part of [baseUrl, credentialsPath, `:${env.OPS_PORT}/healthz`])
    assert.ok(service.stdout().includes(part), part)
  assert.equal(statSync(credentialsPath).mode & 0o777, 0o600)
  const file = JSON.parse(readFileSync(credentialsPath, 'utf8')) as Record<string, unknown>
  assert.deepEqual(Object.keys(file), ['baseUrl', 'partnerId', 'apiKey', 'apiSecret', 'privateKeyPem'])
  assert.equal(file.baseUrl, baseUrl)
  success(await createClient(baseUrl, storedCredentials()).get('/v1/accounts'))
})

test('a second service on the same folder and a failing command end with one line and do not disturb the first', async () => {
  const second = await run(['serve'], { ...env, ...(await freePortSettings()) })
  const line = `the data folder ${dataDir} is in use by another service (pid ${service.pid}): stop that service first`
  assertRefusal(second, line)
  const unknownPartnerId = '00000000-0000-7000-8000-000000000000'
  const words = ['operator', 'impersonate', '--partner', unknownPartnerId, '--staff', 'Sam', '--note', 'Ticket 7']
  assertRefusal(await run(words, env), 'No such partner.')
  success(await createClient(baseUrl, await createPartner('Second Partner', env)).get('/v1/accounts'))
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} answers the request in flight, ends all processes, and the next start has all data`, async () => {
    const credentials = storedCredentials()
    const email = `drain-${signal.toLowerCase()}@example.com`
    const request = await halfRequest(baseUrl, credentials, '/v1/customers', { email })
    const pid = postgresPid()
    service.signal(signal)
    await until('not ready while stopping', async () => {
      const answer = await fetch(`http://127.0.0.1:${env.OPS_PORT}/readyz`)
      return answer.status === 503 && (await answer.text()).includes('stopping')
    })
    const answer = await request.finish()
    assert.match(answer, /HTTP\/1\.1 200 OK\r\n/)
    const { code, stderr } = await service.ended
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    await until('PostgreSQL has ended', () => !isAlive(pid))
    assert.equal(existsSync(join(dataDir, 'service.pid')), false)

    service = await startService()
    assert.deepEqual(storedCredentials(), credentials)
    const list = success(await createClient(baseUrl, credentials).get('/v1/customers'))
    assert.equal((list.data as readonly { email: string }[])[0]?.email, email)
  })

test('after SIGKILL, PostgreSQL ends and the next start has all acknowledged data', async () => {
  const client = createClient(baseUrl, storedCredentials())
  const guid = textAt(await createCustomer(client), 'guid')
  const pid = postgresPid()
  service.signal('SIGKILL')
  await service.ended
  service = await startService()
  assert.equal(isAlive(pid), false)
  success(await client.get(`/v1/customers/${guid}`))
})

test('a start that fails after PostgreSQL started stops PostgreSQL and removes the lock', async () => {
  await stop(service)
  const taken = await freePortSettings()
  const holder = launch(['serve'], { DATA_DIR: `${dataDir}-holder`, ...taken })
  try {
    await until('the other service listens', () => holder.stdout().includes('Ctrl-C'))
    for (const [variable, port] of Object.entries(taken)) {
      const line = `127.0.0.1:${port} is in use: choose another with ${variable}`
      assertRefusal(await run(['serve'], { ...env, [variable]: port }), line)
      assert.equal(existsSync(join(dataDir, 'service.pid')), false)
      assert.equal(existsSync(join(dataDir, 'postgres/postmaster.pid')), false)
    }
  } finally {
    await stop(holder)
    await rm(`${dataDir}-holder`, { recursive: true, force: true })
  }
  service = await startService()
})

test('a data folder that does not exist is created, also without the embedded database', async () => {
  const { url } = await useDatabase()
  const missing = join(dataDir, 'not', 'there')
  const keys = { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATABASE_URL: url }
  const program = await start(['serve'], { DATA_DIR: missing, ...(await freePortSettings()), ...keys })
  await until('the credentials', () => existsSync(join(missing, 'sandbox-credentials.json')))
  assert.equal((await stop(program)).code, 0)
})
