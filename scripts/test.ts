/**
 * `npm test` runs the test files, and of the long ones a share (scripts/turns.ts); `--all` (`npm run test:all`) runs all. An argument selects
 * the files whose path contains it (`npm test -- embedded`). Options are
 * passed to `node --test` (`npm test -- --test-name-pattern=stop`). `--faults` (`npm run test:faults`) runs only the
 * fault tests, in their long form. `--quick` (`npm run test:quick`) runs the files that need no server, in one process. `--times`
 * prints what each file cost after the summary. `--sharded` (`npm run test:sharded`) runs the tests of the modules
 * as on a sharded database (test/support/sharded.ts).
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { batchFiles } from './batches.ts'
import { pureTests } from './pure-tests.ts'
import { recordTimes } from './suite-times.ts'
import { filesOfTurn } from './turns.ts'
import { shareNumber, takesAll } from '../test/support/share.ts'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PATTERNS = ['wire/src/**/*.test.ts', 'service/src/**/*.test.ts', 'sdk/src/**/*.test.ts', 'test/**/*.test.ts']
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const args = process.argv.slice(2)
const filters = args.filter((arg) => !arg.startsWith('-')).map((arg) => arg.replaceAll('\\', '/').replace(/^\.\//, ''))
const faults = args.includes('--faults')
const sharded = args.includes('--sharded')
const quick = args.includes('--quick')
const all = args.includes('--all')
const ownOptions: ReadonlySet<string> = new Set(['--all', '--faults', '--sharded', '--quick', '--times'])
const options = args.filter((arg) => arg.startsWith('-') && !ownOptions.has(arg))

const SHARDED_PATTERNS = [
  'webhooks',
  'payouts',
  'monitoring',
  'ledger',
  'banks',
  'deposits',
  'checkout',
  'fx',
  'accounts',
  'transactions',
  'screening',
  'inbox',
  'reports',
  'cases',
  'parties',
  'people',
  'chains',
].map((folder) => `service/src/${folder}/**/*.test.ts`)
const patterns = faults ? ['test/fault/*.test.ts'] : sharded ? SHARDED_PATTERNS : PATTERNS
const selected = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**'] })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  .toSorted()
// `npm run check` runs test/tidy.
const chosen = quick ? pureTests(ROOT, selected).filter((file) => !file.startsWith('test/')) : selected
const isWhole = filters.length === 0 && options.length === 0 && !faults && !sharded && !quick
const files = isWhole && !all && !takesAll ? filesOfTurn(chosen) : chosen

if (files.length === 0) {
  console.error(`no test file matches ${filters.join(', ') || PATTERNS.join(', ')}`)
  process.exit(1)
}

// One process more than cores, and at least three, because tests wait for browsers, other processes and the database half of
// their time. The default of Node is one process fewer than cores, which runs a single file at a time on two cores.
const concurrency = Math.max(3, availableParallelism() + 1)
const times = args.includes('--times') ? recordTimes(ROOT) : undefined
// Options choose tests by their names, and a batch would add the names of files to them.
const batched = quick || options.length > 0 ? { files, remove: () => {} } : batchFiles(ROOT, files)
/** Paths of files that call `joinTestService`. */
const joining = /^test\/(?:browser\/console|contract\/|guides\/)/
const shared = [
  ...(files.some((file) => file.startsWith('test/browser/')) ? ['browser'] : []),
  ...(files.filter((file) => joining.test(file)).length > 1 ? ['service'] : []),
]
const preload = (file: string): string => `--import=${pathToFileURL(join(ROOT, 'test/support', file)).href}`
const isolation = quick
  ? ['--test-isolation=none']
  : [preload('file-limit.ts'), `--test-global-setup=${join(ROOT, 'test/support/global.ts')}`]
const runner = spawn(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${concurrency}`,
    '--test-reporter=spec',
    ...isolation,
    ...(times ? [preload('times.ts')] : []),
    ...options,
    ...batched.files,
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile'),
      ...process.env,
      ...times?.env,
      TEST_SHARE: takesAll ? 'all' : String(shareNumber),
      TEST_SHARED: shared.join(','),
      ...(faults ? { FAULTS: 'long' } : {}),
      ...(sharded ? { TEST_SHARDED: 'on' } : {}),
    },
  },
)

let interrupted: NodeJS.Signals | undefined
for (const name of SIGNALS) {
  process.on(name, () => {
    interrupted = name
    // The terminal sends Ctrl-C to the runner too. Other signals must be forwarded.
    if (name !== 'SIGINT' || !process.stdin.isTTY) runner.kill(name)
  })
}

runner.once('error', (thrown) => {
  console.error(`cannot start the test runner: ${thrown.message}`)
  process.exitCode = 1
})
runner.once('exit', (code, signal) => {
  const endSignal = interrupted ?? signal
  batched.remove()
  times?.print()
  process.exitCode = endSignal ? 128 + constants.signals[endSignal] : (code ?? 1)
})
