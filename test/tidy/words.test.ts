/** The vocabulary: one word a meaning, the field's words. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Finding, readFiles } from './source.ts'
import { checkVocabulary } from './word-rules.ts'

const files = ['.ts', '.md', '.sql', '.sh', '.mjs'].flatMap((extension) => readFiles(extension))
const none: readonly Finding[] = []

suite('words', () => {
  test('enough is read to judge by', () => assert.ok(files.length >= 400, `only ${files.length} files were read`))
  test('no word is used that the field has a better one for', () => assert.deepEqual(checkVocabulary(files), none))
})

suite('the rule of words finds its violation', () => {
  const count = (text: string, path = 'service/src/a.ts') => checkVocabulary([{ path, text }]).length
  const left = (word: string) => word.replace('_', '')

  test('in code, comments and documents', () => {
    assert.equal(count(left('const la_ne = 1')), 1)
    assert.equal(count(left('// a roo_m')), 1)
    assert.equal(count(left('the out_box'), 'docs/a.md'), 1)
    assert.equal(count('the event outbox, plane, headroom'), 0)
  })
  test('not in records', () => assert.equal(count(left('a la_ne'), 'docs/decisions/0012-webhook-engine.md'), 0))
})
