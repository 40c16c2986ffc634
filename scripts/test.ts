/**
 * `npm test`: every test of every workspace. Arguments without a dash select files by a part of their path
 * (`npm test -- embedded`); those with a dash go to `node --test` as they are (`npm test -- --test-name-pattern=stop`).
 * `--faults`, which is `npm run test:faults`: the tests of faults alone, in their long form.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PATTERNS = ['wire/src/**/*.test.ts', 'service/src/**/*.test.ts', 'sdk/src/**/*.test.ts', 'test/**/*.test.ts']
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const args = process.argv.slice(2)
const filters = args.filter((arg) => !arg.startsWith('-')).map((arg) => arg.replaceAll('\\', '/').replace(/^\.\//, ''))
const faults = args.includes('--faults')
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--faults')

const files = globSync(faults ? ['test/fault/*.test.ts'] : PATTERNS, { cwd: ROOT, exclude: ['**/node_modules/**'] })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  .toSorted()

if (files.length === 0) {
  console.error(`no test file matches ${filters.join(', ') || PATTERNS.join(', ')}`)
  process.exit(1)
}

// Tests mostly wait for the database, so one process for each core and never fewer than two; node's own choice is one
// less than the cores, on a machine of two a single file at a time.
const concurrency = Math.max(2, availableParallelism())
const runner = spawn(
  process.execPath,
  [
    '--test',
    `--test-concurrency=${concurrency}`,
    '--test-reporter=spec',
    `--test-global-setup=${join(ROOT, 'test/support/global.ts')}`,
    ...options,
    ...files,
  ],
  { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...(faults ? { FAULTS: 'long' } : {}) } },
)

let interrupted: NodeJS.Signals | undefined
for (const name of SIGNALS) {
  process.on(name, () => {
    interrupted = name
    // A Ctrl-C reached the runner as well, from the terminal; the others are ours to pass on.
    if (name !== 'SIGINT' || !process.stdin.isTTY) runner.kill(name)
  })
}

runner.once('error', (thrown) => {
  console.error(`the test runner did not start: ${thrown.message}`)
  process.exitCode = 1
})
runner.once('exit', (code, signal) => {
  const ending = interrupted ?? signal
  process.exitCode = ending ? 128 + constants.signals[ending] : (code ?? 1)
})
