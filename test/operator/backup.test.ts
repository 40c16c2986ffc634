/**
 * Follows docs/runbooks/backup-restore.md: it runs its commands as written, but with other folders and another time.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Client, createClient, type JsonObject, success, textAt } from '../support/client.ts'
import { assertRefusal, freePortSettings, inheritedEnvironment, linesOf, run, shellPath } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, listAll, payoutText } from '../support/world.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'partner-payments-backup-'))
// If root runs the test, the server writes the archive as another user.
await chmod(folder, 0o711)
const { PORT, OPS_PORT } = await freePortSettings()
const environment: Record<string, string> = {
  ...inheritedEnvironment,
  PATH: shellPath,
  HOME: folder,
  DATA_DIR: join(folder, 'data'),
  SANDBOX_BANK_DELAY_MS: '0',
  PORT,
  OPS_PORT,
}
let restoreTo = ''
const running = new Set<ChildProcess>()
after(async () => {
  for (const child of running) if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

const runbook = readFileSync(join(repository, 'docs/runbooks/backup-restore.md'), 'utf8')
const section = (title: string) => runbook.split(/^### /m).find((part) => part.startsWith(`${title}\n`)) ?? ''
const blocksOf = (title: string) =>
  [...section(title).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = '']) =>
    code
      .replaceAll('/var/backups/payments', join(folder, 'backups'))
      .replaceAll('/srv/payments', join(folder, 'data'))
      .replaceAll('2026-03-01T12:00:00Z', restoreTo),
  )

/** Runs a block in a shell. Its exported variables are set for the following blocks, as in the operator's terminal. */
function shell(block: string) {
  const child = spawn('bash', ['-ec', block], { cwd: repository, env: environment, detached: true })
  running.add(child)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (texts[name] += text))
  const ended = once(child, 'close').then(([code]) => {
    running.delete(child)
    return { code: code as number | null, ...texts }
  })
  for (const [, name = '', value = ''] of block.matchAll(/^export (\w+)=(\S+)$/gm)) environment[name] = value
  return { texts, ended }
}

async function printed(block: string | undefined): Promise<JsonObject> {
  const { code, stdout, stderr } = await shell(block ?? '').ended
  assert.deepEqual(
    { code, stderr, lines: linesOf(stdout).length },
    { code: 0, stderr: '', lines: 1 },
    `${block}\n${stdout}`,
  )
  return JSON.parse(stdout) as JsonObject
}

async function startService(block: string | undefined) {
  const { texts, ended } = shell(block ?? '')
  await until('the welcome', () => texts.stdout.includes('Ctrl-C') || texts.stderr !== '')
  assert.equal(texts.stderr, '')
  return async () => {
    process.kill(
      Number(readFileSync(join(environment.DATA_DIR ?? '', 'service.pid'), 'utf8').split('\n')[0]),
      'SIGTERM',
    )
    await ended
  }
}

const client = (): Client => {
  const text = readFileSync(join(folder, 'data', 'sandbox-credentials.json'), 'utf8')
  return createClient(`http://127.0.0.1:${PORT}`, readCredentials(text))
}
async function pay(count: number): Promise<readonly string[]> {
  const beneficiary = textAt(await createBeneficiary(client()), 'id')
  const keys: string[] = []
  for (let at = 0; at < count; at += 1)
    keys.push(
      textAt(success(await client().post('/v1/payouts/fiat', payoutText(beneficiary, '5.00'))), 'idempotencyKey'),
    )
  await until('the payouts are completed', async () => (await payouts()).every(({ status }) => status === 'Completed'))
  return keys
}
const payouts = () => listAll(client(), '/v1/payouts')
const keysOf = (rows: readonly JsonObject[]) => rows.map((row) => textAt(row, 'idempotencyKey')).toSorted()

test('the runbook restores exactly the payments up to the time, and a restored database leaves the backups unchanged', async () => {
  const [start, backUp] = blocksOf('Back up')
  const stop = await startService(start)
  const before = [...(await pay(2))]
  const backup = await printed(backUp)
  assert.ok(Number(backup.files) > 500)
  before.push(...(await pay(2)))
  restoreTo = new Date().toISOString()
  const lost = await pay(2)
  assert.deepEqual(keysOf(await payouts()), [...before, ...lost].toSorted())
  await stop()

  const [restore, restart] = blocksOf('Restore')
  const restored = await printed(restore)
  assert.deepEqual({ backup: restored.backup, until: restored.until }, { backup: backup.name, until: restoreTo })
  assert.ok(Date.parse(textAt(restored, 'lastTransactionAt')) <= Date.parse(restoreTo))
  assert.equal(environment.DATA_DIR, join(folder, 'data-restored'))

  const withoutKey = await run(['serve'], { ...environment, BACKUP_DIR: '' })
  assert.equal(withoutKey.code, 1)
  assert.match(withoutKey.stderr, /master\.key is missing, and the database cannot be opened without it/)
  await copyFile(join(folder, 'data', 'master.key'), join(folder, 'data-restored', 'master.key'))
  const own = await run(['serve'], { ...environment, BACKUP_DIR: join(folder, 'backups') })
  assert.equal(own.code, 1)
  assert.match(own.stderr, /^BACKUP_DIR .*backups belongs to another database: set BACKUP_DIR to an empty folder/)

  const stopRestored = await startService(restart)
  const rows = await payouts()
  assert.deepEqual(keysOf(rows), before.toSorted())
  assert.deepEqual([...new Set(rows.map(({ status }) => status))], ['Completed'])
  const more = await pay(1)
  assert.deepEqual(keysOf(await payouts()), [...before, ...more].toSorted())
  await printed(backUp)
  await stopRestored()
})

test('without a time all archived data is restored, and impossible restores are refused with one line', async () => {
  const backups = join(folder, 'backups')
  const restore = (name: string, ...words: readonly string[]) =>
    run(['operator', 'backup', 'restore', '--from', backups, ...words], { DATA_DIR: join(folder, name) })
  const early = await restore('x', '--until', '2020-01-01T00:00:00Z')
  assertRefusal(early, /has no backup from before 2020-01-01T00:00:00\.000Z: the first backup ended at /)
  const late = await restore('x', '--until', '2999-01-01T00:00:00Z')
  assertRefusal(late, /the archived log ends before 2\d{3}-.*: choose an earlier time, or /)
  assert.equal((await readdir(join(folder, 'x'))).includes('postgres'), false)
  assertRefusal(await restore('data'), /^DATA_DIR .* has a database: restore into an empty folder$/)
  const ending = await restore('x')
  assert.equal(ending.code, 0, ending.stderr)
  const { until: target, lastTransactionAt } = JSON.parse(ending.stdout) as JsonObject
  assert.equal(target, null)
  assert.ok(Date.parse(String(lastTransactionAt)) > Date.parse(restoreTo))
  await mkdir(join(folder, 'none'))
  const without = await run(['operator', 'backup', 'create'], { DATA_DIR: join(folder, 'none') })
  assert.equal(
    without.stderr,
    'operator: set BACKUP_DIR to a folder outside DATA_DIR, such as BACKUP_DIR=/var/backups/payments\n',
  )
})
