/**
 * `--growth`: how the cost of a payout grows with partners, rows, connections, payouts per transaction and processes. Each
 * axis starts from one base point (see `base`). The axis `spread` varies processes with many partners. Every point is a
 * contestant of the same interleaved rounds.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadedContestant, type LoadedOptions } from './contestants.ts'
import { serverCpuSeconds } from './cpu.ts'
import { cores, findPgbench } from './environment.ts'
import { fillRows } from './fill.ts'
import type { Axis, Growth, Point } from './growth-report.ts'
import { auditLedger } from './ledger-audit.ts'
import { fillPgbench, type Postgres, runPgbench, withClient } from './postgres.ts'
import { type Contestant, type Cost, runRounds, type Sample, type Spread, spreadOf } from './rounds.ts'
import { type Options, say } from './run.ts'
import { createStage, type Stage, type Target } from './stage.ts'

const base = { partners: 1, rows: 0, connections: 64, batch: 128, processes: 1, spread: 1 } as const
type Steps = Readonly<Record<Axis, readonly number[]>>
const stepsOf = (quick: boolean, rowsMax: number): Steps => ({
  partners: quick ? [1, 10, 100] : [1, 10, 100, 1000],
  rows: [0, ...[100_000, 1_000_000, 10_000_000].filter((rows) => rows <= rowsMax)],
  connections: [1, 4, 16, 64, 256],
  batch: [1, 8, 32, 128],
  processes: quick ? [1, 2] : [1, 2, 4],
  spread: quick ? [1, 2] : [1, 2, 4],
})
const othersThanBase = (axis: Axis, steps: Steps) => steps[axis].filter((at) => at !== base[axis])
const growthFile = join(import.meta.dirname, 'growth.json')
const basePoint = 'base'
const fsyncPoint = 'one row, one client'
const tpcbPoint = 'pgbench 1'
const axes = Object.keys(base) as readonly Axis[]
/** All axes share the base point. The first point of `spread` is the last point of `partners`. */
const nameOf = (axis: Axis, at: number, steps: Steps) => {
  if (at !== base[axis]) return `${axis} ${at}`
  return axis === 'spread' ? `partners ${Math.max(...steps.partners)}` : basePoint
}

/** Functions with current values. The views `pg_stat_...` lag behind, because backends report to them later. */
const countersText = `
  select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
    pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits`

/** Reads the resource usage of PostgreSQL so far. */
async function spentBy(databaseUrl: string, serverPid: number | undefined): Promise<Cost> {
  const { rows } = await withClient(databaseUrl, (client) => client.query<Omit<Cost, 'cpuMs'>>(countersText))
  const [row] = rows
  if (!row) throw new Error('PostgreSQL has no counters')
  const seconds = serverPid === undefined ? undefined : serverCpuSeconds(serverPid)
  return { ...row, cpuMs: seconds && seconds * 1000 }
}

const costOfEach = (before: Cost, after: Cost, count: number): Cost => ({
  walBytes: (after.walBytes - before.walBytes) / count,
  commits: (after.commits - before.commits) / count,
  cpuMs: before.cpuMs && after.cpuMs && (after.cpuMs - before.cpuMs) / count,
})

/** Limit of connections: one of the points has more than the service serves by default. */
const env = { REQUESTS_MAX: '1000' }
type Drive = Pick<LoadedOptions, 'server' | 'partners' | 'connections'>
/** Adds the contestant of a point, whose samples have its cost to PostgreSQL. */
type AddPoint = (name: string, target: Target, drive: Drive) => void

/** All axes but `rows` share one database. */
async function addPointsOfMainDatabase(stage: Stage, add: AddPoint, steps: Steps): Promise<void> {
  const main = await stage.service('accept', 'growth', { partners: Math.max(...steps.partners), env })
  const { connections, server } = main
  const partners = main.partners.slice(0, base.partners)
  add(basePoint, main, { server, partners, connections })
  for (const at of othersThanBase('partners', steps))
    add(`partners ${at}`, main, { server, partners: main.partners.slice(0, at), connections })
  for (const at of othersThanBase('connections', steps))
    add(`connections ${at}`, main, { server, partners, connections: at })
  for (const at of othersThanBase('batch', steps)) {
    const limited = await stage.start('accept', main, { env, args: [String(at)] })
    add(`batch ${at}`, main, { server: limited, partners, connections })
  }
  for (const at of othersThanBase('processes', steps)) {
    const processes = await stage.start('processes', main, { env: { ...env, PROCESSES: String(at) } })
    add(`processes ${at}`, main, { server: processes, partners, connections })
    add(`spread ${at}`, main, { server: processes, partners: main.partners, connections })
  }
}

/** PostgreSQL alone: TPC-B on a hot row, and small commits of one client. */
async function pgbenchContestants(postgres: Postgres, seconds: number): Promise<readonly Contestant[]> {
  const url = await postgres.create('growth_pgbench', 'empty')
  await fillPgbench(url, 1)
  const script = join(postgres.folder, 'one-row.sql')
  const insert = 'insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 1, 1, null);\n'
  await writeFile(script, insert, { mode: 0o644 })
  const peer = (name: string, options?: Parameters<typeof runPgbench>[2]): Contestant => ({
    name,
    sample: async () => ({ rate: await runPgbench(url, Math.ceil(seconds), options) }),
    warms: false,
  })
  return [peer(tpcbPoint), peer(fsyncPoint, { clients: 1, script })]
}

/** Measures, writes `growth.json`, and returns what the audit found wrong. */
export async function runGrowth(
  { form, sizes }: Options<'rounds' | 'seconds' | 'rows'>,
  postgres: Postgres,
): Promise<readonly string[]> {
  const { rounds, seconds } = sizes
  const quick = form === 'quick'
  const steps = stepsOf(quick, sizes.rows)
  const stage = createStage(postgres)
  const contestants: Contestant[] = []
  const targets = new Set<Target>()
  const add: AddPoint = (name, target, drive) => {
    const { databaseUrl, tally } = target
    targets.add(target)
    const turn = { seconds, leadSeconds: quick ? 0 : 1 }
    const loaded = loadedContestant({ ...drive, ...turn, name, kind: 'payout', load: stage.load, tally })
    const sample = async () => {
      const [before, accepted] = [await spentBy(databaseUrl, postgres.pid), tally.accepted]
      const found = await loaded.sample()
      return { ...found, cost: costOfEach(before, await spentBy(databaseUrl, postgres.pid), tally.accepted - accepted) }
    }
    contestants.push({ name, sample })
  }
  say('starting the processes, one for each point')
  await addPointsOfMainDatabase(stage, add, steps)
  for (const rows of othersThanBase('rows', steps)) {
    say(`filling ${rows.toLocaleString('en')} rows`)
    const filled = await stage.service('accept', `growth_${rows}`, { fill: fillRows(rows, say), env })
    add(`rows ${rows}`, filled, filled)
  }
  if (findPgbench() !== undefined) contestants.push(...(await pgbenchContestants(postgres, seconds)))
  const { samples } = await runRounds(contestants, { rounds, warmUps: quick ? 1 : 2 }, postgres, say)
  const audits = await Promise.all([...targets].map(({ databaseUrl, tally }) => auditLedger(databaseUrl, tally)))
  const wrong = audits.flat()
  await stage.stop()
  const { server_version: version = '', ...settings } = postgres.settings
  const points = (axis: Axis): readonly Point[] =>
    steps[axis].map((at) => pointOf(at, samples.get(nameOf(axis, at, steps)) ?? []))
  const rate = (name: string) => rateOf(samples.get(name) ?? [])
  const growth: Growth = {
    form,
    rounds,
    seconds,
    cores,
    postgres: version,
    settings,
    node: process.versions.node,
    base,
    ...(samples.has(tpcbPoint) ? { pgbench: { tpcb: rate(tpcbPoint), oneRow: rate(fsyncPoint) } } : {}),
    auditPassed: wrong.length === 0,
    axes: Object.fromEntries(axes.map((axis) => [axis, points(axis)])) as Record<Axis, readonly Point[]>,
  }
  await writeFile(growthFile, growthText(growth))
  say(wrong.length === 0 ? 'wrote bench/growth.json; `npm run generate` renders it' : wrong.join('\n'))
  return wrong
}

const digits = (value: number) => Number(value.toPrecision(4))
function rateOf(samples: readonly Sample[]): Spread {
  const { median, min, max } = spreadOf(samples.map(({ rate }) => rate))
  return { median: digits(median), min: digits(min), max: digits(max) }
}

function pointOf(at: number, samples: readonly Sample[]): Point {
  const median = (value: (sample: Sample) => number | undefined) => {
    const known = samples.map(value).filter((each) => each !== undefined)
    return known.length === 0 ? undefined : digits(spreadOf(known).median)
  }
  return {
    at,
    rate: rateOf(samples),
    p50Ms: median(({ p50Ms }) => p50Ms),
    p99Ms: median(({ p99Ms }) => p99Ms),
    serviceCpuMs: median(({ serverCpu, rate }) => serverCpu && (serverCpu / rate) * 1000),
    loadCpuMs: median(({ loadCpu, rate }) => loadCpu && (loadCpu / rate) * 1000),
    postgresCpuMs: median(({ cost }) => cost?.cpuMs),
    walBytes: median(({ cost }) => cost?.walBytes),
    commits: median(({ cost }) => cost?.commits),
  }
}

function growthText({ axes: measured, ...head }: Growth): string {
  const lines = axes.map((axis) => {
    const points = measured[axis].map((point) => `      ${JSON.stringify(point)}`)
    return `    ${JSON.stringify(axis)}: [\n${points.join(',\n')}\n    ]`
  })
  const heads = Object.entries(head).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`)
  return `{\n${heads.join('')}  "axes": {\n${lines.join(',\n')}\n  }\n}\n`
}
