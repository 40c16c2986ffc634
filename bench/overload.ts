/**
 * Overload: many times the connections that the service takes at once, each with the next request as soon as it has an
 * answer, and after a refusal again four times as soon as `Retry-After` asks. What is accepted must still be answered in
 * time, and once the load falls all must be as before.
 */
import type { Ledger, LoadedOptions } from './contestants.ts'
import type { LoadReport } from './load.ts'
import { type Spread, spreadOf } from './rounds.ts'

const crowd = 768

export type Overload = {
  readonly connections: number
  readonly normalRate: number
  readonly acceptedRate: number
  readonly refusedRate: number
  /** Of the accepted, against the p99 of the rounds before. */
  readonly p99Ratio: Spread
  /** Right after the crowd has gone, against before. */
  readonly recovered: Spread
}

export async function measureOverload(
  { server, load, partners, connections, seconds }: LoadedOptions,
  ledger: Ledger,
  { rate, rounds }: { readonly rate: number; readonly rounds: number },
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
  const spread = (value: (round: (typeof found)[number]) => number) => spreadOf(found.map(value))
  const overload = {
    connections: crowd,
    normalRate: spread(({ before }) => before.rate).median,
    acceptedRate: spread(({ crowded }) => crowded.rate).median,
    refusedRate: spread(({ crowded }) => crowded.refused / crowded.busySeconds).median,
    p99Ratio: spread(({ before, crowded }) => crowded.p99Ms / before.p99Ms),
    recovered: spread(({ before, after }) => after.rate / before.rate),
  }
  for (const [round, { before, crowded, after }] of found.entries())
    say(
      `overload, round ${round + 1} of ${rounds}: before ${Math.round(before.rate)} (p99 ${before.p99Ms.toFixed(0)} ms), ` +
        `${crowd} connections ${Math.round(crowded.rate)} (p99 ${crowded.p99Ms.toFixed(0)} ms), after ${Math.round(after.rate)}`,
    )
  return overload
}
