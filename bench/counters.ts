/** The cost of a payout to PostgreSQL, from its counters before and after a sample. */
import { serverCpuSeconds } from './cpu.ts'
import { withClient } from './postgres.ts'

type Read = {
  readonly walBytes: number
  /** Writing transactions: each commits once and flushes the WAL at most once. */
  readonly commits: number
  /** Undefined if the bench did not start the server, or not on Linux. */
  readonly cpuSeconds: number | undefined
}
export type Counters = Read & { readonly payouts: number }
export type Cost = {
  readonly walBytes: number
  readonly commits: number
  readonly cpuMs: number | undefined
}

/** Functions with current values. The views `pg_stat_...` lag behind, because backends report to them later. */
const statement = `
  select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
    pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits`

export async function countersOf(databaseUrl: string, serverPid: number | undefined): Promise<Read> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<Omit<Read, 'cpuSeconds'>>(statement)
    const [row] = rows
    if (!row) throw new Error('PostgreSQL has no counters')
    return { ...row, cpuSeconds: serverPid === undefined ? undefined : serverCpuSeconds(serverPid) }
  })
}

export function costPerPayout(before: Counters, after: Counters): Cost {
  const payouts = after.payouts - before.payouts
  const each = (value: (counters: Counters) => number) => (value(after) - value(before)) / payouts
  const cpuKnown = before.cpuSeconds !== undefined && after.cpuSeconds !== undefined
  return {
    walBytes: each(({ walBytes }) => walBytes),
    commits: each(({ commits }) => commits),
    cpuMs: cpuKnown ? each(({ cpuSeconds = 0 }) => cpuSeconds) * 1000 : undefined,
  }
}
