/**
 * `npm run bench:webhooks`: measures deliveries, compared with the HTTP client alone, with job queue libraries, and beside
 * failing endpoints. `--quick` takes a minute and a half. Exits with 1 if the audit fails; a missed floor is only reported.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killAll } from '../children.ts'
import { startPostgres, type Postgres } from '../postgres.ts'
import { runRounds } from '../rounds.ts'
import { renderMarkdown, renderText } from './report.ts'
import { buildStage } from './stage.ts'
import { type RowNumber, rowNumbers } from './table.ts'

const forms = {
  quick: { rounds: 3, seconds: 1.5, pending: 200_000, hanging: 50_000, only: '1,2,5' },
  full: { rounds: 5, seconds: 5, pending: 10_000_000, hanging: 500_000, only: rowNumbers.join() },
}
const resultsFile = join(import.meta.dirname, 'results.md')
const say = (line: string) => console.log(line)

function readOptions() {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: text,
      seconds: text,
      /** Rows in the full queue, and rows of the endpoint that hangs. */
      pending: text,
      hanging: text,
      /** Rows of the table, for example `1,5`. */
      only: text,
      /** The folder for CPU profiles of every measured process. */
      profile: text,
    },
  })
  const form = values.quick ? 'quick' : 'full'
  const byDefault = forms[form]
  const number = (name: 'rounds' | 'seconds' | 'pending' | 'hanging') => {
    const value = Number(values[name] ?? byDefault[name])
    if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} must be a number above 0`)
    return value
  }
  const only = (values.only ?? byDefault.only).split(',').map(Number)
  if (!only.every((row): row is RowNumber => rowNumbers.some((known) => known === row)))
    throw new Error(`--only must be numbers of ${rowNumbers.join()}, separated by commas`)
  return {
    form,
    rounds: number('rounds'),
    seconds: number('seconds'),
    pending: number('pending'),
    hanging: number('hanging'),
    only: new Set<RowNumber>(only),
    execArgv: values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`],
  }
}

async function measure(options: ReturnType<typeof readOptions>, postgres: Postgres): Promise<readonly string[]> {
  const { meanwhile, contestants, stop } = await buildStage({ ...options, postgres, say })
  const { samples, wrong } = await runRounds(
    contestants,
    { rounds: options.rounds, warmUps: options.form === 'quick' ? 1 : 3 },
    postgres,
    say,
  )
  await stop()
  const report = { ...options, settings: postgres.settings, samples, meanwhile, wrong }
  say(`\n${renderText(report)}`)
  await writeFile(resultsFile, renderMarkdown(report))
  return wrong
}

const options = readOptions()
const begun = performance.now()
const postgres = await startPostgres()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    // Requests to the ended processes fail. These errors must not stop the cleanup.
    process.on('uncaughtException', () => {})
    killAll()
    void postgres.stop().finally(() => process.exit(130))
  })
try {
  const wrong = await measure(options, postgres)
  if (wrong.length > 0) process.exitCode = 1
} catch (error) {
  if (!interrupted) throw error
} finally {
  killAll()
  await postgres.stop()
}
say(`${((performance.now() - begun) / 1000).toFixed(0)} s`)
