/**
 * Measures the time from the acceptance of a payout until a worker claims it, and until the sandbox bank has paid it:
 * `node scripts/measure/step-latency.ts [--payouts 40] [--tree FOLDER]`. `--tree`: another checkout, whose service is measured. The
 * payouts come one by one with pauses, so that the workers rest when one is accepted.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from '@partner-payments/sdk'
import pg from 'pg'
import { freePorts } from '../ports.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const probeMs = 2
const { values } = parseArgs({
  options: { payouts: { type: 'string', default: '40' }, tree: { type: 'string', default: root } },
})
const dataDir = mkdtempSync(join(tmpdir(), 'step-latency-'))
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
    SANDBOX_BANK_DELAY_MS: '20',
  },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const ended = new Promise<void>((done) => service.once('exit', () => done()))
try {
  const credentials = join(dataDir, 'sandbox-credentials.json')
  while (!existsSync(credentials)) await pause(200)
  const [, , , databasePort = ''] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  const database = new pg.Client(`postgres://postgres:${password}@127.0.0.1:${databasePort}/payments`)
  await database.connect()
  const client = createClient(JSON.parse(readFileSync(credentials, 'utf8')))
  const payee = await client.beneficiaries.create({ name: 'Ada', iban: 'DE89370400440532013000', currency: 'EUR' })
  const reached = async (reference: string, statuses: readonly string[]): Promise<void> => {
    for (;;) {
      const { rows } = await database.query<{ status: string }>(
        'select status from payouts.payouts where reference = $1',
        [reference],
      )
      if (statuses.includes(rows[0]?.status ?? '')) return
      await pause(probeMs)
    }
  }
  const taken: number[] = []
  const paid: number[] = []
  for (let made = 0; made < Number(values.payouts); made += 1) {
    const { reference } = await client.payouts.create({
      amount: '1.00',
      currency: 'EUR',
      beneficiaryId: payee.id,
      idempotencyKey: randomUUID(),
    })
    const start = performance.now()
    await reached(reference, ['Processing', 'Sent', 'Completed'])
    taken.push(performance.now() - start)
    await reached(reference, ['Completed'])
    paid.push(performance.now() - start)
    await pause(500 + Math.random() * 200)
  }
  await database.end()
  console.log(JSON.stringify({ payouts: taken.length, taken: shares(taken), paid: shares(paid) }))
} finally {
  service.kill('SIGTERM')
  await ended
  rmSync(dataDir, { recursive: true, force: true })
}

function shares(ms: readonly number[]) {
  const sorted = ms.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return { p50Ms: at(0.5), p90Ms: at(0.9), maxMs: at(1) }
}
