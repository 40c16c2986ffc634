/** One source of time, one of randomness, one reader of the environment, one of JSON. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { checkChance, checkEnvironment, checkParsing, checkTime, idleJsonReaders } from './purity-rules.ts'
import { type Finding, readSources, scan } from './source.ts'

const sources = readSources()
const none: readonly Finding[] = []
const path = 'service/src/payouts/service.ts'
const one = (text: string, at = path) => [scan({ path: at, text })]

suite('purity', () => {
  test('the rules read enough files', () => assert.ok(sources.length >= 60, `only ${sources.length} files were seen`))
  test('time comes from the clock', () => assert.deepEqual(checkTime(sources), none))
  test('ids and randomness come only from kernel/ids.ts', () => assert.deepEqual(checkChance(sources), none))
  test('only one file reads the environment', () => assert.deepEqual(checkEnvironment(sources), none))
  test('JSON is parsed by a schema, unless the service itself has written it', () => {
    assert.deepEqual(checkParsing(sources), none)
    assert.deepEqual(idleJsonReaders(sources), [])
  })
})

suite('each purity rule reports its violation', () => {
  test('reading the system time', () => {
    for (const text of [
      'new Date()',
      'new Date',
      'Date.now()',

      'Date()',
    ])
      assert.equal(checkTime(one(`const a = ${text}\n`)).length, 1, text)
    for (const text of [
      'new Date(at)',
      '// new Date()',
      "'new Date()'",
      'clock.now()',
      'performance.now()',
      'x.Date()',
    ])
      assert.deepEqual(checkTime(one(`const a = ${text}\n`)), none, text)
    assert.deepEqual(checkTime(one('const a = 1\nconst b = `${Date.now()}`')), [
      `${path}:2 Date.now: time comes from the clock`,
    ])
    assert.deepEqual(checkTime(one('new Date()', 'service/src/kernel/clock.ts')), none)
    assert.equal(checkTime(one('new Date()', 'service/src/kernel/loop.ts')).length, 1)
  })

  test('randomness', () => {
    for (const text of [
      'Math.random()',
      'crypto.randomUUID()',
      "\nimport { createHash, randomUUID } from 'node:crypto'",
      "\nimport * as c from 'crypto'",
    ])
      assert.equal(checkChance(one(`const a = ${text}`)).length, 1, text)
    assert.deepEqual(checkChance(one("import { createHash, timingSafeEqual } from 'node:crypto'")), none)
    assert.deepEqual(checkChance(one("import { newId, randomBytes } from '../../kernel/index.ts'")), none)
  })

  test('environment', () => {
    for (const text of [
      'process.env.A',
      "process.env['A']",
      'const { env } = process',
      "import { env } from 'node:process'",
    ])
      assert.equal(checkEnvironment(one(text)).length, 1, text)
    assert.deepEqual(checkEnvironment(one('process.env.A', 'service/src/app/config.ts')), none)
    assert.deepEqual(checkEnvironment(one('process.pid')), none)
  })

  test('parsed JSON', () => {
    for (const text of [
      'const a = JSON.parse(text) as Credential',
      'const a: Credential = JSON.parse(text)',
      'const { id } = JSON . parse(text)',
      "const a = JSON['parse'](text)",
      'const parse = JSON?.parse',
      'const { parse } = JSON',
      'const a = parseJsonExactly(text) as Credential',
      'const a = (await response.json()) as Answer',
    ])
      assert.equal(checkParsing(one(text)).length, 1, text)
    for (const text of [
      'const a = JSON.stringify(b)',
      '// JSON.parse(text)',
      "const a = 'JSON'",
      'const a = parseUntrustedJson(text, Credential, 100)',
      'const a = ownJson<Row>(row.json)',
    ])
      assert.deepEqual(checkParsing(one(text)), none, text)
    assert.deepEqual(checkParsing(one('JSON.parse(text)', 'wire/src/foreign.ts')), none)
    assert.equal(checkParsing(one('JSON.parse(text)', 'wire/src/other.ts')).length, 1)
  })
})
