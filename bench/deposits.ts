/**
 * Deposits credited a second: as many as a round needs are opened and paid at the sandbox bank, and followed up to
 * Accepted, not counted; then the bank's statement says that all are settled, and the time in which they are credited is
 * measured. By a process that does nothing but settlement, as the payouts are accepted by one that does nothing else.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from './children.ts'
import { type Contestant, loadedContestant, type LoadedOptions } from './contestants.ts'
import { withClient } from './postgres.ts'

const waitMsMax = 120_000

export function depositsContestant(
  options: Omit<LoadedOptions, 'name' | 'kind'> & { readonly databaseUrl: string; readonly dataDir: string },
): Contestant {
  const { databaseUrl, dataDir } = options
  const opening = loadedContestant({ ...options, name: 'deposits', kind: 'deposit' })
  return {
    name: 'deposits',
    sample: async () => {
      const before = await stateOf(databaseUrl)
      await opening.sample()
      await withClient(databaseUrl, (client) => client.query(`${later} where ${statement}`))
      const worker = await startServer('settle', { databaseUrl, dataDir })
      try {
        await waitFor(databaseUrl, ({ open, accepted }) => open === accepted)
        await withClient(databaseUrl, (client) => client.query(`${now} where ${statement}`))
        return { rate: await creditRate(databaseUrl, before.credited) }
      } finally {
        await worker.kill()
      }
    },
    warmUp: opening.warmUp,
    audit: options.audit ?? (() => Promise.resolve([])),
  }
}

const statement = `kind = 'deposit.settled' and acknowledged_at is null`
const later = `update rails.sandbox_notices set due_at = now() + interval '1 day'`
const now = `update rails.sandbox_notices set due_at = now() - interval '1 second'`

type State = { readonly open: number; readonly accepted: number; readonly credited: number }

function stateOf(databaseUrl: string): Promise<State> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<State>(`
      select count(*) filter (where status <> 'Completed')::integer as open,
        count(*) filter (where status = 'Accepted')::integer as accepted,
        count(*) filter (where status = 'Completed')::integer as credited from deposits.deposits`)
    return rows[0] ?? { open: 0, accepted: 0, credited: 0 }
  })
}

async function waitFor(databaseUrl: string, isThere: (state: State) => boolean): Promise<State> {
  const begun = performance.now()
  while (performance.now() - begun < waitMsMax) {
    const state = await stateOf(databaseUrl)
    if (isThere(state)) return state
    await sleep(20)
  }
  throw new Error(`deposits were not all moved on in ${waitMsMax / 1000} s`)
}

async function creditRate(databaseUrl: string, creditedBefore: number): Promise<number> {
  const first = await waitFor(databaseUrl, ({ credited }) => credited > creditedBefore)
  const begun = performance.now()
  const last = await waitFor(databaseUrl, ({ open }) => open === 0)
  return (last.credited - first.credited) / ((performance.now() - begun) / 1000)
}
