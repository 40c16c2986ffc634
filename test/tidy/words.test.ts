/** Rules for words: the terms of the field, one for each meaning; doc comments that are whole sentences or noun phrases. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { type Finding, readFiles } from './source.ts'
import { checkDescriptions, checkDocComments, checkTypeNames, checkVocabulary, readDocComments } from './word-rules.ts'

const files = ['.ts', '.md', '.sql', '.sh', '.mjs'].flatMap((extension) => readFiles(extension))
const sources = files.filter(({ path }) => path.endsWith('.ts'))
const none: readonly Finding[] = []

suite('words', () => {
  test('the rules read enough files', () => assert.ok(files.length >= 400, `only ${files.length} files were read`))
  test('the rules read enough doc comments', () =>
    assert.ok(sources.reduce((sum, source) => sum + readDocComments(source).length, 0) >= 5000))
  test('no doc comment begins as a fragment', () => assert.deepEqual(checkDocComments(sources), none))
  test('no type is named by a participle, a question or a position alone', () =>
    assert.deepEqual(checkTypeNames(sources), none))
  test('no description of the interface begins as a fragment', () => {
    const document: unknown = JSON.parse(readFileSync('wire/openapi.json', 'utf8'))
    assert.deepEqual(checkDescriptions(document), [])
  })
  test('no word is used if the field has a better one', () => assert.deepEqual(checkVocabulary(files), none))
})

suite('the rule of words reports its violation', () => {
  const count = (text: string, path = 'service/src/a.ts') => checkVocabulary([{ path, text }]).length
  const left = (word: string) => word.replace('_', '')

  test('in code, comments and documents', () => {
    assert.equal(count(left('const la_ne = 1')), 1)
    assert.equal(count(left('// a roo_m')), 1)
    assert.equal(count(left('the out_box'), 'docs/a.md'), 1)
    assert.equal(count('the event outbox, plane, headroom'), 0)
  })
  test('not in the changelog', () => assert.equal(count(left('a la_ne'), 'CHANGELOG.md'), 0))
})

suite('the rule of doc comments reports its violation', () => {
  const count = (text: string, path = 'service/src/ledger/a.ts') => checkDocComments([{ path, text }]).length

  test('in sentences without a subject', () => {
    for (const text of ['Of the header.', 'What a read found.', 'Those of them that exist.', 'One of several.'])
      assert.equal(count(`/** ${text} */`), 1, text)
    assert.equal(count('/**\n * Whose money it counts.\n * More.\n */'), 1)
    for (const text of [
      'As if it had ended.',
      'None of them.',
      'Since when it waits.',
      'Under its lock.',
      'Neither of both.',
    ])
      assert.equal(count(`/** ${text} */`, 'service/src/banks/a.ts'), 1, text)
    const places = ['wire/src/operations/a.ts', 'service/src/ledger/a.test.ts', 'test/tidy/a.ts']
    for (const path of places) assert.equal(count(`/** ${'That of it.'} */`, path), 1, path)
  })
  test('in descriptions of the interface', () => {
    assert.equal(checkDescriptions({ schema: { a: { description: 'What is owed.' } } }).length, 1)
    assert.equal(checkDescriptions({ schema: { description: { description: 'Sum that is owed.' } } }).length, 0)
  })
  test('but not in verbs and nouns', () => {
    for (const text of [
      'Reads a file.',
      'Offer of a bank.',
      'Reports whether it is final.',
      'One transaction a payment.',
    ])
      assert.equal(count(`/** ${text} */`), 0, text)
  })
})

suite('the rule of type names reports its violation', () => {
  const count = (text: string, path = 'service/src/ledger/a.ts') => checkTypeNames([{ path, text }]).length

  test('in participles, questions and positions', () => {
    for (const name of ['Found', 'Asked', 'Unpacked', 'Sent', 'What', 'Beside', 'Making'])
      assert.equal(count(`export type ${name} = string`) + count(`type ${name}<T> = T`), 2, name)
  })
  test('but not in nouns', () => {
    for (const name of ['Feed', 'Booking', 'PendingRow', 'Screening', 'AdvanceOutcome', 'Readiness'])
      assert.equal(count(`export type ${name} = string`), 0, name)
  })
})
