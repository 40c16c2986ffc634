/**
 * `--growth`: how the cost of a payout grows with partners, rows, connections, payouts a transaction and processes. One
 * axis at a time from the same base (one partner, no rows, 64 connections, 128 payouts a transaction at most, one
 * process), and processes with many partners as well; every point is a contestant of the same interleaved rounds.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { auditBooks } from './ledger-audit.ts'
import { type Program, type Server, startServer, type StartOptions } from './children.ts'
import {
  type Contestant,
  type Ledger,
  loadedContestant,
  type LoadedOptions,
  type Sample,
  type Turn,
} from './contestants.ts'
import { cores, findPgbench } from './environment.ts'
import { type Counters, countersOf, type Spent, spentPerPayout } from './counters.ts'
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
  /** The most rows; the smaller steps are always there. */
  readonly rows: number
  readonly say: (line: string) => void
}

const base = { partners: 1, rows: 0, connections: 64, batch: 128, processes: 1, spread: 1 } as const
const stepsOf = (quick: boolean, rowsMax: number): Readonly<Record<Axis, readonly number[]>> => ({
  partners: quick ? [1, 10, 100] : [1, 10, 100, 1000],
  rows: [0, ...[100_000, 1_000_000, 10_000_000].filter((rows) => rows <= rowsMax)],
  connections: [1, 4, 16, 64, 256],
  batch: [1, 8, 32, 128],
  processes: quick ? [1, 2] : [1, 2, 4],
  spread: quick ? [1, 2] : [1, 2, 4],
})
export const growthFile = join(import.meta.dirname, 'growth.json')
const basePoint = 'base'
const fsyncPoint = 'one row, one client'
const tpcbPoint = 'pgbench 1'
const axes = Object.keys(base) as readonly Axis[]
/** The base point is one of every axis; of processes with many partners the first is a point of another axis. */
const nameOf = (axis: Axis, at: number, steps: Readonly<Record<Axis, readonly number[]>>) => {
  if (at !== base[axis]) return `${axis} ${at}`
  return axis === 'spread' ? `partners ${Math.max(...steps.partners)}` : basePoint
}

type Built = {
  readonly contestants: readonly Contestant[]
  readonly spent: ReadonlyMap<string, Spent[]>
  readonly audit: () => Promise<readonly string[]>
  readonly stop: () => Promise<void>
}
/** A database of the service, and what was accepted into it by whichever process. */
type Home = { readonly databaseUrl: string; readonly dataDir: string; readonly ledger: Ledger }

async function build(options: GrowthOptions, load: Load): Promise<Built> {
  const { postgres, seconds, say } = options
  const steps = stepsOf(options.quick, options.rows)
  const others = (axis: Axis) => steps[axis].filter((at) => at !== base[axis])
  const servers: Server[] = []
  const homes: Home[] = []
  const contestants: Contestant[] = []
  const spent = new Map<string, Spent[]>()
  const add = (
    name: string,
    { ledger, databaseUrl }: Home,
    rest: Omit<LoadedOptions, 'name' | 'kind' | 'load' | keyof Turn>,
  ) => {
    const turn = { seconds, leadSeconds: options.quick ? 0 : 1 }
    const contestant = loadedContestant({ ...rest, ...turn, name, kind: 'payout', load, ledger })
    contestants.push({ ...contestant, sample: () => measured(name, contestant, { ledger, databaseUrl }) })
  }
  const measured = async (
    name: string,
    contestant: Contestant,
    home: Pick<Home, 'ledger' | 'databaseUrl'>,
  ): Promise<Sample> => {
    const read = async (): Promise<Counters> => ({
      ...(await countersOf(home.databaseUrl, postgres.pid)),
      payouts: home.ledger.accepted,
    })
    const before = await read()
    const sample = await contestant.sample()
    const found = spentPerPayout(before, await read())
    spent.set(name, [...(spent.get(name) ?? []), found])
    return sample
  }
  const home = async (name: string): Promise<Home> => {
    const made = {
      databaseUrl: await postgres.create(name, 'service'),
      dataDir: join(postgres.folder, name),
      ledger: { accepted: 0, unknown: 0 },
    }
    homes.push(made)
    return made
  }
  const start = async (
    program: Program,
    { databaseUrl, dataDir }: Home,
    more: Pick<StartOptions, 'env' | 'args'> = {},
  ) => {
    // One of the points has more connections than the service takes by itself.
    const env = { REQUESTS_MAX: '1000', ...more.env }
    const server = await startServer(program, { databaseUrl, dataDir, ...more, env })
    servers.push(server)
    return server
  }

  say('starting the processes, one for each point')
  const { connections } = base
  const main = await home('growth')
  const accounts = await createPartners(main.databaseUrl, main.dataDir, Math.max(...steps.partners))
  const server = await start('accept', main)
  const everybody = await createBeneficiaries(server.port, accounts)
  server.freeze()
  const partners = everybody.slice(0, base.partners)
  add(basePoint, main, { server, partners, connections })
  for (const at of others('partners'))
    add(`partners ${at}`, main, { server, partners: everybody.slice(0, at), connections })
  for (const at of others('connections')) add(`connections ${at}`, main, { server, partners, connections: at })
  for (const at of others('batch')) {
    const sized = await start('accept', main, { args: [String(at)] })
    sized.freeze()
    add(`batch ${at}`, main, { server: sized, partners, connections })
  }
  for (const at of others('processes')) {
    const many = await start('processes', main, { env: { PROCESSES: String(at) } })
    many.freeze()
    add(`processes ${at}`, main, { server: many, partners, connections })
    add(`spread ${at}`, main, { server: many, partners: everybody, connections })
  }
  for (const at of others('rows')) {
    say(`filling ${at.toLocaleString('en')} rows`)
    const full = await home(`growth_${at}`)
    const [account] = (await createPartners(full.databaseUrl, full.dataDir, 1)) as [Account]
    await fillRows(full.databaseUrl, account.partnerId, at, say)
    full.ledger.accepted += payoutsIn(at)
    const filled = await start('accept', full)
    const made = await createBeneficiaries(filled.port, [account])
    filled.freeze()
    add(`rows ${at}`, full, { server: filled, partners: made, connections })
  }
  if (findPgbench() !== undefined) contestants.push(...(await peers(postgres, seconds)))
  return {
    contestants,
    spent,
    audit: async () => {
      const found = await Promise.all(homes.map(({ databaseUrl, ledger }) => auditBooks(databaseUrl, ledger)))
      return found.flat()
    },
    stop: async () => void (await Promise.all(servers.map((each) => each.stop()))),
  }
}

/** What PostgreSQL does here by itself: TPC-B on the hot row, and how many small commits one client gets through. */
async function peers(postgres: Postgres, seconds: number): Promise<readonly Contestant[]> {
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

/** Answers what is wrong with the books. */
export async function runGrowth(options: GrowthOptions): Promise<readonly string[]> {
  const { postgres, rounds, seconds, quick, say } = options
  const load = startLoad(privateKeyPem)
  const built = await build(options, load)
  const { samples } = await runRounds(built.contestants, { rounds, warmUps: quick ? 1 : 2 }, postgres, say)
  load.stop()
  const wrong = await built.audit()
  await built.stop()
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
      axes.map((axis) => [axis, steps[axis].map((at) => pointOf(at, nameOf(axis, at, steps), samples, built.spent))]),
    ) as unknown as Growth['axes'],
    ...(samples.has(tpcbPoint)
      ? { pgbench: { tpcb: rateOf(tpcbPoint, samples), oneRow: rateOf(fsyncPoint, samples) } }
      : {}),
    booksAreRight: wrong.length === 0,
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

function pointOf(at: number, name: string, samples: Samples, spent: Built['spent']): Point {
  const list = samples.get(name) ?? []
  const median = <T>(of: readonly T[], value: (each: T) => number | undefined) => {
    const known = of.map(value).filter((each) => each !== undefined)
    return known.length === 0 ? undefined : digits(spreadOf(known).median)
  }
  const mine = spent.get(name) ?? []
  return {
    at,
    rate: rateOf(name, samples),
    p50Ms: median(list, ({ p50Ms }) => p50Ms),
    p99Ms: median(list, ({ p99Ms }) => p99Ms),
    serviceCpuMs: median(list, ({ serverCpu, rate }) => serverCpu && (serverCpu / rate) * 1000),
    loadCpuMs: median(list, ({ loadCpu, rate }) => loadCpu && (loadCpu / rate) * 1000),
    postgresCpuMs: median(mine, ({ cpuMs }) => cpuMs),
    walBytes: median(mine, ({ walBytes }) => walBytes),
    commits: median(mine, ({ commits }) => commits),
  }
}
