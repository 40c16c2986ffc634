/** Memory of the process over many payouts: a leak is a slope, a cache is a step. */
import { format, limitsOf, verdictOf } from './report.ts'
import { spreadOf } from './rounds.ts'
import type { Service } from './stage.ts'

const chunkMax = 10_000
/** Enough points for five fifths. */
const chunksMin = 20
const mebibyte = 2 ** 20
/** The growth from the second fifth to the last one that delayed garbage collection may cause. */
const flat = { floor: 1.15, aim: 1.15, most: true }

/** Returns a line of the table. */
export async function measureMemory(
  { server, load, partners, connections, tally }: Service,
  payouts: number,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const chunk = Math.min(chunkMax, Math.ceil(payouts / chunksMin))
  const megabytes: number[] = []
  let accepted = 0
  server.thaw()
  while (accepted < payouts) {
    const spec = { kind: 'payout', count: Math.min(chunk, payouts - accepted), connections, seconds: 600 } as const
    await load.prepare({ ...spec, partners, port: server.port, keyPrefix: `memory-${accepted}` })
    const report = await load.go()
    tally.accepted += report.accepted
    accepted += report.accepted
    megabytes.push((await server.usage()).rssBytes / mebibyte)
    if (megabytes.length % 10 === 0) say(`memory: ${accepted} payouts, ${Math.round(megabytes.at(-1) ?? 0)} MiB`)
  }
  server.freeze()
  const size = Math.ceil(megabytes.length / 5)
  const [early, late] = [spreadOf(megabytes.slice(size, 2 * size)), spreadOf(megabytes.slice(-size))]
  const growth = spreadOf([late.median / early.median])
  const title = `MiB after ${accepted.toLocaleString('en')} payouts / after a third`
  return [
    title,
    format(late.median),
    format(early.median),
    format(growth.median),
    ...limitsOf(flat),
    verdictOf(growth, flat),
  ]
}
