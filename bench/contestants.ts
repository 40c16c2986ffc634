/** Contestants that a load generator or pgbench drives. */
import type { Server } from './children.ts'
import { auditLedger, type RequestCounts } from './ledger-audit.ts'
import type { Load, LoadSpec } from './load.ts'
import { fillPgbench, type Postgres, runPgbench } from './postgres.ts'
import type { Contestant, Sample } from './rounds.ts'
import type { BenchPartner } from './sign.ts'

/** Totals of all contestants of one database. */
export type Tally = { accepted: number; unknown: number }
/** `leadSeconds` at the beginning are not counted: memory of a process that was frozen for a minute must be paged in. */
export type Turn = { readonly seconds: number; readonly leadSeconds: number }

/** TPC-B of pgbench. At scale 1 every transaction updates one row. */
export async function pgbenchContestant(postgres: Postgres, scale: number, turn: Turn): Promise<Contestant> {
  const name = `pgbench ${scale}`
  const url = await postgres.create(`pgbench_${scale}`, 'empty')
  await fillPgbench(url, scale)
  const sample = async () => {
    // pgbench takes whole seconds.
    if (turn.leadSeconds >= 1) await runPgbench(url, turn.leadSeconds)
    return { rate: await runPgbench(url, Math.ceil(turn.seconds)) }
  }
  return { name, sample, warms: false }
}

/** Returns just enough requests for a round at the last rate, because signing takes most of the bench's time. */
const countFor = (rate: number, { seconds, leadSeconds }: Turn) => Math.ceil(rate * (seconds + leadSeconds) * 1.3) + 200
const firstRate = 1500

export type LoadedOptions = Turn & {
  readonly name: string
  readonly kind: LoadSpec['kind']
  readonly server: Server
  readonly load: Load
  readonly partners: readonly BenchPartner[]
  readonly connections: number
  readonly audit?: (() => Promise<readonly string[]>) | undefined
  /** Counts what is accepted. */
  readonly tally?: Tally
}

let rounds = 0

/** Closed-loop connections against one server, which is frozen outside its samples. */
export function loadedContestant(options: LoadedOptions): Contestant {
  const { name, kind, server, load, partners, connections, tally, audit } = options
  let lastRate = firstRate
  const sample = async (): Promise<Sample> => {
    const { seconds, leadSeconds } = options
    const spec = { kind, connections, seconds, leadSeconds, count: countFor(lastRate, options), partners }
    await load.prepare({ ...spec, port: server.port, keyPrefix: `${name}-${rounds++}` })
    server.thaw()
    const before = await server.usage()
    const started = performance.now()
    const report = await load.go()
    const wallSeconds = (performance.now() - started) / 1000
    const after = await server.usage()
    server.freeze()
    // If the requests ran out before the counted time, the next sample signs as many as were answered.
    lastRate = Math.max(report.rate, report.accepted / wallSeconds)
    if (tally) tally.accepted += report.accepted
    if (tally) tally.unknown += report.unknown
    const serverCpu = (after.cpuSeconds - before.cpuSeconds) / wallSeconds
    const { rate, p50Ms, p99Ms, cpuShare } = report
    return { rate, p50Ms, p99Ms, loadCpu: cpuShare, serverCpu, rssBytes: after.rssBytes }
  }
  return { name, sample, audit }
}

export const auditOf = (databaseUrl: string, counted: RequestCounts) => () => auditLedger(databaseUrl, counted)
