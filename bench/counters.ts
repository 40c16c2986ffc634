/** What a payout costs PostgreSQL, from its own counters before and after a sample. */
import { serverCpuSeconds } from './cpu.ts'
import { withClient } from './postgres.ts'

type Read = {
  readonly walBytes: number
  /** Transactions that wrote something: as many commits, and at most as many flushes of the log. */
  readonly commits: number
  /** Undefined where the server is not ours, or not on Linux. */
  readonly cpuSeconds: number | undefined
}
export type Counters = Read & { readonly payouts: number }
export type Spent = {
  readonly walBytes: number
  readonly commits: number
  readonly cpuMs: number | undefined
}

/** Numbers that are true at once, other than those of `pg_stat_...`, which backends report when they find the time. */
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

export function spentPerPayout(before: Counters, after: Counters): Spent {
  const payouts = after.payouts - before.payouts
  const each = (value: (counters: Counters) => number) => (value(after) - value(before)) / payouts
  const cpuKnown = before.cpuSeconds !== undefined && after.cpuSeconds !== undefined
  return {
    walBytes: each(({ walBytes }) => walBytes),
    commits: each(({ commits }) => commits),
    cpuMs: cpuKnown ? each(({ cpuSeconds = 0 }) => cpuSeconds) * 1000 : undefined,
  }
}
