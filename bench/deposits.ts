/**
 * Deposits credited per second. Opening the deposits and bringing them to Accepted is not counted. Then the sandbox bank
 * reports all of them as settled, and the sample measures the time to credit them. The process only runs settlement, as
 * the process of the payout rows only accepts payouts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './children.ts'
import { loadedContestant, type LoadedOptions } from './contestants.ts'
import { withClient } from './postgres.ts'
import type { Contestant } from './rounds.ts'

const waitMsMax = 120_000
/** A sample credits the deposits of several openings: crediting one opening takes half a second, too short to measure. */
const openingsPerSample = 3

/** `worker` is the settlement process, frozen between samples. */
export function depositsContestant(
  options: Omit<LoadedOptions, 'name' | 'kind'> & { readonly databaseUrl: string; readonly worker: Server },
): Contestant {
  const { databaseUrl, worker } = options
  const opening = loadedContestant({ ...options, name: 'deposits', kind: 'deposit' })
  const sample = async () => {
    for (let count = 0; count < openingsPerSample; count += 1) await opening.sample()
    await withClient(databaseUrl, (client) => client.query(postponeSettlement))
    worker.thaw()
    try {
      await waitFor(databaseUrl, ({ open, accepted }) => open === accepted)
      const { at } = await stateOf(databaseUrl)
      await withClient(databaseUrl, (client) => client.query(releaseSettlement))
      await waitFor(databaseUrl, ({ open }) => open === 0)
      return { rate: await creditRate(databaseUrl, at) }
    } finally {
      worker.freeze()
    }
  }
  return { name: 'deposits', sample, audit: options.audit }
}

const postponeSettlement = `update rails.sandbox_notifications set due_at = now() + interval '1 day'
  where kind = 'deposit.settled'`
const releaseSettlement = `update rails.sandbox_notifications set due_at = now() - interval '1 second'
  where kind = 'deposit.settled'`

type State = { readonly open: number; readonly accepted: number; readonly at: string }

function stateOf(databaseUrl: string): Promise<State> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<State>(`
      select count(*) filter (where status <> 'Completed')::integer as open,
        count(*) filter (where status = 'Accepted')::integer as accepted, now()::text as at from deposits.deposits`)
    if (rows[0] === undefined) throw new Error('an aggregate returns one row')
    return rows[0]
  })
}

/** Long, because polling uses CPU of the measured machine. */
const pollMs = 200

async function waitFor(databaseUrl: string, isReached: (state: State) => boolean): Promise<void> {
  const begun = performance.now()
  while (performance.now() - begun < waitMsMax) {
    if (isReached(await stateOf(databaseUrl))) return
    await sleep(pollMs)
  }
  throw new Error(`not all deposits advanced within ${waitMsMax / 1000} s`)
}

/**
 * The rate from the first batch to the last one. `updated_at` is the time at which a batch begins to write. Two batches
 * run concurrently, so deposits with the last two times are not counted.
 */
function creditRate(databaseUrl: string, since: string): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ readonly rate: number }>(
      `with credited as (select updated_at from deposits.deposits where status = 'Completed' and updated_at > $1),
        times as (select distinct updated_at from credited order by updated_at desc limit 2),
        ends as (select (select min(updated_at) from credited) as first, max(updated_at) as last, min(updated_at) as before
          from times)
      select (count(*) filter (where updated_at < before) / extract(epoch from last - first))::float8 as rate
      from credited, ends group by first, last`,
      [since],
    )
    return rows[0]?.rate ?? Number.NaN
  })
}
