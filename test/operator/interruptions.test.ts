/** Tests accidents of an operator. Each prints one clear line without a stack trace, and the next start works. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '../support/client.ts'
import { useDatabase, useFolder } from '../support/fixture.ts'
import { freePortSettings, launch, linesOf, run, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const folder = await useFolder()
const database = await useDatabase()
const environment = async (name: string) => ({ DATA_DIR: join(folder, name), ...(await freePortSettings()) })
const MASTER_KEY = randomBytes(32).toString('base64')
const trace = /\n\s+at |"stack"/

test('after the data folder is removed, the service ends with one plain line and no stack trace, and no request gets 500', async () => {
  const env = await environment('removed')
  const service = await start(['serve'], env)
  await until('the welcome', () => service.stdout().includes('Ctrl-C'))
  const file = readFileSync(join(env.DATA_DIR, 'sandbox-credentials.json'), 'utf8')
  const client = createClient(`http://127.0.0.1:${env.PORT}`, readCredentials(file))
  assert.equal((await client.get('/v1/customers')).status, 200)
  await rm(env.DATA_DIR, { recursive: true, force: true, maxRetries: 5 })
  const statuses = new Set<number>()
  let hasEnded = false
  void service.ended.then(() => (hasEnded = true))
  // Many concurrent calls, because the time between the end of the database and the end of the service is short or zero.
  const calls = [() => client.get('/v1/customers'), () => client.post('/v1/customers', { email: 'a@b.co' })]
  const call = async (at: number) => {
    while (!hasEnded)
      await calls[at % calls.length]?.().then(
        ({ status }) => statuses.add(status),
        () => pause(1),
      )
  }
  await Promise.all(Array.from({ length: 8 }, (_, at) => call(at)))
  const { code, stderr } = await service.ended
  assert.equal(code, 1)
  // 200 and 201 may occur, because PostgreSQL continues with its open files.
  for (const status of [200, 201]) statuses.delete(status)
  assert.deepEqual([...statuses.difference(new Set([502]))], [])
  assert.doesNotMatch(stderr, trace)
  const plain = linesOf(stderr).filter((line) => !line.startsWith('{'))
  assert.deepEqual(plain, [`The data folder ${env.DATA_DIR} was removed while the service ran: the service stops.`])
})

for (const path of ['.', 'postgres/postmaster.pid', 'master.key'])
  test(`a Ctrl-C during the first start, when ${path} appears, ends with one line, and the next start works`, async () => {
    const env = await environment(`interrupted-${path.replaceAll(/\W/g, '-')}`)
    const service = launch(['serve'], env)
    // The migrations run before the key is created. The limit only guards against a hang.
    await until(path, () => existsSync(join(env.DATA_DIR, path)), 120_000)
    service.signal('SIGINT')
    const { code, stdout, stderr } = await service.ended
    const line = 'Stopped before the service was ready.\n'
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: line })
    assert.equal(existsSync(join(env.DATA_DIR, 'service.pid')), false)
    assert.equal(existsSync(join(env.DATA_DIR, 'postgres/postmaster.pid')), false)
    assert.equal((await stop(await start(['serve'], env))).code, 0)
  })

test('a start with both ports taken names both in one line', async () => {
  const { PORT, OPS_PORT } = await freePortSettings()
  const holders: readonly Server[] = await Promise.all(
    [PORT, OPS_PORT].map(
      (port) =>
        new Promise<Server>((resolve) => {
          const server = createServer().listen(Number(port), '127.0.0.1', () => resolve(server))
        }),
    ),
  )
  const env = { DATA_DIR: join(folder, 'ports'), DATABASE_URL: database.url, MASTER_KEY, PORT, OPS_PORT }
  for (const words of [['serve'], ['serve', '--processes', '2']]) {
    const { code, stdout, stderr } = await run(words, env)
    const line = `127.0.0.1:${PORT} and 127.0.0.1:${OPS_PORT} are in use: choose others with PORT and OPS_PORT, or stop the other service\n`
    assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: line })
  }
  for (const holder of holders) holder.close()
})

test('an older Node is refused with one line by every npm script', () => {
  const older = '{...process.versions,node:"20.19.0"}'
  const preload = `data:text/javascript,Object.defineProperty(process,"versions",{value:${older}})`
  const words = ['--import', preload, 'scripts/require-node.mjs']
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: repository, encoding: 'utf8' })
  assert.deepEqual({ status, stdout, lines: linesOf(stderr).length }, { status: 1, stdout: '', lines: 1 })
  assert.match(
    stderr,
    /^Node 26 or newer is required; this is Node 20\.19\.0\. Run npm ci without --omit=optional, or /,
  )
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  for (const [name, command] of Object.entries(scripts))
    if (command.includes('.ts')) assert.ok(command.startsWith('node scripts/require-node.mjs && '), name)
})

test('an operator command prints only its result, at every log level', async () => {
  const env = { DATA_DIR: join(folder, 'operator'), DATABASE_URL: database.url, MASTER_KEY, LOG_LEVEL: 'debug' }
  const { code, stdout, stderr } = await run(['operator', 'partner', 'create', '--name', 'Quiet'], env)
  assert.deepEqual({ code, stderr, lines: linesOf(stdout).length }, { code: 0, stderr: '', lines: 1 })
  assert.equal(typeof (JSON.parse(stdout) as { readonly partnerId: unknown }).partnerId, 'string')
})
