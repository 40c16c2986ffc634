/** Everything that the service declares is used; exports that only tests use are refused. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { problems } from '@partner-payments/wire'
import { type Finding, readSources, type Source, scan } from './source.ts'
import { checkExports, checkPassedOn, checkProblemCodes, checkVerbs } from './use-rules.ts'

const sources = readSources()
const none: readonly Finding[] = []

suite('use', () => {
  test('every export is imported by code that is not a test', () => assert.deepEqual(checkExports(sources), none))
  test('every name that an index.ts passes on is read outside its folder', () =>
    assert.deepEqual(checkPassedOn(sources), none))
  test('every verb is called by code that is not a test', () => assert.deepEqual(checkVerbs(sources), none))
  test('every problem code is raised', () => assert.deepEqual(checkProblemCodes(sources, Object.keys(problems)), none))
})

suite('each rule of use reports its violation', () => {
  const files = (texts: Readonly<Record<string, string>>): readonly Source[] =>
    Object.entries(texts).map(([path, text]) => scan({ path, text }))
  const own = 'service/src/ledger/a.ts'
  const other = 'service/src/ledger/b.ts'
  const aTest = 'service/src/ledger/a.test.ts'

  test('exports', () => {
    const count = (texts: Readonly<Record<string, string>>) => checkExports(files(texts)).length
    const declared = 'export const a = 1\n'
    assert.equal(count({ [own]: declared }), 1)
    assert.equal(count({ [own]: declared, [aTest]: "import { a } from './a.ts'" }), 1, 'used by a test only')
    assert.equal(count({ [own]: declared, [other]: "import { a } from './a.ts'" }), 0)
    assert.equal(count({ [own]: declared, [other]: "import * as own from './a.ts'\nown.a" }), 0)
    assert.equal(count({ [own]: declared, [other]: "export { a } from './a.ts'" }), 1, 'passed on and not used')
    const usedHere = `${declared}const b = a`
    assert.equal(count({ [own]: usedHere }), 1, 'the export is not needed')
    assert.equal(count({ [own]: usedHere, [aTest]: "import { a } from './a.ts'" }), 0)
    assert.equal(count({ [own]: 'export type A = 1\nexport type B = A' }), 1)
  })

  test('names that are passed on', () => {
    const count = (path: string, use: string) =>
      checkPassedOn(files({ 'service/src/ledger/index.ts': "export { a, type B } from './a.ts'", [path]: use })).length
    assert.equal(count(other, "import { a, type B } from './index.ts'"), 2)
    assert.equal(count('service/src/ledger/integrity/index.ts', "import { a } from '../index.ts'"), 1)
    assert.equal(count('test/a.test.ts', "import { a as own, type B } from '../service/src/ledger/index.ts'"), 0)
    assert.equal(count('test/a.ts', "const { a } = await import('../service/src/ledger/index.ts')"), 1)
    assert.equal(count('test/a.ts', "import * as own from '../service/src/ledger/index.ts'\nown.a"), 1)
  })

  test('verbs', () => {
    const made = 'export function createX() {\n  return {\n    go: () => 1,\n  }\n}\n'
    const count = (use: string, path: string) => checkVerbs(files({ [own]: made, [path]: use })).length
    assert.equal(count('x.go()', other), 0)
    assert.equal(count('const { go } = x', other), 0)
    assert.equal(count('x.go()', aTest), 1)
  })

  test('problem codes', () => {
    const raising = files({ [own]: "throw new Refusal('not_found')" })
    assert.deepEqual(checkProblemCodes(raising, ['not_found']), none)
    assert.equal(checkProblemCodes(raising, ['not_found', 'gone']).length, 1)
  })
})
