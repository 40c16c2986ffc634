/**
 * Measures an idle service: processor time of the service and of its PostgreSQL, and transactions a
 * second. `node scripts/measure/idle.ts [--partners 1000] [--seconds 60] [--tree FOLDER]`. `--tree`: another checkout, whose
 * service is measured. It reads `/proc`, so it runs on Linux only.
 */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { freePorts } from '../ports.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const ticksPerSecond = 100
/** The first rounds over new partners take so long: checkpoints visit 200 partners in 10 s. */
const settlingMs = 90_000
const partnersPerInsert = 1000

const { values } = parseArgs({
  options: {
    partners: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    tree: { type: 'string', default: root },
  },
})
const partners = Number(values.partners)
const seconds = Number(values.seconds)
const dataDir = mkdtempSync(join(tmpdir(), 'idle-'))
// The embedded server runs as another user if this process runs as root.
chmodSync(dataDir, 0o711)
const [port = 0, opsPort = 0] = await freePorts(2)
const service = spawn(process.execPath, [join(resolve(values.tree), 'service/src/main.ts'), 'serve'], {
  env: {
    PATH: process.env['PATH'],
    DATA_DIR: dataDir,
    PORT: String(port),
    OPS_PORT: String(opsPort),
    LOG_LEVEL: 'warn',
  },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const ended = new Promise<void>((done) => service.once('exit', () => done()))
try {
  while (!existsSync(join(dataDir, 'sandbox-credentials.json'))) await pause(200)
  const [postmaster = '', , , databasePort = ''] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split(
    '\n',
  )
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  const database = new pg.Client(`postgres://postgres:${password}@127.0.0.1:${databasePort}/payments`)
  await database.connect()
  for (let made = 0; made < partners; made += partnersPerInsert)
    await database.query(
      `insert into access.partners (id, name, created_at)
       select uuidv7(), 'Partner ' || number, now() from generate_series(1, $1::integer) as number`,
      [Math.min(partnersPerInsert, partners - made)],
    )
  await pause(settlingMs)
  const before = await read(database, Number(postmaster))
  await pause(seconds * 1000)
  const after = await read(database, Number(postmaster))
  await database.end()
  const used = { service: after.service - before.service, postgres: after.postgres - before.postgres }
  const total = used.service + used.postgres
  const figures = {
    partners,
    seconds,
    serviceCpuSeconds: round(used.service),
    postgresCpuSeconds: round(used.postgres),
    cores: round(total / seconds),
    transactionsPerSecond: round((after.transactions - before.transactions) / seconds),
  }
  console.log(JSON.stringify(figures))
} finally {
  service.kill('SIGTERM')
  await ended
  rmSync(dataDir, { recursive: true, force: true })
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

/** The processor seconds of a process, and of its children that have ended and were waited for. */
function usedBy(pid: number): number {
  const fields = statOf(pid)
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}

/** The fields of `/proc/<pid>/stat` behind the name of the program, which may contain spaces. */
function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(statOf(pid)[1]) === parent
      } catch {
        return false
      }
    })
}

async function read(database: pg.Client, postmaster: number) {
  const { rows } = await database.query<{ count: string }>(
    `select sum(xact_commit + xact_rollback) as count from pg_stat_database`,
  )
  const postgres = [postmaster, ...childrenOf(postmaster)].reduce((sum, pid) => sum + usedBy(pid), 0)
  return { service: usedBy(service.pid ?? 0), postgres, transactions: Number(rows[0]?.count) }
}
