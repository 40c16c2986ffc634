/**
 * What screening finds, and what it costs: `node bench/screening.ts [names] [ordinary] [rounds]`, by default 20,000, 10,000 and 3. A round has a
 * corpus of its own (test/support/screening). The index searches all ordinary names; a naive scan compares some of them with every listed name,
 * in the same round. States the percentages, and how much faster the index is.
 */
import { compareNames } from '../service/src/screening/names/compare.ts'
import { createNameIndex } from '../service/src/screening/names/index-of-names.ts'
import { wordsOf } from '../service/src/screening/names/words.ts'
import { scoreMin } from '../service/src/screening/rules.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import {
  createRandom,
  listedNames,
  type MadeName,
  ordinaryNames,
  variantsOf,
} from '../test/support/screening/corpus.ts'
import { spreadOf } from './rounds.ts'

const { listSize, ordinaryCount, rounds } = numbersGiven({ listSize: 20_000, ordinaryCount: 10_000, rounds: 3 })
const variantsCount = 5000
const naiveCount = 3

const percent = (part: number, whole: number) => (100 * part) / whole

async function round(seed: number) {
  const random = createRandom(seed)
  const names = listedNames(random, listSize)
  const index = await createNameIndex<MadeName>(
    names.map((entry) => ({ entry, text: entry.text })),
    () => Promise.resolve(),
  )
  const variants = variantsOf(random, names, variantsCount)
  const found = variants.filter(({ text, of }) => index.search(text, scoreMin).some(({ entry }) => entry === of))
  const ordinary = ordinaryNames(random, ordinaryCount, names)
  const begun = performance.now()
  const hit = ordinary.filter((text) => index.search(text, scoreMin).length > 0)
  const searchMs = (performance.now() - begun) / ordinary.length
  const weighted = (text: string) => wordsOf(text).telling.map((word) => ({ word, weight: 1 }))
  const all = names.map(({ text }) => weighted(text))
  const naiveBegun = performance.now()
  for (const text of ordinary.slice(0, naiveCount)) {
    const words = weighted(text)
    for (const listed of all) compareNames(words, listed)
  }
  const naiveMs = (performance.now() - naiveBegun) / naiveCount
  return { found: percent(found.length, variants.length), hit: percent(hit.length, ordinary.length), searchMs, naiveMs }
}

const results: Awaited<ReturnType<typeof round>>[] = []
for (let seed = 1; seed <= rounds; seed += 1) {
  const result = await round(seed)
  results.push(result)
  console.log(
    `round ${seed}: ${result.found.toFixed(2)} % found, ${result.hit.toFixed(2)} % false hits, ` +
      `${result.searchMs.toFixed(3)} ms a name; naive ${result.naiveMs.toFixed(0)} ms, ratio ${(result.naiveMs / result.searchMs).toFixed(0)}`,
  )
}
const ratio = spreadOf(results.map(({ searchMs, naiveMs }) => naiveMs / searchMs))
console.log(`index against naive scan: ${JSON.stringify(ratio)}`)
const meetsAims = results.every(({ found, hit }) => found >= 95 && hit < 1)
console.log(meetsAims ? 'the aims are met in every round' : 'an aim is missed')
process.exitCode = meetsAims ? 0 : 1
