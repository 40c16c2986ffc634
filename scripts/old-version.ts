/**
 * `npm run test:upgrade -- COMMIT` runs the code of an earlier commit under load, applies the migrations of this version to
 * its database, and fails if it refuses a request, stops delivering webhooks or is no longer ready. CI runs it with the commit
 * of the last release.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createLog } from '../service/src/kernel/index.ts'
import { createDatabase, migrate } from '../service/src/postgres/index.ts'
import { createClient } from '../test/support/client.ts'
import { createEmptyDatabase } from '../test/support/empty.ts'
import { startReceiver } from '../test/support/receiver.ts'
import { readCredentials } from '../test/support/service.ts'
import { until } from '../test/support/until.ts'
import { createBeneficiary, createCustomer, payoutText } from '../test/support/world.ts'
import { freePorts } from './ports.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [commit, ...more] = process.argv.slice(2)
if (commit === undefined || commit.startsWith('-') || more.length > 0)
  throw new Error('give the commit of the earlier version: npm run test:upgrade -- v1.2.0')

const callersMax = 8
const loadMs = 5000
/** Guards against a hang. A busy machine needs a minute. */
const startMs = 180_000

const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: root, stdio: 'ignore' })

/** The packages of this version, but the workspaces of that one. */
function linkPackages(checkout: string): void {
  const packages = join(checkout, 'node_modules')
  mkdirSync(join(packages, '@partner-payments'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@partner-payments') symlinkSync(join(root, 'node_modules', name), join(packages, name))
  for (const name of ['wire', 'service', 'sdk'])
    if (existsSync(join(checkout, name))) symlinkSync(join(checkout, name), join(packages, '@partner-payments', name))
}

async function startOldVersion(checkout: string, dataDir: string, databaseUrl: string) {
  const [port, opsPort] = (await freePorts(2)).map(String)
  const env = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    // This version upgrades databases with all migrations of the previous version.
    MIGRATE_CONTRACT: 'on',
    PORT: port,
    OPS_PORT: opsPort,
    WEBHOOK_HTTP: 'on',
    SANDBOX_BANK_DELAY_MS: '50',
    LOG_LEVEL: 'error',
    RATE_PER_SECOND: '10000',
    RATE_BURST: '10000',
  }
  mkdirSync(dataDir, { recursive: true })
  const main = join(checkout, 'service/src/main.ts')
  const child = spawn(process.execPath, [main, 'serve'], { cwd: checkout, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')))
  const file = join(dataDir, 'sandbox-credentials.json')
  await until(
    'the earlier version has started',
    () => {
      if (child.exitCode !== null) throw new Error(`the earlier version ended: ${errors}`)
      return existsSync(file)
    },
    startMs,
  ).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  const credentials = readCredentials(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)
  const client = createClient(`http://127.0.0.1:${port}`, credentials)
  const stop = async () => {
    child.kill('SIGTERM')
    await until('the earlier version has ended', () => child.exitCode !== null || child.signalCode !== null, startMs)
  }
  const isReady = async () => (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status === 200
  return { client, errors: () => errors, isReady, stop }
}

type Count = { answered: number; readonly failures: string[] }

/** Calls until `ended`. Counts the answers, and keeps those that are failures: every call is valid. */
async function call(client: ReturnType<typeof createClient>, ended: () => boolean, count: Count): Promise<void> {
  const beneficiary = String((await createBeneficiary(client)).id)
  for (let turn = 0; !ended(); turn += 1) {
    const answers = [
      client.send({ method: 'POST', target: '/v1/payouts/fiat', body: Buffer.from(payoutText(beneficiary, '1.00')) }),
      client.get('/v1/accounts'),
      client.get('/v1/transactions'),
      client.get('/v1/webhooks'),
      ...(turn % 10 === 0 ? [createCustomer(client).then(() => client.get('/v1/customers'))] : []),
    ]
    for (const { status, asked, text } of await Promise.all(answers)) {
      count.answered += 1
      if (status >= 400) count.failures.push(`${status} ${asked}: ${text.slice(0, 200)}`)
    }
  }
}

async function main(): Promise<void> {
  const checkout = mkdtempSync(join(tmpdir(), 'partner-payments-earlier-'))
  rmSync(checkout, { recursive: true })
  git('worktree', 'add', '--detach', checkout, commit ?? '')
  const dataDir = mkdtempSync(join(tmpdir(), 'partner-payments-earlier-data-'))
  const database = await createEmptyDatabase()
  const receiver = await startReceiver()
  const db = createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') })
  try {
    linkPackages(checkout)
    const service = await startOldVersion(checkout, dataDir, database.url)
    const subscription = { url: receiver.url, events: ['transaction.status.changed'] }
    const created = await service.client.post('/v1/webhooks', subscription)
    if (created.status >= 300) throw new Error(`no subscription: ${created.text}`)
    const count: Count = { answered: 0, failures: [] }
    let isOver = false
    const load = Array.from({ length: callersMax }, () => call(service.client, () => isOver, count))
    await until('the earlier version answers', () => count.answered > 0, startMs)
    await pause(loadMs)
    const before = { answered: count.answered, delivered: receiver.deliveries.length }
    const applied = await migrate(db.pool, { contract: false })
    await pause(loadMs)
    const goesOn = () => count.answered > before.answered && receiver.deliveries.length > before.delivered
    await until('the earlier version answers and delivers after the migrations', goesOn, startMs)
    isOver = true
    await Promise.all(load)
    const delivered = receiver.deliveries.length - before.delivered
    const isReady = await service.isReady()
    await service.stop()
    process.stdout.write(
      `${applied.length} migrations under the earlier version: ${before.answered} answers before, ${count.answered - before.answered} after, ` +
        `${count.failures.length} failures; ${delivered} deliveries after\n`,
    )
    if (count.failures.length > 0) throw new Error(count.failures.slice(0, 5).join('\n'))
    if (applied.length === 0) throw new Error('this version has no migration that the earlier one lacks')
    if (!isReady) throw new Error('the earlier version is no longer ready after the migrations')
    if (delivered === 0)
      throw new Error(`no webhook was delivered after the migrations:\n${service.errors().slice(0, 2000)}`)
  } finally {
    await db.close()
    await receiver.close()
    await database.drop()
    git('worktree', 'remove', '--force', checkout)
    rmSync(dataDir, { recursive: true, force: true })
  }
}

await main()
