/**
 * Payouts ended per second: accepted, instructed, acknowledged, settled, and their events written. A sample accepts payouts
 * with the workers in the same process, then waits until the last one has ended. It counts from the first acceptance to the
 * last end, so that a backlog does not improve the rate.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadedContestant, type LoadedOptions } from './contestants.ts'
import { withClient } from './postgres.ts'
import type { Contestant } from './rounds.ts'

const waitMsMax = 300_000
/** Long, because polling uses CPU of the measured machine. */
const pollMs = 200

export function endedContestant(options: Omit<LoadedOptions, 'kind'> & { readonly databaseUrl: string }): Contestant {
  const { databaseUrl, server } = options
  const accepting = loadedContestant({ ...options, kind: 'payout' })
  const sample = async () => {
    const since = await read<{ readonly now: string }>(databaseUrl, 'select now()::text as now')
    const { serverCpu = Number.NaN, loadCpu = Number.NaN } = await accepting.sample()
    server.thaw()
    try {
      await waitForEnds(databaseUrl)
    } finally {
      server.freeze()
    }
    const ended = await read<{ readonly rate: number }>(databaseUrl, endedRate, [since.now])
    return { rate: ended.rate, serverCpu, loadCpu }
  }
  return { ...accepting, sample }
}

const endedRate = `select (count(*) / extract(epoch from max(updated_at) - min(created_at)))::float8 as rate
  from payouts.payouts where created_at > $1 and status = 'Completed'`

async function waitForEnds(databaseUrl: string): Promise<void> {
  const begun = performance.now()
  const open = `select count(*)::integer as count from payouts.payouts where status in ('Pending', 'Processing', 'Sent')`
  while (performance.now() - begun < waitMsMax) {
    if ((await read<{ readonly count: number }>(databaseUrl, open)).count === 0) return
    await sleep(pollMs)
  }
  throw new Error(`not all payouts ended within ${waitMsMax / 1000} s`)
}

const read = <T extends object>(databaseUrl: string, text: string, values: readonly unknown[] = []): Promise<T> =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<T>(text, [...values])
    if (rows[0] === undefined) throw new Error('the statement returns one row')
    return rows[0]
  })
