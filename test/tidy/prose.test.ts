/** Documents and comments: links resolve, nothing is unfinished, each choice names its test. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { bankReasonsPage } from '../../scripts/generate/bank-reasons.ts'
import { configurationPage } from '../../scripts/generate/configuration.ts'
import { lifecyclesPage } from '../../scripts/generate/lifecycles.ts'
import {
  checkChoices,
  checkFileNames,
  checkKeyFiles,
  checkLinks,
  checkWords,
  countLinks,
  readChoices,
} from './prose-rules.ts'
import { type Finding, readFiles } from './source.ts'

const pages = readFiles('.md')
const texts = [...pages, ...['.ts', '.sql', '.json', '.yml', '.sh'].flatMap((extension) => readFiles(extension))]
const groups = pages.filter(({ path }) => path.startsWith('docs/groups/') && !path.endsWith('README.md'))
const choices = groups.flatMap((page) => readChoices(page))
/** Number of choices in docs/groups with `-` for a test. */
const untestedChoices = 6
const none: readonly Finding[] = []

suite('prose', () => {
  test('the rules read enough pages', () => {
    assert.ok(pages.length >= 18, `only ${pages.length} pages were seen`)
    assert.ok(texts.length >= 90, `only ${texts.length} files were seen`)
    assert.ok(countLinks(pages) >= 20, `only ${countLinks(pages)} links were seen`)
    assert.ok(choices.length >= 200, `only ${choices.length} choices were seen`)
  })
  test('no text has a to-do, a silenced check or a path of one machine', () =>
    assert.deepEqual(checkWords(texts.filter(({ path }) => path !== 'package-lock.json')), none))
  test('no page tells its reader to write a key to a file that other users can read', () =>
    assert.deepEqual(checkKeyFiles(pages), none))
  test('no link is dead', () => assert.deepEqual(checkLinks(pages), none))
  test('every source file that a page names exists', () => {
    const paths = ['.ts', '.sql', '.mjs', '.css'].flatMap((extension) => readFiles(extension)).map(({ path }) => path)
    assert.deepEqual(checkFileNames(pages, paths), none)
  })
  test('no link of an uncommitted page is dead', () => {
    const made = { configuration: configurationPage(), lifecycles: lifecyclesPage(), bankReasons: bankReasonsPage() }
    const files = Object.entries(made).map(([name, text]) => ({ path: `docs/generated/${name}.md`, text }))
    assert.ok(countLinks(files) >= 5, `only ${countLinks(files)} links were seen`)
    assert.deepEqual(checkLinks([...files, ...pages]), none)
  })
  test('every decision has a unique number, and its title begins with it', () => {
    const records = pages.filter(({ path }) => /^docs\/decisions\/\d{4}-/.test(path))
    const numbers = records.map(({ path }) => path.slice('docs/decisions/'.length).slice(0, 4))
    assert.ok(records.length > 90)
    assert.equal(new Set(numbers).size, records.length)
    assert.deepEqual(
      records.filter(({ text }, index) => !text.startsWith(`# ${numbers[index]}`)).map(({ path }) => path),
      [],
    )
  })
  test('every choice links its test', () => assert.deepEqual(groups.flatMap(checkChoices), none))
  test('the number of choices without a test only decreases', () =>
    assert.equal(choices.filter((choice) => choice.test === '-').length, untestedChoices))
})

suite('each rule of prose reports its violation', () => {
  const page = (text: string, path = 'docs/a.md') => [{ path, text }]

  test('files with keys', () => {
    const block = (...lines: readonly string[]) => page(['```sh', ...lines, '```', ''].join('\n'))
    const create = 'npm run -s operator -- service-account create --partner ID > reader.json'
    const write = (more: string) => `writeFileSync('key.pem', privateKeyPem${more})`
    for (const lines of [[create], ['openssl genrsa 2048 >key.pem'], [create, 'umask 077'], [write('')]])
      assert.equal(checkKeyFiles(block(...lines)).length, 1, lines.join())
    for (const lines of [
      ['umask 077', create],
      [`(umask 077; ${create})`],
      [write(', { mode: 0o600 }')],
      ['cat < key.pem'],
    ])
      assert.deepEqual(checkKeyFiles(block(...lines)), none, lines.join())
  })
  test('names of files', () => {
    const paths = ['service/src/ledger/store.ts']
    assert.equal(checkFileNames(page('see `judge.ts` and `ledger/gone.ts`'), paths).length, 2)
    assert.deepEqual(checkFileNames(page('see `store.ts`, `ledger/store.ts`, `bench/NAME.ts`'), paths), none)
  })
  test('words', () => {
    for (const text of [
      'TO' + 'DO: later',
      '// XX' + 'X odd',
      'works for n' + 'ow',
      '// @ts-ig' + 'nore',
      'see /ho' + 'me/ann/a.txt',
    ])
      assert.equal(checkWords(page(`one\n${text}`)).length, 1, text)
    for (const text of [
      '/v1/wo' + 'rk/1',
      'mastodon',
      'https://example.com/ho' + 'me/a',
      './ho' + 'me/a',
      'for nowhere',
    ])
      assert.deepEqual(checkWords(page(text)), none, text)
  })

  test('links', () => {
    for (const text of [
      '[a](nowhere.md)',
      '[a](#nothing)',
      '[a](architecture.md#nothing)',
      '[a]: ./nowhere.md',
      '[a](generated/schema.md)',
    ])
      assert.equal(checkLinks([...page(text), ...pages]).length, 1, text)
    for (const text of [
      '[a](architecture.md)',
      '[a](architecture.md#layers)',
      '# Some `thing`, else\n[a](#some-thing-else)',
      '[a](https://example.com)',
      '`[a](nowhere.md)`',
      '```\n[a](nowhere.md)\n```',
    ])
      assert.deepEqual(checkLinks([...page(text), ...pages]), none, text)
  })

  test('choices', () => {
    const row = (cells: string) =>
      checkChoices({
        path: 'docs/groups/a.md',
        text: `| not specified | our choice | why | test |\n|---|---|---|---|\n${cells}`,
      })
    assert.deepEqual(row('| a | b | c | `test/tidy/prose.test.ts` |'), none)
    for (const cells of [
      '| a | b | c | `test/nowhere.test.ts` |',
      '| a | b | c | `test/tidy/prose.ts` |',
      '| a | b | `test/tidy/prose.test.ts` |',
    ])
      assert.equal(row(cells).length, 1, cells)
  })
})
