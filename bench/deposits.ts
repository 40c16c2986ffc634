/**
 * Deposits credited a second: as many as a round needs are opened and paid at the sandbox bank, and followed up to
 * Accepted, not counted; then the bank's statement says that all are settled, and the time in which they are credited is
 * measured. By a process that does nothing but settlement, as the payouts are accepted by one that does nothing else.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './children.ts'
import { type Contestant, loadedContestant, type LoadedOptions } from './contestants.ts'
import { withClient } from './postgres.ts'

const waitMsMax = 120_000
/** As many turns of opening are credited in one: what one opens is credited in half a second, too short to be measured. */
const openingsPerSample = 3

/** `worker`: what settles, frozen. */
export function depositsContestant(
  options: Omit<LoadedOptions, 'name' | 'kind'> & { readonly databaseUrl: string; readonly worker: Server },
): Contestant {
  const { databaseUrl, worker } = options
  const opening = loadedContestant({ ...options, name: 'deposits', kind: 'deposit' })
  const sample = async () => {
    for (let count = 0; count < openingsPerSample; count += 1) await opening.sample()
    await withClient(databaseUrl, (client) => client.query(`${later} where ${statement}`))
    worker.thaw()
    try {
      await waitFor(databaseUrl, ({ open, accepted }) => open === accepted)
      const { at } = await stateOf(databaseUrl)
      await withClient(databaseUrl, (client) => client.query(`${now} where ${statement}`))
      await waitFor(databaseUrl, ({ open }) => open === 0)
      return { rate: await creditRate(databaseUrl, at) }
    } finally {
      worker.freeze()
    }
  }
  const { audit = () => Promise.resolve([]) } = options
  return { name: 'deposits', sample, warmUp: async () => void (await sample()), audit }
}

const statement = `kind = 'deposit.settled'`
const later = `update rails.sandbox_notifications set due_at = now() + interval '1 day'`
const now = `update rails.sandbox_notifications set due_at = now() - interval '1 second'`

type State = { readonly open: number; readonly accepted: number; readonly at: string }

function stateOf(databaseUrl: string): Promise<State> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<State>(`
      select count(*) filter (where status <> 'Completed')::integer as open,
        count(*) filter (where status = 'Accepted')::integer as accepted, now()::text as at from deposits.deposits`)
    if (rows[0] === undefined) throw new Error('an aggregate answers one row')
    return rows[0]
  })
}

/** Seldom, because to look takes from what is measured. */
const lookMs = 200

async function waitFor(databaseUrl: string, isThere: (state: State) => boolean): Promise<void> {
  const begun = performance.now()
  while (performance.now() - begun < waitMsMax) {
    if (isThere(await stateOf(databaseUrl))) return
    await sleep(lookMs)
  }
  throw new Error(`deposits were not all moved on in ${waitMsMax / 1000} s`)
}

/**
 * From the first batch to the last one, by the times that the deposits bear, which are those at which a batch began to
 * write: two are under way at once, so that what bears the last two times is not yet in.
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
