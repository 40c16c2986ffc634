/**
 * `npm run bench`: measures payouts against peers in interleaved rounds on one PostgreSQL. `--quick` measures the first
 * rows within a minute. `--growth` measures how the cost grows, into `growth.json`. `--kill` kills the service during
 * rounds and checks its data. Exit code 1 if an audit fails; a missed floor is only printed.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killAll } from './children.ts'
import { findPgbench } from './environment.ts'
import { runGrowth } from './growth.ts'
import { runKill } from './kill.ts'
import { startLoad } from './load.ts'
import { measureMemory } from './memory.ts'
import { measureOverload } from './overload.ts'
import { privateKeyPem } from './partners.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { renderMarkdown, renderText } from './report.ts'
import { runRounds, spreadOf } from './rounds.ts'
import { buildStage } from './stage.ts'

const forms = {
  quick: { rounds: 3, warmUps: 1, leadSeconds: 0.2, seconds: 0.7, payouts: 1000 },
  full: { rounds: 5, warmUps: 3, leadSeconds: 2, seconds: 5, payouts: 1_000_000 },
}
const growthForms = {
  quick: { rounds: 2, seconds: 1, rows: 100_000 },
  full: { rounds: 5, seconds: 5, rows: 1_000_000 },
}
const resultsFile = join(import.meta.dirname, 'results.md')
const say = (line: string) => console.log(line)

function readOptions() {
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    options: {
      quick: flag,
      kill: flag,
      growth: flag,
      /** Sizes that replace those of the form. */
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      partners: { type: 'string', default: '1000' },
      rows: { type: 'string' },
      payouts: { type: 'string' },
      /** A folder for CPU profiles of every measured process. */
      profile: { type: 'string' },
    },
  })
  const form = values.quick ? 'quick' : 'full'
  const byDefault = { ...forms[form], rows: 10_000_000, ...(values.growth ? growthForms[form] : {}) }
  return { ...values, form, ...sizes(values, byDefault) } as const
}

type Sizes = Pick<(typeof forms)['quick'], 'rounds' | 'seconds' | 'payouts'> & { readonly rows: number }
function sizes(values: Readonly<Record<string, string | boolean | undefined>>, byDefault: Sizes) {
  const number = (name: string, fallback: number) => {
    const value = Number(values[name] ?? fallback)
    if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} is a number above 0`)
    return value
  }
  return {
    rounds: number('rounds', byDefault.rounds),
    seconds: number('seconds', byDefault.seconds),
    partners: number('partners', 1),
    rows: number('rows', byDefault.rows),
    payouts: number('payouts', byDefault.payouts),
  }
}

async function measure(options: ReturnType<typeof readOptions>, postgres: Postgres): Promise<readonly string[]> {
  const { form, rounds, seconds, partners, rows, payouts, profile } = options
  const { leadSeconds, warmUps } = forms[form]
  const pgbench = findPgbench()
  const load = startLoad(privateKeyPem)
  const full = form === 'full' ? { partners, rows } : undefined
  const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const stage = await buildStage({
    postgres,
    load,
    turn: { seconds, leadSeconds },
    pgbench: pgbench !== undefined,
    full,
    execArgv,
    say,
  })
  const { samples, wrong } = await runRounds(stage.contestants, { rounds, warmUps }, postgres, say)
  const rate = spreadOf((samples.get('payouts') ?? []).map((sample) => sample.rate)).median
  const overload = await measureOverload(stage.payouts.options, stage.payouts.tally, { rate, rounds }, say)
  const memory = await measureMemory(stage.payouts.options, stage.payouts.tally, payouts, say)
  const after = (await stage.payouts.audit()).map((what) => `memory: ${what}`)
  load.stop()
  await stage.stop()
  const { settings } = postgres
  const report = { form, rounds, seconds, settings, pgbench, samples, overload, memory, wrong: [...wrong, ...after] }
  say(`\n${renderText(report)}`)
  await writeFile(resultsFile, renderMarkdown(report))
  return report.wrong
}

async function grow(options: ReturnType<typeof readOptions>, running: Postgres): Promise<readonly string[]> {
  const { rounds, seconds, rows } = options
  const wrong = await runGrowth({ postgres: running, quick: options.quick, rounds, seconds, rows, say })
  say(wrong.length === 0 ? 'wrote bench/growth.json; `npm run generate` renders it' : wrong.join('\n'))
  return wrong
}

const options = readOptions()
const begun = performance.now()
const postgres = await startPostgres()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    // Pending work fails when its processes end, and must not interrupt the cleanup.
    process.on('uncaughtException', () => {})
    killAll()
    void postgres.stop().finally(() => process.exit(130))
  })
try {
  const work = options.kill ? () => runKill(postgres, say) : () => (options.growth ? grow : measure)(options, postgres)
  const wrong = await work()
  if (options.kill) say(wrong.length === 0 ? 'no payout lost or repeated' : wrong.join('\n'))
  if (wrong.length > 0) process.exitCode = 1
} catch (error) {
  if (!interrupted) throw error
} finally {
  killAll()
  await postgres.stop()
}
say(`${((performance.now() - begun) / 1000).toFixed(0)} s`)
