/** The contestants of a round. Each gives one sample per round and is audited after it. */
import { auditLedger, type Counted } from './ledger-audit.ts'
import type { Server } from './children.ts'
import type { Load, LoadSpec } from './load.ts'
import { runPgbench, withClient } from './postgres.ts'
import type { BenchPartner } from './sign.ts'

export type Sample = {
  readonly rate: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Share of one core while the load ran. */
  readonly loadCpu?: number
  readonly serverCpu?: number
  readonly rssBytes?: number
}
export type Contestant = {
  readonly name: string
  readonly sample: () => Promise<Sample>
  /** Takes one sample that is not counted. Does nothing if there is no code to warm up. */
  readonly warmUp: () => Promise<void>
  /** Returns what is wrong in the stored data. */
  readonly audit: () => Promise<readonly string[]>
}

/** Everything that all contestants of one database sent to it. */
export type Tally = { accepted: number; unknown: number }
const nothingWrong = () => Promise.resolve([])

export function pgbenchContestant(name: string, url: string, { seconds, leadSeconds }: Turn): Contestant {
  const sample = async () => {
    // pgbench takes whole seconds.
    if (leadSeconds >= 1) await runPgbench(url, leadSeconds)
    return { rate: await runPgbench(url, Math.ceil(seconds)) }
  }
  return { name, sample, warmUp: () => Promise.resolve(), audit: nothingWrong }
}

/** `leadSeconds` at the beginning are not counted: memory of a process that was frozen for a minute must be paged in. */
export type Turn = { readonly seconds: number; readonly leadSeconds: number }

/** Enough requests for a round at the last rate, and no more, because signing takes most of the bench's time. */
const countFor = (rate: number, { seconds, leadSeconds }: Turn) => Math.ceil(rate * (seconds + leadSeconds) * 1.3) + 200
const cyclicCount = 3000
const firstRate = 1500
/** Cyclic requests are signed again before the service's timestamp window of 300 s ends. */
const freshMs = 200_000

export type LoadedOptions = Turn & {
  readonly name: string
  readonly kind: LoadSpec['kind']
  readonly server: Server
  readonly load: Load
  readonly partners: readonly BenchPartner[]
  readonly references?: readonly string[]
  readonly connections: number
  /** Repeats the same signed requests. Needs a load generator of its own, which keeps them. */
  readonly cyclic?: boolean
  readonly audit?: () => Promise<readonly string[]>
  /** Counts what is accepted. */
  readonly tally?: Tally
}

let rounds = 0

/** Closed-loop connections against one server, which is frozen outside its samples. */
export function loadedContestant(options: LoadedOptions): Contestant {
  const { name, kind, server, load, partners, references = [], connections, tally } = options
  const { seconds, leadSeconds, cyclic = false } = options
  let lastRate = firstRate
  let signedAtMs = -Infinity
  const sample = async (): Promise<Sample> => {
    const count = cyclic ? cyclicCount : countFor(lastRate, options)
    const spec = { kind, connections, seconds, leadSeconds, count, cyclic, naming: false, partners, references }
    if (!cyclic || performance.now() - signedAtMs > freshMs) {
      await load.prepare({ ...spec, port: server.port, keyPrefix: `${name}-${rounds++}` })
      signedAtMs = performance.now()
    }
    server.thaw()
    const before = await server.usage()
    const started = performance.now()
    const report = await load.go()
    const wallSeconds = (performance.now() - started) / 1000
    const after = await server.usage()
    server.freeze()
    if (report.problem !== undefined) throw new Error(`${name} refused a request of the bench: ${report.problem}`)
    // If the requests ran out before the counted time, the next sample signs as many as were answered.
    lastRate = Math.max(report.rate, report.accepted / wallSeconds)
    if (tally) tally.accepted += report.accepted
    if (tally) tally.unknown += report.unknown
    const serverCpu = (after.cpuSeconds - before.cpuSeconds) / wallSeconds
    const { rate, p50Ms, p99Ms, cpuShare } = report
    return { rate, p50Ms, p99Ms, loadCpu: cpuShare, serverCpu, rssBytes: after.rssBytes }
  }
  return { name, sample, warmUp: async () => void (await sample()), audit: options.audit ?? nothingWrong }
}

export const auditOf = (databaseUrl: string, counted: Counted) => () => auditLedger(databaseUrl, counted)

/** Audits the tables of the baseline for the same guarantees. */
export const baselineAudit = (databaseUrl: string, counted: Counted) => () =>
  withClient(databaseUrl, async (client) => {
    const statement = `select (select count(*) from payouts)::integer as payouts,
      (select count(*) from events)::integer as events, (select sum(posted) from accounts)::text as posted,
      (select reserved from accounts where name = 'balance') = (select coalesce(sum(amount), 0) from transfers) as folded`
    const { rows } = await client.query<Record<string, unknown>>(statement)
    const { payouts, events, posted, folded } = rows[0] ?? {}
    const good = payouts === counted.accepted && events === payouts && posted === '0' && folded === true
    return good ? [] : [`baseline: accepted ${counted.accepted}, ${JSON.stringify(rows[0])}`]
  })
