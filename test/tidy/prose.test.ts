/** The documents and the comments: links that lead somewhere, nothing left half-said. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { bankReasonsPage } from '../../scripts/generate/bank-reasons.ts'
import { configurationPage } from '../../scripts/generate/configuration.ts'
import { lifecyclesPage } from '../../scripts/generate/lifecycles.ts'
import { present } from '../../service/src/kernel/index.ts'
import { checkGaps, checkKeyFiles, checkLinks, checkWords, countLinks, readGaps } from './prose-rules.ts'
import { type Finding, readFiles } from './source.ts'

const pages = readFiles('.md')
const texts = [...pages, ...['.ts', '.sql', '.json', '.yml', '.sh'].flatMap((extension) => readFiles(extension))]
const gaps = present(
  pages.find(({ path }) => path === 'docs/gaps.md'),
  'docs/gaps.md is there',
)
/** Rows of docs/gaps.md with `-` for a test. */
const untestedGaps = 6
const none: readonly Finding[] = []

suite('prose', () => {
  test('enough is read to judge by', () => {
    assert.ok(pages.length >= 18, `only ${pages.length} pages were seen`)
    assert.ok(texts.length >= 90, `only ${texts.length} files were seen`)
    assert.ok(countLinks(pages) >= 20, `only ${countLinks(pages)} links were seen`)
    assert.ok(readGaps(gaps).length >= 60, `only ${readGaps(gaps).length} gaps were seen`)
  })
  test('nothing is left unfinished, silenced or tied to a machine', () =>
    assert.deepEqual(checkWords(texts.filter(({ path }) => path !== 'package-lock.json')), none))
  test('no page has its reader write a key that others can read', () => assert.deepEqual(checkKeyFiles(pages), none))
  test('no link is dead', () => assert.deepEqual(checkLinks(pages), none))
  test('no link of a page that is not committed is dead', () => {
    const made = { configuration: configurationPage(), lifecycles: lifecyclesPage(), bankReasons: bankReasonsPage() }
    const files = Object.entries(made).map(([name, text]) => ({ path: `docs/generated/${name}.md`, text }))
    assert.ok(countLinks(files) >= 5, `only ${countLinks(files)} links were seen`)
    assert.deepEqual(checkLinks([...files, ...pages]), none)
  })
  test('every gap names the test that holds our choice', () => assert.deepEqual(checkGaps(gaps), none))
  test('as many gaps as are known are without a test: a number that only falls', () =>
    assert.equal(readGaps(gaps).filter((gap) => gap.test === '-').length, untestedGaps))
})

suite('each rule of prose bites', () => {
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

  test('gaps', () => {
    const row = (cells: string) =>
      checkGaps({
        path: 'docs/gaps.md',
        text: `| gap | our choice | why | where | test |\n|---|---|---|---|---|\n${cells}`,
      })
    assert.deepEqual(row('| a | b | c | `docs/gaps.md` | `test/tidy/prose.test.ts` |'), none)
    for (const cells of [
      '| a | b | c | `docs/gaps.md` | `test/nowhere.test.ts` |',
      '| a | b | c | `docs/nowhere.md` | `test/tidy/prose.test.ts` |',
      '| a | b | `test/tidy/prose.test.ts` |',
    ])
      assert.equal(row(cells).length, 1, cells)
  })
})
