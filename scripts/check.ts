/**
 * `npm run check` runs the checks that must pass before a commit. All steps run, even after a failure. The last line is
 * a summary, and the exit status is 1 if any step failed.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const programs = join(root, 'node_modules', '.bin')

type Step = { readonly title: string; readonly command: string; readonly args: readonly string[] }

const tidyTests = globSync('test/tidy/*.test.ts', { cwd: root }).toSorted()
const steps: readonly Step[] = [
  { title: 'types', command: 'tsc', args: ['-p', '.'] },
  { title: 'lint', command: 'oxlint', args: ['--type-aware'] },
  { title: 'format', command: 'oxfmt', args: ['--check'] },
  { title: 'generated files', command: process.execPath, args: ['scripts/generate.ts', '--check'] },
  { title: 'commit subjects', command: process.execPath, args: ['scripts/commits.ts'] },
  { title: 'tidy', command: process.execPath, args: ['--test', '--test-reporter=dot', ...tidyTests] },
]

/** Ends a step that hangs. Types and lint take up to three minutes beside other work. */
const stepMsMax = 900_000

type Outcome = { readonly title: string; readonly passed: boolean; readonly seconds: string }

function run({ title, command, args }: Step): Outcome {
  console.log(`\n== ${title}: ${command === process.execPath ? 'node' : command} ${args.join(' ')}`)
  const started = performance.now()
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    timeout: stepMsMax,
    // On Windows, npm installs programs as shell scripts.
    shell: process.platform === 'win32' && command !== process.execPath,
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}` },
  })
  if (error) console.error(error.message)
  return { title, passed: status === 0, seconds: ((performance.now() - started) / 1000).toFixed(1) }
}

const outcomes = steps.map(run)
// Without file arguments, `node --test` selects files itself and may pass without a tidy test.
if (tidyTests.length === 0) outcomes.push({ title: 'tidy tests found', passed: false, seconds: '0.0' })

const failed = outcomes.filter(({ passed }) => !passed)
const summary = outcomes
  .map(({ title, passed, seconds }) => `${passed ? 'ok' : 'FAILED'} ${title} ${seconds} s`)
  .join(', ')
console.log(`\n${failed.length === 0 ? 'check passed' : `check FAILED`}: ${summary}`)
process.exitCode = failed.length === 0 ? 0 : 1
