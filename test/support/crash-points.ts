/** Starts the workers of `workers.ts` as processes, and kills one again and again, each time at a different crash point. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Clock } from '../../service/src/kernel/index.ts'
import { isLong, printCounts, scaled } from './faults.ts'
import { shareNumber } from './share.ts'
import { until } from './until.ts'
import type { WorkerInput, WorkerName } from './workers.ts'

const runMsMax = 120_000
/** Odd: a commit has a point before and one after it, so that successive kills of a run take both kinds. */
const sharesShort = 7

/** The database of a worker, and its clock, which the worker's clock begins with. */
type At = { readonly url: string; readonly clock: Clock }
type Streams = 'ignore' | 'pipe' | 'inherit'
const program = fileURLToPath(new URL('worker-child.ts', import.meta.url))

/** Starts a worker, with a crash point or without one. */
export function startWorker<N extends WorkerName>(
  name: N,
  { url, clock }: At,
  given: WorkerInput<N>,
  {
    crashAt = 0,
    streams = ['ignore', 'inherit'],
    env = {},
  }: {
    readonly crashAt?: number
    readonly streams?: readonly [out: Streams, errors: Streams]
    readonly env?: NodeJS.ProcessEnv
  } = {},
): ChildProcess {
  const text = JSON.stringify({ ...given, url, now: clock.now() })
  const words = [program, name, String(crashAt), text]
  return spawn(process.execPath, words, { env: { ...process.env, ...env }, stdio: ['ignore', ...streams] })
}

/** Resolves when it has ended. */
export async function killWorker(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

type Result = { readonly killed: boolean; readonly output: string }

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** Folder of compiled code. Without it, loading modules takes most of a short run. A file that runs alone has none from scripts/test.ts. */
const compileCache = (): string => {
  const given = process.env['NODE_COMPILE_CACHE']
  if (given !== undefined) return given
  const own = mkdtempSync(join(tmpdir(), 'partner-payments-fault-'))
  process.once('exit', () => rmSync(own, { recursive: true, force: true }))
  return own
}

/**
 * Waits until the server has ended the sessions of a killed process. Until then they hold their locks, and a
 * worker that looks for work meanwhile skips these rows, as any that another works on, and finds nothing to do.
 */
async function sessionsEnded(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'crash-points' })
  await client.connect()
  try {
    await until('the sessions of the killed process have ended', async () => {
      const { rows } = await client.query(
        'select 1 from pg_stat_activity where application_name = $1 and datname = current_database() limit 1',
        [sessionsName],
      )
      return rows.length === 0
    })
  } finally {
    await client.end()
  }
}

/** The name that the database sessions of a child have. What an address says goes before what the service gives. */
const sessionsName = 'crash-points-child'
const named = (url: string): string => {
  const address = new URL(url)
  address.searchParams.set('application_name', sessionsName)
  return address.href
}

async function run<N extends WorkerName>(
  name: N,
  crashAt: number,
  { url, clock }: At,
  given: WorkerInput<N>,
  cache: string,
): Promise<Result> {
  const env = { NODE_COMPILE_CACHE: cache }
  const child = startWorker(name, { url: named(url), clock }, given, { crashAt, env, streams: ['pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const timer = setTimeout(() => child.kill('SIGTERM'), runMsMax)
  const { code, signal } = await new Promise<Exit>((resolve) => {
    child.once('close', (exitCode, exitSignal) => resolve({ code: exitCode, signal: exitSignal }))
  })
  clearTimeout(timer)
  if (signal !== 'SIGKILL')
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `${name} ${JSON.stringify(given)} failed:\n${errors}`)
  const killed = signal === 'SIGKILL'
  if (killed) await sessionsEnded(url)
  return { killed, output }
}

/**
 * Runs a worker to the end to count its crash points, then once for each point of a share of them, and kills it there. There are `shares`
 * shares, or fewer, an odd number, so that each has at least two points: as many successive hours kill it at every point. The long form does so in one run.
 * `scenario` sets up, calls `runWorker`, which returns the worker's output, and verifies the result.
 */
export async function killAtCrashPoints<N extends WorkerName>(
  t: TestContext,
  {
    worker,
    pointsMin,
    shares: sharesOf = sharesShort,
  }: {
    readonly worker: N
    /** Fewer points mean that the worker did not run, or that its commits are not counted. */
    readonly pointsMin: number
    /** Into how many shares the short form divides the points. More for a worker with many points. */
    readonly shares?: number
  },
  scenario: (runWorker: (at: At, given: WorkerInput<N>) => Promise<string>) => Promise<void>,
): Promise<void> {
  const cache = compileCache()
  let points = Infinity
  let runs = 0
  let kills = 0
  const runUntil = (crashAt: number) =>
    scenario(async (at, given) => {
      const { killed, output } = await run(worker, crashAt, at, given, cache)
      if (crashAt === 0) points = Math.min(points, Number(output.split('\n').at(-1)))
      else runs += 1
      if (killed) kills += 1
      return output
    })
  // The long form counts twice: the first run may still compile, and a slow one shares fewer commits, so that it passes more points.
  for (let counting = 0; counting < scaled(1, 2); counting += 1) await runUntil(0)
  const most = Math.min(scaled(sharesOf, 1), Math.floor(points / 2))
  const shares = most % 2 === 1 ? most : Math.max(1, most - 1)
  const first = (shareNumber % shares) + 1
  for (let crashAt = first; crashAt <= points; crashAt += shares) await runUntil(crashAt)
  if (!isLong) t.diagnostic(`share ${first} of ${shares} of the points; TEST_SHARE=${shareNumber} repeats it`)
  printCounts(t, { points, runs, kills })
  // Loops run concurrently, so that a run may pass fewer points than the counted ones, and then ends by itself.
  assert.ok(kills > 0 && kills >= runs / 3, `only ${kills} kills in ${runs} runs`)
  assert.ok(points >= pointsMin, `only ${points} points were passed`)
}
