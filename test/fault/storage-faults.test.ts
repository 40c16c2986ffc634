/** A database that refuses writes: read only, or its disk is full. Requests get 503, and the service recovers by itself. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { chown, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database } from '../../service/src/postgres/index.ts'
import { type Client, textAt } from '../support/client.ts'
import { startCrashingPostgres } from '../support/crashing-postgres.ts'
import { untilEnd } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { linesOf } from '../support/program.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const server = untilEnd(await startCrashingPostgres())
/** One key for the services of all tests: they open the same database one after the other. */
const masterKey = randomBytes(32).toString('base64')
const startService = () => startTestService({ env: { DATABASE_URL: server.url, MASTER_KEY: masterKey } })

async function admin<T>(work: (pool: Database['pool']) => Promise<T>): Promise<T> {
  const url = Object.assign(new URL(server.url), { pathname: '/postgres' }).href
  const database = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    return await work(database.pool)
  } finally {
    await database.close()
  }
}

const readiness = async (service: TestService) => {
  const answer = await fetch(`${service.opsUrl}/readyz`)
  return { status: answer.status, text: await answer.text() }
}
const linesWith = (service: TestService, text: string) =>
  linesOf(service.output()).filter((line) => line.includes(`"msg":"${text}"`))

const pay = (client: Client, beneficiary: string) => client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01'))

type Outage = { readonly reason: string; readonly begin: () => Promise<void>; readonly end: () => Promise<void> }

async function assertRefusedAndRecovered(service: TestService, { reason, begin, end }: Outage): Promise<void> {
  const { client } = service
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  assert.equal((await pay(client, beneficiary)).status, 200)
  await begin()
  await until('writes are refused', async () => (await pay(client, beneficiary)).status !== 200)
  for (let refused = 0; refused < 20;) {
    const answer = await pay(client, beneficiary)
    // On a full disk a write succeeds if its page has space.
    if (answer.status === 200) continue
    assertProblem(answer, { status: 503, code: 'storage_unavailable' })
    assert.equal(answer.headers['retry-after'], '1')
    refused += 1
  }
  const { status, text } = await readiness(service)
  assert.deepEqual([status, (JSON.parse(text) as { reason: string }).reason], [503, reason])
  const [line, ...more] = linesWith(service, 'the database refuses writes')
  assert.ok(line?.includes(`"reason":"${reason}"`) === true, line ?? 'no line')
  assert.deepEqual(more, [], 'one line for the outage')
  await end()
  await until('ready again', async () => (await readiness(service)).status === 200)
  assert.equal((await pay(client, beneficiary)).status, 200)
  assert.equal(linesWith(service, 'the database accepts writes again').length, 1)
}

test('503 with Retry-After while PostgreSQL is read only, and requests succeed once it is not', async (t) => {
  const service = await startService()
  t.after(() => service.dispose())
  const setReadOnly = (value: string) => () =>
    admin(async (client) => {
      await client.query(`alter system set default_transaction_read_only = ${value}`)
      await client.query('select pg_reload_conf()')
    })
  await assertRefusedAndRecovered(service, {
    reason: 'the database is read only',
    begin: setReadOnly('on'),
    end: setReadOnly('off'),
  })
})

/** A small disk in memory. Undefined: this machine does not permit the mount. */
function mountDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96M,mode=0777', 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

/** Writes a file until no byte is left. */
async function fill(path: string, folder: string): Promise<void> {
  const file = await open(path, 'w')
  const bytes = Buffer.alloc(4096)
  const left = () => statfsSync(folder).bavail
  while (left() > 0)
    try {
      await file.write(bytes)
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  await file.close()
}

const disk = mountDisk()
after(() => {
  if (disk === undefined) return
  execFileSync('umount', ['-l', disk])
  rmSync(disk, { recursive: true })
})

test(
  '503 with Retry-After while the disk of the database is full, and requests succeed once it has space',
  { skip: disk === undefined && 'this machine does not permit the mount of a small disk' },
  async (t) => {
    assert.ok(disk !== undefined)
    const owner = await serverOwner()
    await chown(disk, owner.uid, owner.gid)
    const database = new URL(server.url).pathname.slice(1)
    await admin(async (client) => {
      await client.query(`create tablespace small location '${disk}'`)
      await client.query(`alter database ${database} set tablespace small`)
    })
    const service = await startService()
    t.after(() => service.dispose())
    const filler = join(disk, 'filler')
    await assertRefusedAndRecovered(service, {
      reason: 'the disk of the database is full',
      begin: () => fill(filler, disk),
      end: () => rm(filler),
    })
  },
)

/** The server runs as another user if root runs the tests. */
async function serverOwner() {
  const folder = await admin(async (client) => {
    const { rows } = await client.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
    return rows[0]?.folder ?? ''
  })
  return stat(folder)
}
