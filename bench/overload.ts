/**
 * Overload: many times the connections that the service takes at once, each with the next request as soon as it has an
 * answer, and after a refusal again four times as soon as `Retry-After` asks. What is accepted must still be answered in
 * time, and once the load falls all must be as before.
 */
import type { Ledger, LoadedOptions } from './contestants.ts'
import type { LoadReport } from './load.ts'
import { spreadOf } from './rounds.ts'

const crowd = 768
const rounds = 3

export type Overload = {
  readonly connections: number
  readonly normalRate: number
  readonly acceptedRate: number
  readonly refusedRate: number
  /** Of the accepted, against the p99 of the rounds before. */
  readonly p99Ratio: number
  /** Right after the crowd has gone, against before. */
  readonly recovered: number
}

export async function measureOverload(
  { server, load, partners, connections, seconds }: LoadedOptions,
  ledger: Ledger,
  rate: number,
  say: (line: string) => void,
): Promise<Overload> {
  let phases = 0
  const run = async (many: number): Promise<LoadReport> => {
    const count = Math.ceil(rate * seconds * 1.5) + many
    const shape = { kind: 'payout', cyclic: false, naming: false, references: [], insist: true } as const
    const keyPrefix = `overload-${phases++}`
    await load.prepare({ ...shape, count, connections: many, seconds, partners, port: server.port, keyPrefix })
    const report = await load.go()
    if (report.problem !== undefined) throw new Error(`overload: ${report.problem}`)
    ledger.accepted += report.accepted
    ledger.unknown += report.unknown
    return report
  }
  server.thaw()
  const found: { before: LoadReport; crowded: LoadReport; after: LoadReport }[] = []
  for (let round = 0; round < rounds; round += 1)
    found.push({ before: await run(connections), crowded: await run(crowd), after: await run(connections) })
  server.freeze()
  const median = (value: (round: (typeof found)[number]) => number) => spreadOf(found.map(value)).median
  const overload = {
    connections: crowd,
    normalRate: median(({ before }) => before.rate),
    acceptedRate: median(({ crowded }) => crowded.rate),
    refusedRate: median(({ crowded }) => crowded.refused / crowded.busySeconds),
    p99Ratio: median(({ before, crowded }) => crowded.p99Ms / before.p99Ms),
    recovered: median(({ before, after }) => after.rate / before.rate),
  }
  say(
    `overload: ${Object.entries(overload)
      .map(([name, value]) => `${name} ${value.toFixed(2)}`)
      .join(', ')}`,
  )
  return overload
}
