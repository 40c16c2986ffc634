/**
 * Overload: many times the connections that the service serves concurrently. Each sends its next request after an answer,
 * and repeats a refused request after a quarter of `Retry-After`. Accepted requests must still be answered in time, and
 * the rate must recover when the load falls.
 */
import type { LoadReport } from './load.ts'
import { format, limitsOf, spread, verdictOf } from './report.ts'
import { spreadOf } from './rounds.ts'
import type { Service } from './stage.ts'

const overloadConnections = 768
const answered = { floor: 3, aim: 3, most: true }
const recovering = { floor: 0.9, aim: 1 }

/** Returns two lines of the table. */
export async function measureOverload(
  { server, load, partners, connections, tally }: Service,
  { rate, rounds, seconds }: Readonly<Record<'rate' | 'rounds' | 'seconds', number>>,
  say: (line: string) => void,
): Promise<readonly (readonly string[])[]> {
  let phases = 0
  const run = async (many: number): Promise<LoadReport> => {
    const count = Math.ceil(rate * seconds * 1.5) + many
    const spec = { kind: 'payout', insist: true, count, connections: many, seconds, partners } as const
    await load.prepare({ ...spec, port: server.port, keyPrefix: `overload-${phases++}` })
    const report = await load.go()
    tally.accepted += report.accepted
    tally.unknown += report.unknown
    return report
  }
  server.thaw()
  const found: Readonly<Record<'before' | 'overloaded' | 'after', LoadReport>>[] = []
  for (let round = 0; round < rounds; round += 1) {
    const before = await run(connections)
    const overloaded = await run(overloadConnections)
    const after = await run(connections)
    found.push({ before, overloaded, after })
    const shown = ({ rate: each, p99Ms }: LoadReport) => `${Math.round(each)} a second (p99 ${p99Ms.toFixed(0)} ms)`
    say(
      `overload, round ${round + 1} of ${rounds}: before ${shown(before)}, then ${shown(overloaded)}, after ${shown(after)}`,
    )
  }
  server.freeze()
  const over = (value: (round: (typeof found)[number]) => number) => spreadOf(found.map(value))
  const refused = over(({ overloaded }) => overloaded.refused / overloaded.busySeconds)
  const late = over(({ before, overloaded }) => overloaded.p99Ms / before.p99Ms)
  const recovered = over(({ before, after }) => after.rate / before.rate)
  const normal = spread(over(({ before }) => before.rate))
  return [
    [
      `accepted p99 at ${overloadConnections} connections (${format(refused.median)} refused /s) / normal`,
      spread(over(({ overloaded }) => overloaded.rate)),
      normal,
      spread(late),
      ...limitsOf(answered),
      verdictOf(late, answered),
    ],
    [
      'rate right after the overload / before',
      spread(over(({ after }) => after.rate)),
      normal,
      spread(recovered),
      ...limitsOf(recovering),
      verdictOf(recovered, recovering),
    ],
  ]
}
