/**
 * What screening finds, and what it costs: `node bench/screening.ts [seed] [names]`, by default 1 and 100. With SAMPLES_DIR it measures the
 * published lists, else an invented list of 20,000 names. It states the memory and time of the index, the time of a search and of 1,000,000, how
 * much faster the index is than a naive scan, and the recall of each kind of form and the false hits of each country, by `names` names of each.
 */
import { commonNames, countriesWithNames } from '../service/src/screening/corpus/common-names.ts'
import { measureCountries, measureForms } from '../service/src/screening/corpus/report.ts'
import type { ListEntry } from '../service/src/screening/lists/entry.ts'
import { compareNames } from '../service/src/screening/names/compare.ts'
import { createNameIndex } from '../service/src/screening/names/index-of-names.ts'
import { wordsOf } from '../service/src/screening/names/words.ts'
import { scoreMin } from '../service/src/screening/rules.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { corpusNames, inventedList } from '../test/support/screening/corpus.ts'
import { readPublished, withoutPublished } from '../test/support/screening/published.ts'

const { seed, namesMax } = numbersGiven({ seed: 1, namesMax: 100 })
const inventedCount = 20_000
const naiveCount = 3
const million = 1_000_000
const megabyte = 1024 * 1024
const heap = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / megabyte
}

const isInvented = withoutPublished !== false
const names = corpusNames<ListEntry>(isInvented ? inventedList(seed, inventedCount) : await readPublished())
const before = heap()
const begun = performance.now()
const index = await createNameIndex(names, () => Promise.resolve())
const indexMs = performance.now() - begun
console.log(
  `${isInvented ? 'invented' : 'published'} lists, ${index.size} names: index in ${indexMs.toFixed(0)} ms, ${(heap() - before).toFixed(0)} MiB of heap (--expose-gc)`,
)

const ordinary = countriesWithNames.flatMap((country) => commonNames(country, seed, namesMax))
const searchBegun = performance.now()
for (const text of ordinary) index.search(text, scoreMin)
const searchMs = (performance.now() - searchBegun) / ordinary.length
const weighted = (text: string) => wordsOf(text).telling.map((word) => ({ word, weight: 1 }))
const all = names.map(({ text }) => weighted(text))
const naiveBegun = performance.now()
for (const text of ordinary.slice(0, naiveCount)) for (const listed of all) compareNames(weighted(text), listed)
const naiveMs = (performance.now() - naiveBegun) / naiveCount
console.log(
  `${searchMs.toFixed(3)} ms a name, ${((searchMs * million) / 60_000).toFixed(1)} minutes for 1,000,000; naive ${naiveMs.toFixed(0)} ms, ratio ${(naiveMs / searchMs).toFixed(0)}`,
)

const said = () => undefined
const measured = measureForms(index.search, names, { seed, said, variantsMax: namesMax })
const percent = (part: number, whole: number) => ((100 * part) / Math.max(1, whole)).toFixed(1).padStart(6)
console.log('\nform | names | found % | floor %')
for (const form of measured)
  console.log(`${form.group}: ${form.form} | ${form.names} | ${percent(form.found, form.names)} | ${form.floor}`)
console.log('\nkind of form | names | found %')
for (const [group, each] of Map.groupBy(measured, ({ group: of }) => of)) {
  const sum = (field: 'names' | 'found') => each.reduce((total, form) => total + form[field], 0)
  console.log(`${group} | ${sum('names')} | ${percent(sum('found'), sum('names'))}`)
}
console.log('\ncountry | names | false hits by name % | with address % | with second datum % | examples')
for (const one of measureCountries(index.search, 'birth-or-country', { seed, said, namesMax: 3 * namesMax }))
  console.log(
    `${one.country} | ${one.names} | ${percent(one.byName, one.names)} | ${percent(one.withAddress, one.names)} | ${percent(one.withSecondDatum, one.names)} | ${one.examples.join('; ')}`,
  )
