/**
 * Tests which files each start loads, because loading takes time in every command, and the folder of compiled code
 * (docs/decisions/0119).
 */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { useDatabase, useFolder } from '../support/fixture.ts'
import { type Environment, run } from '../support/program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const kept = join(root, 'node_modules/.compiled')
const preload = `--import=${new URL('../../scripts/measure/loaded-files.mjs', import.meta.url).href}`
const folder = await useFolder()

/** The files of the repository that the program loads, and the folder of compiled code that it uses. */
async function loadedBy(words: readonly string[], env: Environment = {}) {
  const to = join(folder, 'loaded.json')
  const ending = await run(words, { NODE_OPTIONS: preload, LOADED_TO: to, LOADED_FILES: 'on', ...env })
  assert.equal(ending.code, 0, ending.stderr)
  const loaded = JSON.parse(await readFile(to, 'utf8')) as {
    readonly files: readonly string[]
    readonly compiled?: string
  }
  return { ...loaded, files: loaded.files.map((url) => relative(root, fileURLToPath(url))) }
}

test('`operator --help` loads the declarations and nothing else', async () => {
  const { files } = await loadedBy(['operator', '--help'])
  assert.deepEqual(files.toSorted(), [
    'service/src/compiled-code.ts',
    'service/src/main.ts',
    'service/src/operator/declaration.ts',
    'service/src/operator/declarations.ts',
    'service/src/operator/declared-money.ts',
    'service/src/operator/declared-people.ts',
    'service/src/operator/declared-rules.ts',
    'service/src/operator/index.ts',
  ])
})

/** Files that no command needs. The settings and public interfaces of the gateway and the pages do not load them. */
const unused = [
  /^service\/src\/(?:edge\/(?:gateway|observability)|pages)\/(?!(?:index|settings|queue-ages)\.ts$)/,
  /^service\/src\/app\/(?:desk|gateway|router|signals)\.ts$/,
  /^service\/src\/(?:roles|service|child)\.ts$/,
  /^node_modules\/(?:@opentelemetry|@simplewebauthn|fastify|libphonenumber-js|pino|prom-client|typebox|viem)\//,
]

test('an operator command does not load the gateway, pages, metrics or their packages', async () => {
  const database = await useDatabase()
  const { files } = await loadedBy(['operator', 'partner', 'list'], { DATABASE_URL: database.url, DATA_DIR: folder })
  assert.ok(files.includes('service/src/payouts/service.ts'))
  for (const pattern of unused)
    assert.deepEqual(
      files.filter((file) => pattern.test(file)),
      [],
      String(pattern),
    )
})

test('the schema is migrated without the service', async () => {
  const database = await useDatabase()
  const { files } = await loadedBy(['migrate'], { DATABASE_URL: database.url, DATA_DIR: folder })
  assert.ok(files.includes('service/src/roles.ts'))
  assert.deepEqual(
    files.filter((file) => /\/service\.ts$|^service\/src\/app\/compose/.test(file)),
    ['service/src/access/service.ts'],
  )
})

test('compiled code is cached in a folder that only the user of the process can write, or in NODE_COMPILE_CACHE', async () => {
  const compiledBy = async (env: Environment) => (await loadedBy(['operator', '--help'], env)).compiled
  const usual = await compiledBy({ NODE_COMPILE_CACHE: '' })
  assert.ok(usual?.startsWith(join(kept, 'v')), String(usual))
  const other = join(folder, 'other')
  assert.ok((await compiledBy({ NODE_COMPILE_CACHE: other }))?.startsWith(join(other, 'v')))
  assert.equal(await compiledBy({ NODE_COMPILE_CACHE: '', NODE_DISABLE_COMPILE_CACHE: '1' }), undefined)
  chmodSync(kept, 0o770)
  try {
    assert.equal(await compiledBy({ NODE_COMPILE_CACHE: '' }), undefined)
  } finally {
    chmodSync(kept, 0o700)
  }
})
