/**
 * `--growth`: how the cost of a payout grows with partners, rows, connections, payouts per transaction and processes. Each
 * axis starts from one base point (see `base`). The axis `spread` varies processes with many partners. Every point is a
 * contestant of the same interleaved rounds.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditLedger } from './ledger-audit.ts'
import { type Program, type Server, startServer, type StartOptions } from './children.ts'
import {
  type Contestant,
  loadedContestant,
  type LoadedOptions,
  type Sample,
  type Tally,
  type Turn,
} from './contestants.ts'
import { cores, findPgbench } from './environment.ts'
import { type Cost, costPerPayout, type Counters, countersOf } from './counters.ts'
import { fillRows, payoutsIn } from './fill.ts'
import type { Axis, Growth, Point } from './growth-report.ts'
import { type Load, startLoad } from './load.ts'
import { type Account, createBeneficiaries, createPartners, privateKeyPem } from './partners.ts'
import { fillPgbench, type Postgres, runPgbench } from './postgres.ts'
import { runRounds, type Samples, spreadOf } from './rounds.ts'

export type GrowthOptions = {
  readonly postgres: Postgres
  readonly quick: boolean
  readonly rounds: number
  readonly seconds: number
  /** The largest number of rows. Smaller steps are always measured. */
  readonly rows: number
  readonly say: (line: string) => void
}

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
export const growthFile = join(import.meta.dirname, 'growth.json')
const basePoint = 'base'
const fsyncPoint = 'one row, one client'
const tpcbPoint = 'pgbench 1'
const axes = Object.keys(base) as readonly Axis[]
/** All axes share the base point. The first point of `spread` is the last point of `partners`. */
const nameOf = (axis: Axis, at: number, steps: Steps) => {
  if (at !== base[axis]) return `${axis} ${at}`
  return axis === 'spread' ? `partners ${Math.max(...steps.partners)}` : basePoint
}

/** A database of the service, and what all contestants sent to it. */
type Target = { readonly databaseUrl: string; readonly dataDir: string; readonly tally: Tally }
type PointOptions = Omit<LoadedOptions, 'name' | 'kind' | 'load' | 'tally' | keyof Turn>
type Measured = {
  readonly contestants: readonly Contestant[]
  readonly costs: ReadonlyMap<string, Cost[]>
  readonly audit: () => Promise<readonly string[]>
  readonly stop: () => Promise<void>
}

/** The databases, processes and contestants of the run. */
function createGrowthStage({ postgres, seconds, quick }: GrowthOptions, load: Load) {
  const servers: Server[] = []
  const targets: Target[] = []
  const contestants: Contestant[] = []
  const costs = new Map<string, Cost[]>()

  const readCounters = async ({ databaseUrl, tally }: Target): Promise<Counters> => ({
    ...(await countersOf(databaseUrl, postgres.pid)),
    payouts: tally.accepted,
  })
  const sampleWithCost = async (contestant: Contestant, target: Target): Promise<Sample> => {
    const before = await readCounters(target)
    const sample = await contestant.sample()
    const cost = costPerPayout(before, await readCounters(target))
    costs.set(contestant.name, [...(costs.get(contestant.name) ?? []), cost])
    return sample
  }

  return {
    contestants,
    costs,
    createTarget: async (name: string): Promise<Target> => {
      const target = {
        databaseUrl: await postgres.create(name, 'service'),
        dataDir: join(postgres.folder, name),
        tally: { accepted: 0, unknown: 0 },
      }
      targets.push(target)
      return target
    },
    start: async (
      program: Program,
      { databaseUrl, dataDir }: Target,
      more: Pick<StartOptions, 'env' | 'args'> = {},
    ): Promise<Server> => {
      // One of the points has more connections than the service serves by default.
      const env = { REQUESTS_MAX: '1000', ...more.env }
      const server = await startServer(program, { databaseUrl, dataDir, ...more, env })
      servers.push(server)
      return server
    },
    addPoint: (name: string, target: Target, point: PointOptions): void => {
      const turn = { seconds, leadSeconds: quick ? 0 : 1 }
      const contestant = loadedContestant({ ...point, ...turn, name, kind: 'payout', load, tally: target.tally })
      contestants.push({ ...contestant, sample: () => sampleWithCost(contestant, target) })
    },
    audit: async () => {
      const found = await Promise.all(targets.map(({ databaseUrl, tally }) => auditLedger(databaseUrl, tally)))
      return found.flat()
    },
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  }
}

type GrowthStage = ReturnType<typeof createGrowthStage>

async function prepare(options: GrowthOptions, load: Load): Promise<Measured> {
  const { postgres, seconds, say } = options
  const stage = createGrowthStage(options, load)
  const steps = stepsOf(options.quick, options.rows)
  say('starting the processes, one for each point')
  await addPointsOfMainDatabase(stage, steps)
  for (const rows of othersThanBase('rows', steps)) await addRowsPoint(stage, rows, say)
  if (findPgbench() !== undefined) stage.contestants.push(...(await pgbenchContestants(postgres, seconds)))
  return stage
}

/** All axes but `rows` share one database. */
async function addPointsOfMainDatabase(stage: GrowthStage, steps: Steps): Promise<void> {
  const { connections } = base
  const main = await stage.createTarget('growth')
  const accounts = await createPartners(main.databaseUrl, main.dataDir, Math.max(...steps.partners))
  const server = await stage.start('accept', main)
  const allPartners = await createBeneficiaries(server.port, accounts)
  server.freeze()
  const partners = allPartners.slice(0, base.partners)
  stage.addPoint(basePoint, main, { server, partners, connections })
  for (const at of othersThanBase('partners', steps))
    stage.addPoint(`partners ${at}`, main, { server, partners: allPartners.slice(0, at), connections })
  for (const at of othersThanBase('connections', steps))
    stage.addPoint(`connections ${at}`, main, { server, partners, connections: at })
  for (const at of othersThanBase('batch', steps)) {
    const limited = await stage.start('accept', main, { args: [String(at)] })
    limited.freeze()
    stage.addPoint(`batch ${at}`, main, { server: limited, partners, connections })
  }
  for (const at of othersThanBase('processes', steps)) {
    const processes = await stage.start('processes', main, { env: { PROCESSES: String(at) } })
    processes.freeze()
    stage.addPoint(`processes ${at}`, main, { server: processes, partners, connections })
    stage.addPoint(`spread ${at}`, main, { server: processes, partners: allPartners, connections })
  }
}

async function addRowsPoint(stage: GrowthStage, rows: number, say: GrowthOptions['say']): Promise<void> {
  say(`filling ${rows.toLocaleString('en')} rows`)
  const target = await stage.createTarget(`growth_${rows}`)
  const [account] = (await createPartners(target.databaseUrl, target.dataDir, 1)) as [Account]
  await fillRows(target.databaseUrl, account.partnerId, rows, say)
  target.tally.accepted += payoutsIn(rows)
  const server = await stage.start('accept', target)
  const partners = await createBeneficiaries(server.port, [account])
  server.freeze()
  stage.addPoint(`rows ${rows}`, target, { server, partners, connections: base.connections })
}

/** PostgreSQL alone: TPC-B on a hot row, and small commits of one client. */
async function pgbenchContestants(postgres: Postgres, seconds: number): Promise<readonly Contestant[]> {
  const url = await postgres.create('growth_pgbench', 'empty')
  await fillPgbench(url, 1)
  const script = join(postgres.folder, 'one-row.sql')
  await writeFile(script, 'insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 1, 1, null);\n', {
    mode: 0o644,
  })
  const peer = (name: string, run: () => Promise<number>): Contestant => ({
    name,
    sample: async () => ({ rate: await run() }),
    warmUp: () => Promise.resolve(),
    audit: () => Promise.resolve([]),
  })
  const whole = Math.ceil(seconds)
  return [
    peer(tpcbPoint, () => runPgbench(url, whole)),
    peer(fsyncPoint, () => runPgbench(url, whole, { clients: 1, script })),
  ]
}

/** Measures, writes `growth.json`, and returns what the audit found wrong. */
export async function runGrowth(options: GrowthOptions): Promise<readonly string[]> {
  const { postgres, rounds, seconds, quick, say } = options
  const load = startLoad(privateKeyPem)
  const measured = await prepare(options, load)
  const { samples } = await runRounds(measured.contestants, { rounds, warmUps: quick ? 1 : 2 }, postgres, say)
  load.stop()
  const wrong = await measured.audit()
  await measured.stop()
  const { server_version: version = '', ...settings } = postgres.settings
  const steps = stepsOf(quick, options.rows)
  const growth: Growth = {
    form: quick ? 'quick' : 'full',
    rounds,
    seconds,
    cores,
    postgres: version,
    settings,
    node: process.versions.node,
    base,
    axes: Object.fromEntries(
      axes.map((axis) => [
        axis,
        steps[axis].map((at) => pointOf(at, nameOf(axis, at, steps), samples, measured.costs)),
      ]),
    ) as unknown as Growth['axes'],
    ...(samples.has(tpcbPoint)
      ? { pgbench: { tpcb: rateOf(tpcbPoint, samples), oneRow: rateOf(fsyncPoint, samples) } }
      : {}),
    auditPassed: wrong.length === 0,
  }
  await writeFile(growthFile, `${JSON.stringify(growth, undefined, 2)}\n`)
  return wrong
}

const rateOf = (name: string, samples: Samples) => rounded(spreadOf((samples.get(name) ?? []).map(({ rate }) => rate)))
const digits = (value: number) => Number(value.toPrecision(4))
const rounded = ({ median, min, max }: ReturnType<typeof spreadOf>) => ({
  median: digits(median),
  min: digits(min),
  max: digits(max),
})

function pointOf(at: number, name: string, samples: Samples, costs: Measured['costs']): Point {
  const list = samples.get(name) ?? []
  const median = <T>(of: readonly T[], value: (each: T) => number | undefined) => {
    const known = of.map(value).filter((each) => each !== undefined)
    return known.length === 0 ? undefined : digits(spreadOf(known).median)
  }
  const own = costs.get(name) ?? []
  return {
    at,
    rate: rateOf(name, samples),
    p50Ms: median(list, ({ p50Ms }) => p50Ms),
    p99Ms: median(list, ({ p99Ms }) => p99Ms),
    serviceCpuMs: median(list, ({ serverCpu, rate }) => serverCpu && (serverCpu / rate) * 1000),
    loadCpuMs: median(list, ({ loadCpu, rate }) => loadCpu && (loadCpu / rate) * 1000),
    postgresCpuMs: median(own, ({ cpuMs }) => cpuMs),
    walBytes: median(own, ({ walBytes }) => walBytes),
    commits: median(own, ({ commits }) => commits),
  }
}
