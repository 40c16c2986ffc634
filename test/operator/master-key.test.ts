/** Every role compares its master key with the database before it listens. A missing key file is never replaced. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { untilEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { assertRefusal, type Environment, freePortSettings, run, start, stop } from '../support/program.ts'
import { createPartner } from '../support/service.ts'

const folder = await useFolder()
const database = await useDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') }))

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

const refused = async (words: readonly string[], env: Environment, line: RegExp) =>
  assertRefusal(await run(words, { API_URL: 'http://127.0.0.1:1', ...usual, ...env }), line)
const createBy = (MASTER_KEY: string) => createPartner('First', { ...usual, MASTER_KEY })
const keysOf = () => db.rows(sql`select key_id from access.master_keys`)

test('every role refuses a key that does not open the database, with one line', async () => {
  await createBy(key)
  assert.equal((await keysOf()).length, 1)
  for (const words of commands)
    await refused(words, { MASTER_KEY: newKey() }, /^MASTER_KEY does not open this database: set the key that /)
})

test('a sandbox without its key file is refused and writes no new key', async () => {
  const line = /master\.key is missing, and the database cannot be opened without it: restore it; /
  for (const words of [['serve'], ['operator', 'partner', 'create', '--name', 'X']]) await refused(words, {}, line)
  assert.equal(existsSync(join(usual.DATA_DIR, 'master.key')), false)
})

test('a database of the previous version is opened only with its key, which is then recorded', async () => {
  await db.run(sql`delete from access.master_keys`)
  await refused(['serve'], { MASTER_KEY: newKey() }, /^MASTER_KEY does not open this database/)
  await refused(['serve'], {}, /master\.key is missing/)
  assert.equal((await keysOf()).length, 0)
  await createBy(key)
  assert.equal((await keysOf()).length, 1)
})

test('a new key in front of the old key is recorded, and each of them alone is refused', async () => {
  const next = newKey()
  await createBy(`${next},${key}`)
  assert.equal((await keysOf()).length, 2)
  for (const alone of [next, key])
    await refused(
      ['worker'],
      { MASTER_KEY: alone },
      /^MASTER_KEY opens only a part of this database: add its earlier key/,
    )
  await createBy(`${key},${next}`)
})

test('the embedded database without its key file is refused, starts with the restored file, and the file is not replaced', async () => {
  const dataDir = join(folder, 'embedded')
  const env = { DATA_DIR: dataDir, ...(await freePortSettings()) }
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
