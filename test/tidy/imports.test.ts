/** The house is entered by its doors and climbed by its ranks. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  checkCycles,
  checkPackages,
  checkPlaces,
  checkRanksAndDoors,
  checkRoomsUnseen,
  packageUsers,
} from './import-rules.ts'
import { readRanks } from './places.ts'
import { type Finding, readSources, type Source, scan } from './source.ts'

const sources = readSources()
const ranks = readRanks()
const none: readonly Finding[] = []

const house = (files: Readonly<Record<string, string>>): readonly Source[] =>
  Object.entries(files).map(([path, text]) => scan({ path, text }))

suite('imports', () => {
  test('enough is read to judge by', () => {
    const count = sources.filter((source) => /^(?:wire|service)\/src\//.test(source.path)).length
    assert.ok(count >= 40, `only ${count} source files were seen`)
    const importCount = sources.reduce((sum, source) => sum + source.imports.length, 0)
    assert.ok(importCount >= 120, `only ${importCount} imports were seen`)
  })

  test('the table of ranks in docs/architecture.md is the one that was agreed', () => {
    const rows = Object.groupBy(ranks, ([, { rank }]) => String(rank))
    const table = Object.values(rows).map((row = []) => row.map(([name]) => name).join(' '))
    assert.deepEqual(table, [
      'wire kernel',
      'postgres',
      'ledger outbox access rails',
      'customers users webhooks',
      'accounts beneficiaries transactions',
      'payouts deposits',
      'simulations',
      'gateway delivery settlement mail operations',
      'config compose seed operator process processes child main',
    ])
  })

  test('every place has a rank', () => assert.deepEqual(checkPlaces(sources, ranks), none))
  test('only lower ranks, only by the door', () => assert.deepEqual(checkRanksAndDoors(sources, ranks), none))
  test('rooms are unseen from the gateway and from main', () => assert.deepEqual(checkRoomsUnseen(sources), none))
  test('no cycles', () => assert.deepEqual(checkCycles(sources), none))
  test('a package is used where it belongs', () => assert.deepEqual(checkPackages(sources), none))
  test('no package is listed that nobody installs', async () => {
    const manifests = await Promise.all(
      ['', 'wire/', 'service/'].map((folder) => import(`../../${folder}package.json`, { with: { type: 'json' } })),
    )
    const installed = manifests.flatMap(({ default: { dependencies = {}, devDependencies = {} } }) => [
      ...Object.keys(dependencies),
      ...Object.keys(devDependencies),
    ])
    assert.deepEqual(
      Object.keys(packageUsers).filter((name) => !installed.includes(name)),
      none,
    )
  })
})

suite('each import rule bites', () => {
  const first = 'service/src/rooms/payouts/service.ts'
  const ranksOf = (path: string, text: string) => checkRanksAndDoors(house({ [path]: text }), ranks)

  test('a higher rank', () =>
    assert.deepEqual(ranksOf('service/src/ledger/a.ts', "import { x } from '../gateway/index.ts'"), [
      'service/src/ledger/a.ts:1 ledger (rank 2) imports gateway (rank 7)',
    ]))
  test('a room of the same rank, by a type', () =>
    assert.deepEqual(ranksOf(first, "\nimport type { X } from '../deposits/index.ts'"), [
      `${first}:2 payouts (rank 5) imports deposits (rank 5)`,
    ]))
  test('another folder past its door, in every form of import', () => {
    for (const text of [
      "import {\n  type A,\n  b,\n} from '../../kernel/ids.ts'",
      "export * from '../../kernel/ids.ts'",
      "import '../../kernel/ids.ts'",
      "const a = await import('../../kernel/ids.ts')",
      "type A = import('../../kernel/ids.ts').A",
      "// it's a trap: ` ' \nconst s = `${`${/['\"`]/.source}`}`\nexport type { A } from '../../kernel/ids.ts'",
    ])
      assert.equal(ranksOf(first, text).length, 1, text)
  })
  test('what only looks like an import is none', () => {
    for (const text of [
      "// import { x } from '../../kernel/ids.ts'",
      'const text = "import x from \'../../kernel/ids.ts\'"',
      "const text = `import x from '../../kernel/ids.ts'`",
    ])
      assert.deepEqual(ranksOf(first, text), none, text)
  })
  test('the order within the last rank', () => {
    assert.deepEqual(ranksOf('service/src/main.ts', "import { x } from './compose.ts'"), none)
    assert.equal(ranksOf('service/src/compose.ts', "import { x } from './main.ts'").length, 1)
    assert.equal(ranksOf('wire/src/a.ts', "import { x } from '../../service/src/kernel/index.ts'").length, 1)
    assert.equal(ranksOf('service/src/kernel/a.ts', "import { x } from '../../../test/support/postgres.ts'").length, 1)
  })
  test('a place without a rank', () =>
    assert.equal(checkPlaces(house({ 'service/src/utils/index.ts': '' }), ranks).length, 1))
  test('the gateway and a room', () =>
    assert.equal(
      checkRoomsUnseen(house({ 'service/src/gateway/a.ts': "import { x } from '../rooms/users/index.ts'" })).length,
      1,
    ))
  test('a cycle, by types', () =>
    assert.deepEqual(
      checkCycles(
        house({
          'wire/src/a.ts': "import type { B } from './b.ts'",
          'wire/src/b.ts': "export type { C } from './c.ts'",
          'wire/src/c.ts': "import { a } from './a.ts'",
        }),
      ),
      ['wire/src/a.ts:1 import cycle: wire/src/a.ts -> wire/src/b.ts -> wire/src/c.ts -> wire/src/a.ts'],
    ))
  test('packages', () => {
    const count = (path: string, text: string) => checkPackages(house({ [path]: text })).length
    assert.equal(count('service/src/ledger/a.ts', "import pg from 'pg'"), 1)
    assert.equal(count('service/src/postgres/a.ts', "import pg from 'pg'"), 0)
    assert.equal(count('test/contract/a.test.ts', "import pg from 'pg'"), 1)
    assert.equal(count('test/support/a.ts', "import pg from 'pg'"), 0)
    assert.equal(count(first, "import { fastify } from 'fastify'"), 1)
    assert.equal(count(first, "import { request } from 'undici'"), 1)
    assert.equal(count(first, "import { readFile } from 'node:fs/promises'"), 1)
    assert.equal(count(first, "import leftPad from 'left-pad'"), 1)
    assert.equal(count(first, 'const a = await import(name)'), 1)
  })
})
