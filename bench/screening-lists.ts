/**
 * What screening finds of the names of published lists: `node bench/screening-lists.ts [seed] [names]`, by default 1 and 1,000, with SAMPLES_DIR.
 * Prints the recall of each form in which the listed names are written, and the false hits among common names of eleven countries and of Arabic
 * (`names` of each, of @faker-js/faker). A country's name that has exactly the words of a listed one counts as a false hit too.
 */
import { join } from 'node:path'
import { createNameIndex } from '../service/src/screening/names/index-of-names.ts'
import { scoreMin } from '../service/src/screening/rules.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { samplesFolder } from '../test/support/samples.ts'
import { commonNames } from '../test/support/screening/common-names.ts'
import { createRandom } from '../test/support/screening/corpus.ts'
import { readListed, type RealEntry, realVariants } from '../test/support/screening/real-variants.ts'

if (samplesFolder === undefined) throw new Error('SAMPLES_DIR does not name the folder of the published lists')
const { seed, count } = numbersGiven({ seed: 1, count: 1000 })

/** The number of variants of each form, spread over the lists. */
const variantsMax = 300

const entries = await readListed(join(samplesFolder, 'sanctions'))
const index = await createNameIndex<RealEntry>(
  entries.flatMap((entry) => entry.names.map((text) => ({ entry, text }))),
  () => Promise.resolve(),
)
const variants = realVariants(createRandom(seed), entries)
const percent = (part: number, whole: number) => ((100 * part) / whole).toFixed(1).padStart(6)

console.log(`seed ${seed}; ${entries.length} entries, ${index.size} names\n\nform | variants | found %`)
for (const [form, every] of Map.groupBy(variants, (variant) => variant.form)) {
  const step = Math.max(1, every.length / variantsMax)
  const all = every.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step))
  const missed = all.filter(({ text, of }) => !index.search(text, scoreMin).some(({ entry }) => entry === of))
  console.log(`${form} | ${all.length} | ${percent(all.length - missed.length, all.length)}`)
}
console.log('\ncountry | names | false hits %')
let hits = 0
let searchMs = 0
const countries = commonNames(seed, count)
for (const [country, names] of countries) {
  const begun = performance.now()
  const hit = names.filter((name) => index.search(name, scoreMin).length > 0)
  searchMs += performance.now() - begun
  hits += hit.length
  console.log(`${country} | ${names.length} | ${percent(hit.length, names.length)}`)
}
console.log(
  `all | ${hits} hits | ${percent(hits, countries.size * count)}\n${(searchMs / countries.size / count).toFixed(3)} ms a name`,
)
