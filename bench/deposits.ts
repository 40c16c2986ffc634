/**
 * Deposits credited a second: as many as a round needs are opened and paid at the sandbox bank first, not counted; then a
 * `worker` of the service takes what the bank tells, and the time from its first credit to its last is measured.
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
      const worker = await startServer('worker', { databaseUrl, dataDir, env: { SANDBOX_BANK_DELAY_MS: '0' } })
      try {
        return { rate: await creditRate(databaseUrl, before.credited) }
      } finally {
        await worker.stop()
      }
    },
    warmUp: opening.warmUp,
    audit: options.audit ?? (() => Promise.resolve([])),
  }
}

type State = { readonly open: number; readonly credited: number }

function stateOf(databaseUrl: string): Promise<State> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<State>(`
      select count(*) filter (where status <> 'Completed')::integer as open,
        count(*) filter (where status = 'Completed')::integer as credited from deposits.deposits`)
    return rows[0] ?? { open: 0, credited: 0 }
  })
}

async function creditRate(databaseUrl: string, creditedBefore: number): Promise<number> {
  const begun = performance.now()
  let first: { readonly atMs: number; readonly credited: number } | undefined
  while (performance.now() - begun < waitMsMax) {
    const { open, credited } = await stateOf(databaseUrl)
    const atMs = performance.now()
    if (first === undefined && credited > creditedBefore) first = { atMs, credited }
    if (first && open === 0) return (credited - first.credited) / ((atMs - first.atMs) / 1000)
    await sleep(50)
  }
  throw new Error(`deposits were not all credited in ${waitMsMax / 1000} s`)
}
