/**
 * What a list of politically exposed persons costs: `node bench/screening-peps.ts [names] [seed]`, by default 200,000, the most that a file may
 * have, and seed 1. The names are invented of common words, so that many recur. It measures the index alone, on one core.
 */
import { createNameIndex } from '../service/src/screening/names/index-of-names.ts'
import { scoreMin } from '../service/src/screening/rules.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { commonNames, countriesWithNames } from '../service/src/screening/corpus/common-names.ts'
import { inventedList } from '../test/support/screening/corpus.ts'

const { count, seed } = numbersGiven({ count: 200_000, seed: 1 })
const searchesOfCountry = 100
const megabyte = 1024 * 1024

const heap = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / megabyte
}
const listed = inventedList(seed, count).flatMap(({ names }) => names.map(({ text }) => text))
const before = heap()
const begun = performance.now()
const index = await createNameIndex(
  listed.map((text, entry) => ({ entry, text })),
  () => Promise.resolve(),
)
const indexMs = performance.now() - begun
console.log(`${index.size} names: index made in ${indexMs.toFixed(0)} ms, ${(heap() - before).toFixed(0)} MiB of heap`)
const searched = countriesWithNames.flatMap((country) => commonNames(country, seed + 1, searchesOfCountry))
const searchBegun = performance.now()
const hits = searched.filter((name) => index.search(name, scoreMin).length > 0)
const eachMs = (performance.now() - searchBegun) / searched.length
console.log(`${searched.length} searches: ${eachMs.toFixed(2)} ms each, ${hits.length} hits`)
