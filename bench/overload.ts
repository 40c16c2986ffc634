/**
 * Overload: many times the connections that the service serves concurrently. Each sends its next request after an answer,
 * and repeats a refused request after a quarter of `Retry-After`. Accepted requests must still be answered in time, and
 * the rate must recover when the load falls.
 */
import type { LoadedOptions, Tally } from './contestants.ts'
import type { LoadReport } from './load.ts'
import { type Spread, spreadOf } from './rounds.ts'

const overloadConnections = 768

export type Overload = {
  readonly connections: number
  readonly normalRate: number
  readonly acceptedRate: number
  readonly refusedRate: number
  /** The p99 of accepted requests against the p99 before. */
  readonly p99Ratio: Spread
  /** The rate right after the overload against the rate before. */
  readonly recovered: Spread
}

export async function measureOverload(
  { server, load, partners, connections, seconds }: LoadedOptions,
  tally: Tally,
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
    tally.accepted += report.accepted
    tally.unknown += report.unknown
    return report
  }
  server.thaw()
  const found: { before: LoadReport; overloaded: LoadReport; after: LoadReport }[] = []
  for (let round = 0; round < rounds; round += 1)
    found.push({
      before: await run(connections),
      overloaded: await run(overloadConnections),
      after: await run(connections),
    })
  server.freeze()
  const spread = (value: (round: (typeof found)[number]) => number) => spreadOf(found.map(value))
  const overload = {
    connections: overloadConnections,
    normalRate: spread(({ before }) => before.rate).median,
    acceptedRate: spread(({ overloaded }) => overloaded.rate).median,
    refusedRate: spread(({ overloaded }) => overloaded.refused / overloaded.busySeconds).median,
    p99Ratio: spread(({ before, overloaded }) => overloaded.p99Ms / before.p99Ms),
    recovered: spread(({ before, after }) => after.rate / before.rate),
  }
  for (const [round, { before, overloaded, after }] of found.entries())
    say(
      `overload, round ${round + 1} of ${rounds}: before ${Math.round(before.rate)} (p99 ${before.p99Ms.toFixed(0)} ms), ` +
        `${overloadConnections} connections ${Math.round(overloaded.rate)} (p99 ${overloaded.p99Ms.toFixed(0)} ms), after ${Math.round(after.rate)}`,
    )
  return overload
}
