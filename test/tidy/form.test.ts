/** Files and functions of a readable length, modules that look the same inside, tests that all run. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { tags } from '@partner-payments/wire'
import {
  checkFileLength,
  checkFormLimits,
  checkFunctionLength,
  checkModules,
  checkTests,
  fileLinesMax,
  functionLinesMax,
  readFunctions,
} from './form-rules.ts'
import { type Finding, isAssembled, isTest, readFiles, readSources, scan } from './source.ts'
import { readTables } from './sql-rules.ts'

const sources = readSources()
const migrations = readFiles('.sql', 'service/migrations')
const tables = readTables(migrations).map(({ name }) => name)
const none: readonly Finding[] = []

suite('form', () => {
  test('the rules read enough files', () => {
    assert.ok(sources.length >= 70, `only ${sources.length} files were seen`)
    const functions = sources.flatMap(readFunctions)
    assert.ok(functions.length >= 300, `only ${functions.length} functions were seen`)
    assert.ok(sources.filter(isTest).length >= 4, 'hardly a test was seen')
  })
  test(`files have ${fileLinesMax} lines at most`, () =>
    assert.deepEqual(checkFileLength([...sources, ...migrations]), none))
  test(`functions, without their nested functions, have ${functionLinesMax} lines at most`, () =>
    assert.deepEqual(checkFunctionLength(sources), none))
  test('each module has its files, each operation group a module, and each public interface a header', () =>
    assert.deepEqual(checkModules(sources, tags, tables, isAssembled()), none))
  test('forms take their limits from the contract', () => assert.deepEqual(checkFormLimits(sources), none))
  test('no test is skipped or runs exclusively', () => assert.deepEqual(checkTests(sources), none))
})

suite('each rule of form reports its violation', () => {
  const path = 'service/src/payouts/service.ts'

  test('a limit written as a number', () => {
    const at = (text: string, of = 'service/src/pages/console/x.ts') => checkFormLimits([{ path: of, text }]).length
    assert.deepEqual([at('maxlength="140"'), at('charsMax: 70'), at('maxlength="36"')], [1, 1, 0])
    assert.equal(at('maxlength="140"', path), 0)
  })

  const source = (text: string, at = path) => scan({ path: at, text })
  const lines = (count: number) => 'x\n'.repeat(count)

  test('a long file', () => {
    assert.equal(checkFileLength([{ path, text: lines(601) }]).length, 1)
    assert.deepEqual(checkFileLength([{ path, text: lines(600) }]), none)
  })

  test('a long function, in every form', () => {
    for (const [open, close] of [
      ['function f() {', '}'],
      ['export async function f<T extends { a: 1 }>(a: { b: 1 }): Promise<{ c: T }> {', '}'],
      ['function f(a: string): { readonly a: 1 } {', '}'],
      ['const f = async (a: string) => {', '}'],
      ['const a = { f: (b) => {', '} }'],
    ] as const) {
      assert.equal(checkFunctionLength([source(`${open}\n${lines(99)}${close}`)]).length, 1, open)
      assert.deepEqual(checkFunctionLength([source(`${open}\n${lines(98)}${close}`)]), none, open)
    }
  })

  test('braces in strings, templates and regular expressions are not counted', () => {
    const text = `function f() {\nconst a = '}'\nconst b = /[}]}/\nconst c = \`}\${{ d: '}' }}}\`\n// }\n${lines(100)}}`
    assert.equal(checkFunctionLength([source(text)]).length, 1)
  })

  test('a function counts its own lines, not the lines of its closures', () => {
    const verb = `const verb = () => {\n${lines(60)}}\n`
    assert.deepEqual(checkFunctionLength([source(`function createX() {\n${verb.repeat(9)}}`)]), none)
    assert.equal(checkFunctionLength([source(`function createX() {\n${lines(99)}${verb}}`)]).length, 1)
    assert.equal(checkFunctionLength([source(`function createX() {\n${verb.repeat(51)}}`)]).length, 1)
  })

  test('a suite of tests may be longer than a function', () => {
    const suites = `suite('a', () => {\n${lines(120)}})`
    assert.deepEqual(checkFunctionLength([source(suites, 'test/a.test.ts')]), none)
    assert.equal(checkFunctionLength([source(suites.replace('suite', 'test'), 'test/a.test.ts')]).length, 1)
  })

  test('modules', () => {
    const moduleOf = (files: Readonly<Record<string, string>>) =>
      checkModules(
        Object.entries(files).map(([name, text]) => source(text, `service/src/${name}`)),
        ['payouts'],
        ['payouts.payouts'],
        false,
      )
    const header = '/**\n * Payouts. Tables: payouts.payouts.\n */\n'
    const whole = { 'payouts/index.ts': header, 'payouts/service.ts': '', 'payouts/routes.ts': '' }
    assert.deepEqual(moduleOf(whole), none)
    assert.equal(moduleOf({ 'payouts/index.ts': header, 'payouts/service.ts': '' }).length, 1)
    assert.equal(moduleOf({ ...whole, 'payouts/index.ts': "export * from './service.ts'" }).length, 1)
    assert.equal(moduleOf({ ...whole, 'payouts/index.ts': '/**\n * Payouts.\n */' }).length, 1)
    assert.equal(moduleOf({ 'parties/customers/index.ts': header, 'parties/customers/service.ts': '' }).length, 1)
    assert.equal(checkModules([], ['payouts'], [], true).length, 13, 'payouts and those without a group have no module')
  })

  test('tests that do not run', () => {
    for (const text of [
      "test.only('a', () => {})",
      "describe.skip('a', () => {})",
      "test('a', { skip: true }, () => {})",
      "test('a', (t) => { t.skip() })",
    ])
      assert.equal(checkTests([source(text, 'test/a.test.ts')]).length, 1, text)
    assert.deepEqual(
      checkTests([source("test('a', { skip: process.platform !== 'linux' }, () => {})", 'test/a.test.ts')]),
      none,
    )
    assert.deepEqual(checkTests([source("test('skip: test.only', () => {})", 'test/a.test.ts')]), none)
  })
})
