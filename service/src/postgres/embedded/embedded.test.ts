import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import pg from 'pg'
import { type EmbeddedPostgres, EmbeddedPostgresError, startEmbeddedPostgres } from './index.ts'
import { startTimeOf, until } from './process.ts'

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 })
})

const newFolder = (mode = 0o711): string => {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-embedded-'))
  chmodSync(folder, mode)
  folders.push(folder)
  return join(folder, '.data')
}

const start = (dataDir: string): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ dataDir, durable: false })
const isGone = (pid: number): boolean => startTimeOf(pid) === undefined

const query = async (url: string, text: string): Promise<readonly unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

type Service = { readonly process: ChildProcess; readonly pid: number; readonly url: string }

/** Starts the embedded server from a separate process, which the test kills. */
const spawnNode = (dataDir: string): ChildProcess => {
  const module = JSON.stringify(new URL('./index.ts', import.meta.url).href)
  const program = `
    const { startEmbeddedPostgres } = await import(${module})
    const { pid, url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: true })
    console.log(JSON.stringify({ pid, url }))
    setInterval(() => {}, 1000)
  `
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
}

const spawnService = async (dataDir: string): Promise<Service> => {
  const child = spawnNode(dataDir)
  assert.ok(child.stdout)
  const [line] = await once(createInterface(child.stdout), 'line')
  return { process: child, ...JSON.parse(String(line)) }
}

const kill = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('the first start creates the database with its settings, and the second start finds its rows', async () => {
  const dataDir = newFolder()
  const first = await start(dataDir)
  const settings = await query(
    first.url,
    `
    select current_setting('TimeZone'), current_setting('data_checksums'), current_setting('max_connections'),
      current_setting('listen_addresses'), current_setting('unix_socket_directories'), pg_encoding_to_char(encoding),
      datname, datlocprovider, to_jsonb(pg_database) ->> 'datlocale', current_setting('server_version_num')::integer
    from pg_database where datname = current_database()
  `,
  )
  const version = settings.at(-1) as number
  // Earlier versions have no locale of their own.
  const locale = version >= 170_000 ? ['b', 'C.UTF-8'] : ['c', null]
  assert.deepEqual(settings.slice(0, -1), ['UTC', 'on', '200', '127.0.0.1', '', 'UTF8', 'payments', ...locale])
  const bad = Object.assign(new URL(first.url), { password: 'guess' }).href
  await assert.rejects(query(bad, 'select 1'), { code: '28P01' })
  if (process.platform !== 'win32') assert.equal(statSync(join(dataDir, 'postgres-password')).mode & 0o777, 0o600)
  await query(first.url, 'create table kept as select 42 as answer')
  await first.stop()
  assert.ok(isGone(first.pid))

  const second = await start(dataDir)
  assert.deepEqual(await query(second.url, 'select answer from kept'), [42])
  await second.stop()
})

test('stop releases the folder and resolves `ended`, also if it is called twice', async () => {
  const dataDir = newFolder()
  const server = await start(dataDir)
  await Promise.all([server.stop(), server.stop()])
  await server.stop()
  await server.ended
  assert.ok(isGone(server.pid))
  assert.equal(existsSync(join(dataDir, 'service.pid')), false)
})

test('the server ends when its service is killed, and the next start has the committed rows', async () => {
  const dataDir = newFolder()
  const service = await spawnService(dataDir)
  await query(service.url, 'create table kept as select 42 as answer')
  await kill(service.process)
  assert.ok(await until(() => isGone(service.pid), 2_000))
  const server = await start(dataDir)
  assert.deepEqual(await query(server.url, 'select answer from kept'), [42])
  await server.stop()
})

test('a start right after the service was killed waits for the previous server to end', async () => {
  const dataDir = newFolder()
  const service = await spawnService(dataDir)
  await query(service.url, 'create table kept as select 42 as answer')
  await kill(service.process)
  const server = await start(dataDir)
  assert.deepEqual(await query(server.url, 'select answer from kept'), [42])
  await server.stop()
})

test('a start after service and server were both killed recovers the committed rows', async () => {
  const dataDir = newFolder()
  const service = await spawnService(dataDir)
  await query(service.url, 'create table kept as select 42 as answer')
  process.kill(service.pid, 'SIGKILL')
  await kill(service.process)
  assert.ok(existsSync(join(dataDir, 'postgres/postmaster.pid')))
  const server = await start(dataDir)
  assert.deepEqual(await query(server.url, 'select answer from kept'), [42])
  await server.stop()
})

test('a second service on the same folder fails with one line that states the pid of the first', async () => {
  const dataDir = newFolder()
  const service = await spawnService(dataDir)
  await assert.rejects(start(dataDir), (thrown: unknown) => {
    assert.ok(thrown instanceof EmbeddedPostgresError)
    assert.match(
      thrown.message,
      new RegExp(`^the data folder .* is in use by another service \\(pid ${service.process.pid}\\).*$`),
    )
    return true
  })
  assert.deepEqual(await query(service.url, 'select 1'), [1])
  await kill(service.process)
  assert.ok(await until(() => isGone(service.pid), 5_000))
})

test('if several services start at once, exactly one of them locks the folder', async () => {
  const dataDir = newFolder()
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'service.pid'), '1\nnot-its-start\n')
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => start(dataDir)))
  const started = results.filter((result) => result.status === 'fulfilled')
  assert.equal(started.length, 1)
  for (const result of started) await result.value.stop()
})

test('a lock or a postmaster.pid whose pid was reused by another process does not block the folder', async () => {
  const dataDir = newFolder()
  await (await start(dataDir)).stop()
  writeFileSync(join(dataDir, 'service.pid'), `${process.ppid}\n12345\n`)
  writeFileSync(join(dataDir, 'postgres/postmaster.pid'), `${process.ppid}\n/\n1\n1\n\n127.0.0.1\n\nready\n`)
  await (await start(dataDir)).stop()
})

test('after a first start that was killed half-way, the next start creates the cluster again', async () => {
  const dataDir = newFolder()
  const drafts = (): readonly string[] =>
    existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.startsWith('postgres.new')) : []
  const child = spawnNode(dataDir)
  const isHalfWay = (): boolean => drafts().some((name) => existsSync(join(dataDir, name, 'cluster/global/pg_control')))
  assert.ok(await until(isHalfWay, 20_000, 1))
  assert.equal(existsSync(join(dataDir, 'postgres')), false)
  await kill(child)
  const server = await start(dataDir)
  assert.deepEqual(await query(server.url, 'select current_database()'), ['payments'])
  await server.stop()
  await (await start(dataDir)).stop()
  assert.ok(await until(() => drafts().every((name) => !existsSync(join(dataDir, name, 'cluster'))), 5_000))
})

test('a failed start reports one line with the error of PostgreSQL and leaves no lock or pid file', async () => {
  const dataDir = newFolder()
  await (await start(dataDir)).stop()
  const settings = join(dataDir, 'postgres/postgresql.auto.conf')
  const before = readFileSync(settings, 'utf8')
  appendFileSync(settings, "work_mem = 'plenty'\n")
  await assert.rejects(start(dataDir), (thrown: unknown) => {
    assert.ok(thrown instanceof EmbeddedPostgresError)
    assert.match(thrown.message, /^PostgreSQL did not start in .*: .*FATAL: .*postgresql\.auto\.conf.*$/)
    return true
  })
  assert.equal(existsSync(join(dataDir, 'service.pid')), false)
  assert.equal(existsSync(join(dataDir, 'postgres/postmaster.pid')), false)
  writeFileSync(settings, before)
  await (await start(dataDir)).stop()
})

test('the start rotates a log of more than 10 MB', async () => {
  const dataDir = newFolder()
  mkdirSync(dataDir)
  const log = join(dataDir, 'postgres.log')
  writeFileSync(log, '')
  truncateSync(log, 11 * 1024 * 1024)
  const server = await start(dataDir)
  await server.stop()
  assert.ok(statSync(log).size < 1024 * 1024)
  assert.equal(statSync(`${log}.1`).size, 11 * 1024 * 1024)
})

const isRoot = process.getuid?.() === 0

test(
  'root can start a server in a folder that only root may enter',
  { skip: isRoot ? false : 'only for root' },
  async () => {
    const dataDir = newFolder(0o700)
    const first = await start(dataDir)
    await query(first.url, 'create table kept as select 42 as answer')
    await first.stop()
    const second = await start(dataDir)
    assert.deepEqual(await query(second.url, 'select answer from kept'), [42])
    await second.stop()
  },
)
