/** Interleaved rounds (A B C, B C A, ...), so that other load on the machine affects all contestants alike. */
import type { Postgres } from './postgres.ts'

/** Each writing transaction (`commits`) flushes the log at most once. The processor time is unknown if the bench did not start the server. */
export type Cost = { readonly walBytes: number; readonly commits: number; readonly cpuMs: number | undefined }
export type Sample = {
  readonly rate: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Share of one core while the load ran. */
  readonly loadCpu?: number
  readonly serverCpu?: number
  readonly rssBytes?: number
  /** The cost of a payout to PostgreSQL, which `--growth` reads. */
  readonly cost?: Cost
  /** Deliveries a second during the payouts, and their share of all deliveries of these payouts. */
  readonly during?: { readonly rate: number; readonly share: number }
}
/** Gives one sample per round and is audited after it. */
export type Contestant = {
  readonly name: string
  readonly sample: () => Promise<Sample>
  /** False if there is no code to warm up. */
  readonly warms?: boolean
  /** Returns what is wrong in the stored data. */
  readonly audit?: (() => Promise<readonly string[]>) | undefined
}

export type Samples = ReadonlyMap<string, readonly Sample[]>
type RoundsResult = { readonly samples: Samples; readonly wrong: readonly string[] }

export async function runRounds(
  contestants: readonly Contestant[],
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
  postgres: Postgres,
  say: (line: string) => void,
): Promise<RoundsResult> {
  const samples = new Map<string, Sample[]>(contestants.map(({ name }) => [name, []]))
  const wrong: string[] = []
  // Node compiles hot code only after tens of thousands of requests. A warm-up also finds how many requests to sign.
  for (let warmUp = 0; warmUp < warmUps; warmUp += 1)
    for (const { warms = true, sample } of contestants) if (warms) await sample()
  for (let round = 0; round < rounds; round += 1) {
    // The measured processes have no workers that would analyse growing tables.
    await postgres.analyse()
    const order = contestants.map((_, at) => contestants[(at + round) % contestants.length] as Contestant)
    const rates: string[] = []
    for (const contestant of order) {
      await postgres.checkpoint()
      const sample = await contestant.sample()
      samples.get(contestant.name)?.push(sample)
      rates.push(`${contestant.name} ${Math.round(sample.rate)}`)
      wrong.push(
        ...((await contestant.audit?.()) ?? []).map((what) => `round ${round + 1}, ${contestant.name}: ${what}`),
      )
    }
    say(`round ${round + 1} of ${rounds}: ${rates.join(', ')}`)
  }
  return { samples, wrong }
}

export type Spread = { readonly median: number; readonly min: number; readonly max: number }

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const middle = (sorted.length - 1) / 2
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1) }
}
