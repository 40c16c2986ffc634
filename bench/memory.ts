/** Memory of the process over many payouts: a leak is a slope, a cache is a step. */
import type { LoadedOptions, Tally } from './contestants.ts'
import { spreadOf } from './rounds.ts'

const chunkMax = 10_000
/** Enough points for five fifths. */
const chunksMin = 20
const mebibyte = 2 ** 20
/** The growth from the second fifth to the last one that delayed garbage collection may cause. */
const growthMax = 1.15

export type Memory = { readonly payouts: number; readonly early: number; readonly late: number; readonly flat: boolean }

export async function measureMemory(
  { server, load, partners, connections }: LoadedOptions,
  tally: Tally,
  payouts: number,
  say: (line: string) => void,
): Promise<Memory> {
  const chunk = Math.min(chunkMax, Math.ceil(payouts / chunksMin))
  const megabytes: number[] = []
  let accepted = 0
  server.thaw()
  while (accepted < payouts) {
    const count = Math.min(chunk, payouts - accepted)
    const shape = { kind: 'payout', cyclic: false, naming: false, references: [] } as const
    const keyPrefix = `memory-${accepted}`
    await load.prepare({ ...shape, count, connections, seconds: 600, partners, port: server.port, keyPrefix })
    const report = await load.go()
    if (report.problem !== undefined) throw new Error(`memory: ${report.problem}`)
    tally.accepted += report.accepted
    accepted += report.accepted
    megabytes.push((await server.usage()).rssBytes / mebibyte)
    if (megabytes.length % 10 === 0) say(`memory: ${accepted} payouts, ${Math.round(megabytes.at(-1) ?? 0)} MiB`)
  }
  server.freeze()
  const fifth = (number: number) => {
    const size = Math.ceil(megabytes.length / 5)
    return spreadOf(megabytes.slice((number - 1) * size, number * size)).median
  }
  const early = fifth(2)
  const late = spreadOf(megabytes.slice(-Math.ceil(megabytes.length / 5))).median
  return { payouts: accepted, early, late, flat: late <= early * growthMax }
}
