/** Every role compares its master key with the database before it listens. A missing key file is never replaced. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { untilEnd } from '../support/fixture.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type Environment, freePorts, linesOf, run, start, stop } from '../support/program.ts'

const folder = await mkdtemp(join(tmpdir(), 'partner-payments-master-key-'))
const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') }))
after(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const newKey = () => randomBytes(32).toString('base64')
const key = newKey()
const usual = { DATA_DIR: join(folder, 'data'), DATABASE_URL: database.url, PORT: '0', OPS_PORT: '0' }
const commands: readonly (readonly string[])[] = [
  ['serve'],
  ['serve', '--processes', '2'],
  ['gateway'],
  ['api'],
  ['worker'],
  ['migrate'],
  ['operator', 'partner', 'create', '--name', 'X'],
]

async function refused(words: readonly string[], env: Environment, line: RegExp): Promise<void> {
  const { code, stdout, stderr } = await run(words, { API_URL: 'http://127.0.0.1:1', ...usual, ...env })
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' }, `${words.join(' ')}: ${stderr}`)
  assert.equal(linesOf(stderr).length, 1, stderr)
  assert.match(stderr, line)
}

const createPartner = async (env: Environment) => {
  const ending = await run(['operator', 'partner', 'create', '--name', 'First'], { ...usual, ...env })
  assert.equal(ending.code, 0, ending.stderr)
}
const keysOf = () => db.rows(sql`select key_id from access.master_keys`)

test('every role refuses a key that does not open the database, with one line', async () => {
  await createPartner({ MASTER_KEY: key })
  assert.equal((await keysOf()).length, 1)
  for (const words of commands)
    await refused(words, { MASTER_KEY: newKey() }, /^MASTER_KEY does not open this database: set the key that /)
})

test('a sandbox without its key file is refused and writes no new key', async () => {
  const line = /master\.key is missing, and the database cannot be opened without it: restore it; /
  for (const words of [['serve'], ['operator', 'partner', 'create', '--name', 'X']]) await refused(words, {}, line)
  assert.equal(existsSync(join(usual.DATA_DIR, 'master.key')), false)
})

test('a database of the version before is opened by its key only, which is then recorded', async () => {
  await db.run(sql`delete from access.master_keys`)
  await refused(['serve'], { MASTER_KEY: newKey() }, /^MASTER_KEY does not open this database/)
  await refused(['serve'], {}, /master\.key is missing/)
  assert.equal((await keysOf()).length, 0)
  await createPartner({ MASTER_KEY: key })
  assert.equal((await keysOf()).length, 1)
})

test('a new key in front of the old one is recorded, and each of them alone is refused', async () => {
  const next = newKey()
  await createPartner({ MASTER_KEY: `${next},${key}` })
  assert.equal((await keysOf()).length, 2)
  for (const alone of [next, key])
    await refused(
      ['worker'],
      { MASTER_KEY: alone },
      /^MASTER_KEY opens only a part of this database: add its earlier key/,
    )
  await createPartner({ MASTER_KEY: `${key},${next}` })
})

test('the embedded database without its key file is refused, starts with the restored file, and the file is not replaced', async () => {
  const dataDir = join(folder, 'embedded')
  const [PORT, OPS_PORT] = (await freePorts(2)) as [string, string]
  const env = { DATA_DIR: dataDir, PORT, OPS_PORT }
  await stop(await start(['serve'], env))
  const file = join(dataDir, 'master.key')
  await rename(file, `${file}.away`)
  const missing = { ...env, DATABASE_URL: '' }
  await refused(['serve'], missing, /master\.key is missing, and the database cannot be opened without it/)
  assert.ok(!(await readdir(dataDir)).includes('master.key'))
  await writeFile(file, `${newKey()}\n`)
  await refused(['serve'], missing, /^the master key in .*master\.key does not open this database/)
  await rename(`${file}.away`, file)
  assert.equal((await stop(await start(['serve'], env))).code, 0)
})
