/**
 * Adds the example operation of CONTRIBUTING.md to a copy of the repository, from the code blocks of that page, and
 * runs it.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { run } from '../support/npm.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const filesMax = 5
const committedByGenerate = ['sdk/src/generated/operations.ts', 'sdk/src/generated/types.ts', 'wire/openapi.json']

const page = readFileSync(join(repository, 'CONTRIBUTING.md'), 'utf8')
const walk = page.slice(page.indexOf('## Add an operation'), page.indexOf('## Add a transition'))
const blocks = [...walk.matchAll(/^```diff (\S+)\n([\s\S]*?)^```$/gm)].map(([, path = '', text = '']) => ({
  path,
  text,
}))

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: repository })
const files = listed
  .toString()
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(repository, path)))

/** The copy shares the installed packages, and has workspaces of its own. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'partner-payments-walk-'))
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    cpSync(join(repository, path), join(copy, path))
  }
  const packages = join(copy, 'node_modules')
  mkdirSync(join(packages, '@partner-payments'), { recursive: true })
  for (const name of readdirSync(join(repository, 'node_modules')).filter((each) => each !== '@partner-payments'))
    symlinkSync(join(repository, 'node_modules', name), join(packages, name))
  for (const workspace of ['wire', 'service', 'sdk'])
    symlinkSync(join(copy, workspace), join(packages, '@partner-payments', workspace))
  return copy
}

/**
 * Applies a hunk: the file must contain the lines that begin with a space, in sequence, and the lines with `+` are
 * inserted between them.
 */
function applyHunk(text: string, hunk: string, path: string): string {
  const lines = hunk.split('\n').filter((line) => line !== '')
  const linesOf = (signs: string) => lines.filter((line) => signs.includes(line.charAt(0))).map((line) => line.slice(1))
  const known = linesOf(' ').join('\n')
  const parts = `\n${text}`.split(`\n${known}\n`)
  assert.equal(parts.length, 2, `${path} has these lines once:\n${known}`)
  return parts.join(`\n${linesOf(' +').join('\n')}\n`).slice(1)
}

const copy = copyTree()
after(() => rmSync(copy, { recursive: true }))
const node = (...args: readonly string[]) => run(process.execPath, args, copy)
const read = (path: string) => readFileSync(join(copy, path), 'utf8')

test(`a new operation that reads a table needs at most ${filesMax} hand-written files`, () => {
  const paths = new Set(blocks.map(({ path }) => path))
  assert.ok(paths.size >= 3 && paths.size <= filesMax, [...paths].join())
})

test('the operation from the guide is generated, compiles and passes its contract tests on a real service', () => {
  for (const { path, text } of blocks) {
    const changed = text.split('@@\n').reduce((before, hunk) => applyHunk(before, hunk, path), read(path))
    writeFileSync(join(copy, path), changed)
  }
  node('scripts/generate.ts')
  node('node_modules/typescript/bin/tsc', '-p', '.')
  const changed = files.filter((path) => !readFileSync(join(copy, path)).equals(readFileSync(join(repository, path))))
  assert.deepEqual(changed.toSorted(), [...new Set(blocks.map(({ path }) => path)), ...committedByGenerate].toSorted())
  assert.match(read('sdk/src/generated/operations.ts'), /^ {4}count: 'countWallets',$/m)

  const pattern = '--test-name-pattern=GET /v1/wallets/counts'
  const printed = node('--test', '--test-reporter=tap', pattern, 'test/contract/refusals.test.ts')
  const passed = Number(/^# pass (\d+)$/m.exec(printed)?.[1])
  assert.ok(passed >= 10, printed)
  node('--test', 'test/tidy/operations.test.ts', 'test/tidy/sql.test.ts', 'test/tidy/use.test.ts')
})
