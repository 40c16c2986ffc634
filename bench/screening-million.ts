/**
 * What it costs to compare all names with a new list: `node bench/screening-million.ts [names] [seed]`, by default 20,000 names and
 * seed 1, with SAMPLES_DIR. It measures the index alone, on one core: the reads and writes of the worker are not in it. Each name
 * comes twice. It states the time for 1,000,000 names of the same kind, and the memory of the index.
 */
import { join } from 'node:path'
import { createNameIndex } from '../service/src/screening/names/index-of-names.ts'
import { createMatches } from '../service/src/screening/names/matches.ts'
import { scoreMin } from '../service/src/screening/rules.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { samplesFolder } from '../test/support/samples.ts'
import { commonNames } from '../test/support/screening/common-names.ts'
import { readListed, type RealEntry } from '../test/support/screening/real-variants.ts'

if (samplesFolder === undefined) throw new Error('SAMPLES_DIR does not name the folder of the published lists')
const { count, seed } = numbersGiven({ count: 20_000, seed: 1 })
const repeats = 2
const countriesCount = 12
const million = 1_000_000
const megabyte = 1024 * 1024

const heap = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / megabyte
}
const entries = await readListed(join(samplesFolder, 'sanctions'))
const before = heap()
const begun = performance.now()
const index = await createNameIndex<RealEntry>(
  entries.flatMap((entry) => entry.names.map((text) => ({ entry, text }))),
  () => Promise.resolve(),
)
const indexMs = performance.now() - begun
console.log(
  `${index.size} listed names: index made in ${indexMs.toFixed(0)} ms, ${(heap() - before).toFixed(0)} MiB of heap`,
)

const countries = commonNames(seed, Math.ceil(count / repeats / countriesCount))
const different = [...countries.values()].flat()
const names = Array.from({ length: repeats }, () => different).flat()
const isFound = createMatches(scoreMin)
const searchBegun = performance.now()
let hits = 0
for (const name of names) if (isFound({ generation: 1, index }, name)) hits += 1
const ms = performance.now() - searchBegun
const eachMs = ms / names.length
console.log(
  `${names.length} names, ${different.length} of them different: ${(ms / 1000).toFixed(1)} s, ${eachMs.toFixed(3)} ms each, ${hits} hits; ` +
    `resident memory ${(process.memoryUsage().rss / megabyte).toFixed(0)} MiB`,
)
console.log(
  `1,000,000 names: ${((eachMs * million) / 60_000).toFixed(1)} minutes of one core; the memory does not grow with the names`,
)
