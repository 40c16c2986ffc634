/**
 * Prints how many files and folders of `service/src` two flows execute, by V8's coverage: a signed payout in a `gateway` and an `api`
 * process, and a camt.054 of the test bank until its webhook has arrived. The figures include the background work of the processes. The
 * script says how many of the files run in an idle period of the same length, too. `node scripts/measure/walks.ts [--list]`. `--list`:
 * the files, too, with `~` for those of the idle period.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from '../../sdk/src/index.ts'
import { createIsoBankProgram } from '../../examples/iso-bank/child.ts'
import { ada } from '../../examples/demo/people.ts'
import { isoBankSetting } from '../../examples/iso-bank/config.ts'
import { startReceiver } from '../../test/support/receiver.ts'
import { startTestService } from '../../test/support/service.ts'
import { freePorts } from '../ports.ts'

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } })
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const source = pathToFileURL(join(root, 'service/src/')).href
const folder = mkdtempSync(join(tmpdir(), 'walks-'))
const preload = `--import=${new URL('coverage.mjs', import.meta.url).href}`

async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await look()
    if (found !== undefined) return found
    await pause(50)
  }
  throw new Error(`${what} took more than 30 s`)
}

type Ran = readonly { readonly url: string; readonly functions: number }[]
/** Reads which functions the process has run since the previous call. */
async function ran(pid: number, coveredTo: string): Promise<Ran> {
  rmSync(coveredTo, { force: true })
  process.kill(pid, 'SIGUSR2')
  return until('the count', () => {
    if (!existsSync(coveredTo)) return undefined
    try {
      return JSON.parse(readFileSync(coveredTo, 'utf8')) as Ran
    } catch {
      // The process still writes it.
      return undefined
    }
  })
}

const filesOf = (all: Ran): readonly string[] =>
  all.filter(({ url }) => url.startsWith(source)).map(({ url }) => url.slice(source.length))

function print(walk: string, all: Ran, idle: Ran): void {
  const files = filesOf(all)
  const idleFiles = new Set(filesOf(idle))
  const count = (of: readonly string[]) =>
    `${of.length} files of ${new Set(of.map((file) => dirname(file))).size} folders`
  const own = files.filter((file) => !idleFiles.has(file))
  console.log(`${walk}: ${count(files)}; without those of an idle period: ${count(own)}`)
  if (values.list) for (const file of files.toSorted()) console.log(`  ${idleFiles.has(file) ? '~' : ' '} ${file}`)
}

/** Runs the walk, then waits as long as it took, and prints the files of both. */
async function measure(walk: string, run: () => Promise<unknown>, read: () => Promise<Ran>): Promise<void> {
  await read()
  const began = performance.now()
  await run()
  const tookMs = performance.now() - began
  const all = await read()
  await pause(tookMs)
  print(walk, all, await read())
}

const bank = createIsoBankProgram({ folder: join(folder, 'bank'), settings: { answerMs: 200, bookMs: 200 } })
const receiver = await startReceiver()
const stops: (() => unknown)[] = [() => receiver.close(), () => bank.stop(), () => rmSync(folder, { recursive: true })]
try {
  const { toBank, fromBank } = await bank.start()
  mkdirSync(join(folder, 'iso'))
  const setting = isoBankSetting({ kind: 'folder', toBank, fromBank }, join(folder, 'iso'))
  const workerCount = join(folder, 'worker.json')
  const service = await startTestService({
    env: {
      RAIL: 'iso20022',
      ISO20022_BANKS: JSON.stringify([setting]),
      NODE_OPTIONS: preload,
      COVERED_TO: workerCount,
      WEBHOOK_HTTP: 'on',
    },
  })
  stops.unshift(service.dispose)
  const credentials = JSON.parse(readFileSync(service.credentialsFile, 'utf8')) as Parameters<typeof createClient>[0]

  const [apiPort = 0, apiOpsPort = 0, port = 0, opsPort = 0] = await freePorts(4)
  const shared = {
    ...service.env,
    DATABASE_URL: service.databaseUrl,
    MASTER_KEY: readFileSync(join(service.dataDir, 'master.key'), 'utf8').trim(),
  }
  /** Starts a process of a role, and resolves when it is ready. */
  const role = async (name: string, env: Readonly<Record<string, string>>): Promise<() => Promise<Ran>> => {
    const coveredTo = join(folder, `${name}.json`)
    const child = spawn(process.execPath, [join(root, 'service/src/main.ts'), name], {
      env: { ...shared, ...env, COVERED_TO: coveredTo },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const ended = once(child, 'exit')
    stops.unshift(() => {
      child.kill('SIGTERM')
      return ended
    })
    await until(`the role ${name}`, () => {
      if (child.exitCode !== null) throw new Error(`the process of the role ${name} ended`)
      return fetch(`http://127.0.0.1:${env['OPS_PORT']}/readyz`).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      )
    })
    return () => ran(child.pid ?? 0, coveredTo)
  }
  const ranInApi = await role('api', { PORT: String(apiPort), OPS_PORT: String(apiOpsPort) })
  const api = `http://127.0.0.1:${apiPort}`
  const ranInGateway = await role('gateway', { PORT: String(port), OPS_PORT: String(opsPort), API_URL: api })
  const client = createClient({ ...credentials, baseUrl: `http://127.0.0.1:${port}` })
  const beneficiary = await client.beneficiaries.create({
    name: 'Grace Hopper',
    iban: 'DE89370400440532013000',
    currency: 'EUR',
  })
  const pay = () =>
    client.payouts.create({
      amount: '12.50',
      currency: 'EUR',
      beneficiaryId: beneficiary.id,
      idempotencyKey: crypto.randomUUID(),
    })
  await pay()
  await pay()
  const both = async () => [
    ...new Map([...(await ranInGateway()), ...(await ranInApi())].map((file) => [file.url, file])).values(),
  ]
  await measure('(a) POST /v1/payouts/fiat, gateway and api', pay, both)

  await client.webhooks.create({ url: receiver.url, events: ['transaction.status.changed'] })
  const customer = await client.customers.create(ada)
  const { ibans } = await client.accounts.createForCustomer(customer.guid)
  const credit = async (amount: bigint) => {
    const before = receiver.deliveries.length
    await bank.order({
      order: 'credit',
      iban: ibans[0]?.iban ?? '',
      amount,
      currency: 'EUR',
      debtor: { name: 'Mary Somerville' },
      remittance: 'Invoice 7',
    })
    await until('the webhook', () => (receiver.deliveries.length > before ? true : undefined))
  }
  await credit(10_00n)
  await pause(2000)
  await measure(
    '(b) a camt.054 until its webhook',
    () => credit(11_00n),
    () => ran(service.pid, workerCount),
  )
} finally {
  for (const stop of stops) await stop()
}
