/** Imports follow the layers of docs/architecture.md. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  checkCycles,
  checkImportedOnce,
  checkPackages,
  checkPlaces,
  checkReach,
  checkTops,
  checkLayers,
  checkModulesUnseen,
  packageUsers,
  unusedEdges,
} from './import-rules.ts'
import { readLayers } from './places.ts'
import { type Finding, readSources, type Source, scan } from './source.ts'

const sources = readSources()
const layers = readLayers()
const none: readonly Finding[] = []

const files = (texts: Readonly<Record<string, string>>): readonly Source[] =>
  Object.entries(texts).map(([path, text]) => scan({ path, text }))

suite('imports', () => {
  test('the rules read enough files', () => {
    const count = sources.filter((source) => /^(?:wire|service)\/src\//.test(source.path)).length
    assert.ok(count >= 40, `only ${count} source files were seen`)
    const importCount = sources.reduce((sum, source) => sum + source.imports.length, 0)
    assert.ok(importCount >= 120, `only ${importCount} imports were seen`)
  })

  test('the layers in docs/architecture.md match the agreed layers', () => {
    const table = layers.names.map((name, index) => {
      const places = [...layers.layerOf].filter(([, layer]) => layer === index).map(([place]) => place)
      return `${name}: ${places.join(' ')}`
    })
    assert.deepEqual(table, [
      'base: wire kernel kernel/api',
      'storage: postgres postgres/jobs',
      'core: branding ledger cases screening cases/reconciliation lifecycle events access rails rates mail inbox webhooks idempotency iso20022 typesetting audit parties/payee-check parties/identity-port people/sign-in ledger/integrity requests',
      'modules: accounts audit/api parties/beneficiaries payouts/bulk checkout parties/customers deposits fx parties/identity-checks monitoring payouts/controls payouts payouts/recalls reports reports/decisions requests/api reports/safeguarding simulations people/staff payouts/standing-orders transactions people/users chains/wallets webhooks/api',
      'edges: edge/gateway edge/observability pages banks/settlement banks/conformance chains/evm simulations/identity-provider banks/internal banks/files banks/sandbox',
      'composition: app/cells app/config app/cases app/derived-settings app/personal-data app/inbox app/waiting app/wallets app/people app/modules app/background app/gateway app/desk app/compose app/seed operator app/process app/processes app/router app/signals child command service roles compiled-code main',
    ])
  })

  test('every folder has a layer', () => assert.deepEqual(checkPlaces(sources, layers), none))
  test('a file imports only lower layers and declared folders, and only through the public interface', () =>
    assert.deepEqual(checkLayers(sources, layers), none))
  test('every declared import within a layer exists', () => assert.deepEqual(unusedEdges(sources, layers), none))
  test('the gateway and main import no module', () => assert.deepEqual(checkModulesUnseen(sources), none))
  test('a file imports a path once', () => assert.deepEqual(checkImportedOnce(sources), none))
  test('imports have no cycles', () => assert.deepEqual(checkCycles(sources), none))
  test('the folders of service/src have no cycles', () => assert.deepEqual(checkTops(sources), none))
  test('a package is imported only where it is allowed', () => assert.deepEqual(checkPackages(sources), none))
  test('a file makes network calls only if it declares the target, and calls chosen hosts only within limits', () =>
    assert.deepEqual(checkReach(sources), none))
  test('every listed package is installed', async () => {
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

suite('each import rule reports its violation', () => {
  const first = 'service/src/payouts/service.ts'
  const layersOf = (path: string, text: string) => checkLayers(files({ [path]: text }), layers)

  test('a higher layer', () =>
    assert.deepEqual(layersOf('service/src/ledger/a.ts', "import { x } from '../edge/gateway/index.ts'"), [
      'service/src/ledger/a.ts:1 ledger (core) imports edge/gateway (edges)',
    ]))
  test('a new network call, a listed file without one, and an exchange without a budget', () => {
    const reach = (path: string, text: string, table: Readonly<Record<string, string>> = {}) =>
      checkReach(files({ [path]: text }), table).length
    const place = 'service/src/people/users/a.ts'
    for (const text of [
      "import { request } from 'node:https'",
      "import { isIP, connect } from 'node:net'",
      "import { Resolver } from 'node:dns/promises'",
      "import * as net from 'node:net'",
      "import 'undici'",
      "const { request } = await import('undici')",
      "const { Agent } = require('undici')",
      "const answer = await fetch('https://example.com')",
      'const send = globalThis.fetch',
      "import { createExchange } from '../../delivery/exchange/exchange.ts'",
    ])
      assert.equal(reach(place, text), 1, text)
    for (const text of [
      "import type { Socket } from 'node:net'",
      "import { isIP, type Socket } from 'node:net'",
      "import { createHash } from 'node:crypto'",
      'const answer = await hosts.fetch(url, request)',
      '/** fetch() */',
    ])
      assert.equal(reach(place, text), 0, text)
    assert.equal(reach(place, 'const one = 1', { [place]: 'operator' }), 1, 'a listed file that opens nothing')
    const client = "import { discovery } from 'openid-client'"
    assert.equal(reach(place, client, { [place]: 'chosen' }), 1, 'a fetch of its own')
    assert.equal(reach(place, `${client}\nconfiguration[customFetch] = given`, { [place]: 'chosen' }), 0)
  })
  test('a connector import from the core, a module and another connector', () => {
    for (const [path, text] of [
      ['service/src/rails/a.ts', "import { x } from '../chains/evm/index.ts'"],
      ['service/src/chains/wallets/a.ts', "import type { X } from '../evm/index.ts'"],
      ['service/src/banks/settlement/a.ts', "import { x } from '../sandbox/index.ts'"],
      ['service/src/banks/sandbox/a.ts', "import { x } from '../iso20022/index.ts'"],
    ] as const)
      assert.equal(layersOf(path, text).length, 1, path)
    assert.deepEqual(layersOf('service/src/app/modules.ts', "import { x } from '../chains/evm/index.ts'"), none)
  })
  test('an undeclared module, imported for a type', () =>
    assert.deepEqual(layersOf(first, "\nimport type { X } from '../deposits/index.ts'"), [
      `${first}:2 payouts (modules) imports deposits (modules)`,
    ]))
  test('only app imports the settings of another folder', () => {
    const text = "import { xSettings } from '../mail/settings.ts'"
    assert.deepEqual(layersOf('service/src/app/config.ts', text), none)
    assert.equal(layersOf('service/src/operator/a.ts', text).length, 1)
  })
  test('another folder without its index.ts, in every form of import', () => {
    for (const text of [
      "import {\n  type A,\n  b,\n} from '../../kernel/ids.ts'",
      "export * from '../../kernel/ids.ts'",
      "import '../../kernel/ids.ts'",
      "const a = await import('../../kernel/ids.ts')",
      "type A = import('../../kernel/ids.ts').A",
      "// it's a trap: ` ' \nconst s = `${`${/['\"`]/.source}`}`\nexport type { A } from '../../kernel/ids.ts'",
    ])
      assert.equal(layersOf(first, text).length, 1, text)
  })
  test('two imports of a path', () => {
    const count = (text: string) => checkImportedOnce(files({ 'service/src/ledger/service.ts': text })).length
    assert.equal(count("import * as store from './store.ts'\nimport type { Row } from './store.ts'"), 1)
    assert.equal(count("import { a } from './store.ts'\nimport {\n  b,\n} from './store.ts'"), 1)
    assert.equal(count("import { a } from './store.ts'\nexport { a } from './store.ts'"), 0)
    assert.equal(count("import type Typebox from 'typebox'\nimport type { TSchema } from 'typebox'"), 0)
  })

  test('text that only looks like an import is not counted', () => {
    for (const text of [
      "// import { x } from '../../kernel/ids.ts'",
      'const text = "import x from \'../../kernel/ids.ts\'"',
      "const text = `import x from '../../kernel/ids.ts'`",
    ])
      assert.deepEqual(layersOf(first, text), none, text)
  })
  test('the order within composition', () => {
    assert.deepEqual(layersOf('service/src/service.ts', "import { x } from './app/compose.ts'"), none)
    assert.equal(layersOf('service/src/app/compose.ts', "import { x } from '../main.ts'").length, 1)
    assert.equal(layersOf('wire/src/a.ts', "import { x } from '../../service/src/kernel/index.ts'").length, 1)
    assert.equal(layersOf('service/src/kernel/a.ts', "import { x } from '../../../test/support/postgres.ts'").length, 1)
  })
  test('a folder without a layer', () =>
    assert.equal(checkPlaces(files({ 'service/src/utils/index.ts': '' }), layers).length, 1))
  test('a module in the gateway', () =>
    assert.equal(
      checkModulesUnseen(files({ 'service/src/edge/gateway/a.ts': "import { x } from '../../people/users/index.ts'" }))
        .length,
      1,
    ))
  test('the configuration reads the settings of a module, and no other file of it', () => {
    const faults = (file: string) =>
      checkModulesUnseen(files({ 'service/src/app/config.ts': `import { x } from '../monitoring/${file}.ts'` })).length
    assert.deepEqual([faults('settings'), faults('index')], [0, 1])
  })
  test('a cycle of type imports', () =>
    assert.deepEqual(
      checkCycles(
        files({
          'wire/src/a.ts': "import type { B } from './b.ts'",
          'wire/src/b.ts': "export type { C } from './c.ts'",
          'wire/src/c.ts': "import { a } from './a.ts'",
        }),
      ),
      ['wire/src/a.ts:1 import cycle: wire/src/a.ts -> wire/src/b.ts -> wire/src/c.ts -> wire/src/a.ts'],
    ))
  test('a cycle of folders whose files have no cycle', () =>
    assert.deepEqual(
      checkTops(
        files({
          'service/src/parties/customers/a.ts': "import { x } from '../../payouts/controls/index.ts'",
          'service/src/payouts/controls/index.ts': '',
          'service/src/payouts/b.ts': "import type { X } from '../parties/beneficiaries/index.ts'",
          'service/src/parties/beneficiaries/index.ts': '',
        }),
      ),
      ['service/src/parties imports itself: parties -> payouts -> parties'],
    ))
  test('packages', () => {
    const count = (path: string, text: string) => checkPackages(files({ [path]: text })).length
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
