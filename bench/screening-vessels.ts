/**
 * What screening finds of listed vessels and aircraft in texts, and what it costs: `node bench/screening-vessels.ts [texts] [seed]`, by default
 * 100,000 and 1, with SAMPLES_DIR (SDN.CSV and ALT.CSV of OFAC). The ordinary texts are made of products, streets, companies and cities; in a
 * second set each has one word for a vessel at a random place, which is the worst case. A third set is the remittance of public bank files.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { faker } from '@faker-js/faker'
import { craftText, createCraftIndex } from '../service/src/screening/vessels.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { samplesFolder } from '../test/support/samples.ts'
import { commonNames, countriesWithNames } from '../service/src/screening/corpus/common-names.ts'
import { createRandom } from '../test/support/screening/corpus.ts'
import { readPublished } from '../test/support/screening/published.ts'

if (samplesFolder === undefined) throw new Error('SAMPLES_DIR does not name the folder of the published lists')
const { count, seed } = numbersGiven({ count: 100_000, seed: 1 })
const random = createRandom(seed)
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item

const crafts = (await readPublished()).flatMap(({ craft, names }) => (craft === undefined ? [] : [{ craft, names }]))
const search = createCraftIndex(crafts.map((entry) => ({ entry, ...entry })))
const share = (part: number, whole: number) =>
  `${part} of ${whole} (${((100 * part) / Math.max(1, whole)).toFixed(3)} %)`

const numberForms = ['IMO #', 'IMO#', 'IMO No. #', 'imo number: #', 'freight IMO-Nr. #, voyage 12', 'Charter (IMO: #)']
const nameForms = {
  vessel: [
    'MV #',
    'M/V # voy 12',
    'freight m.v. # to Lagos',
    'vessel #',
    'vessel name: #',
    'charter of the ship #',
    '# (tanker)',
    'Schiff #',
  ],
  aircraft: ['aircraft #', 'tail number #', 'lease of aircraft: #', '# aircraft'],
} as const

const vessels = crafts.filter(({ craft }) => craft.kind === 'vessel')
console.log(
  `${vessels.length} vessels and ${crafts.length - vessels.length} aircraft with ${crafts.flatMap(({ names }) => names).length} names`,
)
const numbered = vessels.flatMap((entry) => entry.craft.imoNumbers.map((number) => ({ entry, number })))
const said = numbered.flatMap(({ entry, number }) =>
  numberForms.map((form) => ({ entry, text: form.replace('#', number) })),
)
console.log(
  `numbers found: ${share(said.filter(({ entry, text }) => search(text).some((match) => match.entry === entry)).length, said.length)}`,
)
for (const kind of ['vessel', 'aircraft'] as const) {
  const texts = crafts
    .filter(({ craft }) => craft.kind === kind)
    .flatMap((entry) =>
      entry.names.flatMap(({ text }) =>
        nameForms[kind].map((form) => ({ entry, text: form.replace('#', () => text) })),
      ),
    )
  const missed = texts.filter(({ entry, text }) => !search(text).some((match) => match.entry === entry))
  console.log(
    `names of ${kind}s found: ${share(texts.length - missed.length, texts.length)}; missed such as ${missed[0]?.text}`,
  )
}

faker.seed(seed)
const ordinary = Array.from({ length: count }, () =>
  pick([
    () => `Invoice ${faker.number.int({ min: 1000, max: 9_999_999 })} ${faker.commerce.productName()}`,
    () => `${faker.company.name()} ${faker.location.streetAddress()} ${faker.location.city()}`,
    () =>
      `${faker.commerce.productName()} for ${faker.person.fullName()}, order ${faker.number.int({ min: 1_000_000, max: 9_999_999 })}`,
    () => `Rent ${faker.location.streetAddress()}, ${faker.location.city()} ${faker.date.month()}`,
    () => `${faker.commerce.department()} ${faker.company.catchPhrase()} ${faker.location.city()}`,
  ])(),
)
const shipWords = ['vessel', 'ship', 'MV', 'tanker', 'MT']
const beside = ordinary.map((text) => {
  const words = text.split(' ')
  words.splice(Math.floor(random() * (words.length + 1)), 0, pick(shipWords))
  return words.join(' ')
})
const names = countriesWithNames.flatMap((country) => commonNames(country, seed, 450))
const folder = join(samplesFolder, 'iso20022/files')
const bank = existsSync(folder)
  ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.xml'))
      .flatMap((file) =>
        [...readFileSync(join(folder, file), 'utf8').matchAll(/<(?:\w+:)?Ustrd>([^<]*)</g)].map(
          ([, text = '']) => text,
        ),
      )
  : []
const falseHits = (label: string, texts: readonly string[]) => {
  const hits = texts.filter((text) => search(text).length > 0)
  const candidates = texts.filter((text) => craftText([text]) !== null)
  console.log(
    `${label}: ${share(hits.length, texts.length)} hits, ${share(candidates.length, texts.length)} searched; such as ${hits[0]}`,
  )
}
falseHits('ordinary texts', ordinary)
falseHits('the same with a word for a vessel', beside)
falseHits('common names of twelve countries', names)
falseHits('remittance of public bank files', [...new Set(bank)])

const timed = (texts: readonly string[]) => {
  for (const text of texts) craftText([text])
  const begun = performance.now()
  for (const text of texts) craftText([text])
  return (1000 * (performance.now() - begun)) / texts.length
}
const begun = performance.now()
for (const text of beside) search(text)
console.log(
  `${timed(ordinary).toFixed(2)} microseconds for an ordinary text, ${((1000 * (performance.now() - begun)) / beside.length).toFixed(2)} for one with a word for a vessel`,
)
