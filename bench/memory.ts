/** Memory of the process over many payouts: a leak shows as a slope, a cache as a step. */
import type { Ledger, LoadedOptions } from './contestants.ts'
import { spreadOf } from './rounds.ts'

const chunkMax = 10_000
/** Enough points for a first, a middle and a last fifth. */
const chunksMin = 20
const mebibyte = 2 ** 20
/** What a collector that is in no hurry may add between the second fifth and the last. */
const growthMax = 1.15

export type Memory = { readonly payouts: number; readonly early: number; readonly late: number; readonly flat: boolean }

export async function measureMemory(
  { server, load, partners, connections }: LoadedOptions,
  ledger: Ledger,
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
    ledger.accepted += report.accepted
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
