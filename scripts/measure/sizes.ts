/**
 * Prints how large the service is: files, lines, folders, tests, benches and words. `node scripts/measure/sizes.ts`. Others print more:
 * `walks.ts` prints the files that a payout runs through, `start.ts` what a start loads, `test-lines.ts` the lines of tests by folder.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

const paths = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  .toString()
  .split('\0')
  .filter((path) => path !== '' && existsSync(path))
const lines = (of: readonly string[]): number =>
  of.reduce((sum, path) => sum + readFileSync(path, 'utf8').split('\n').length - 1, 0)
const words = (of: readonly string[]): number =>
  of.reduce((sum, path) => sum + readFileSync(path, 'utf8').split(/\s+/).filter(Boolean).length, 0)
const under = (folder: string, end = ''): readonly string[] =>
  paths.filter((path) => path.startsWith(folder) && path.endsWith(end))
const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.startsWith('test/')

const code = under('service/src/', '.ts').filter((path) => !isTest(path))
const folders = Map.groupBy(code, (path) => dirname(path))
const tops = Map.groupBy(code, (path) => path.split('/')[2] ?? '')
const largest = [...folders].toSorted(([, one], [, other]) => other.length - one.length)[0]
const print = (what: string, count: number | string): void =>
  console.log(`${what.padEnd(52)}${String(count).padStart(9)}`)

print('files of service/src without tests', code.length)
print('lines of them', lines(code))
print('folders below service/src', [...tops].filter(([, files]) => files.length > 1).length)
print(`files of the largest folder (${largest?.[0] ?? ''})`, largest?.[1].length ?? 0)
print(
  'files under 40 lines, without index.ts',
  code.filter((path) => lines([path]) < 40 && !path.endsWith('/index.ts')).length,
)
print('lines of tests', lines(paths.filter((path) => isTest(path) && path.endsWith('.ts'))))
print('lines of bench', lines(under('bench/')))
print('migrations, lines', `${under('service/migrations/').length}, ${lines(under('service/migrations/'))}`)
print('words of Markdown', words(under('', '.md')))
print('  of docs/decisions', words(under('docs/decisions/', '.md')))
print('lines of TypeScript', lines(under('', '.ts')))
