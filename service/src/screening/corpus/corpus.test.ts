/** Listed names are found in the forms in which people write them, and common names of thirty countries are hit rarely. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { corpusNames, inventedList } from '../../../../test/support/screening/corpus.ts'
import { readPublished, withoutPublished } from '../../../../test/support/screening/published.ts'
import { createNameIndex, type NameIndex } from '../names/index-of-names.ts'
import type { ListEntry } from '../lists/entry.ts'
import { commonNames, countriesWithNames } from './common-names.ts'
import { type CorpusName, forms, namesWithForms, variantsOf } from './forms.ts'
import { type MeasuredCountry, type MeasuredForm, measureCountries, measureForms } from './measure.ts'
import { falseHitsMax } from './report.ts'

const seed = 1
const said = () => undefined
/** The report measures more. So few names may miss two standard deviations more than the floor says, which chance takes one time in forty. */
const variantsMax = 40
function isFarBelow({ names, found, floor }: MeasuredForm): boolean {
  const expected = (names * (100 - floor)) / 100
  return names - found > expected + 2 * Math.sqrt((expected * floor) / 100)
}
const sayForm = ({ form, names, found, missed }: MeasuredForm) => `${form}: ${found} of ${names}; ${missed.join('; ')}`

/**
 * Percent where the commonest names of the country are those of the published lists: of companies that are named as persons, and of persons
 * without a birth or a nationality in the CSV.
 */
const above: Readonly<Record<string, number>> = { CN: 3, EG: 5, MX: 3, US: 2 }

const lists = [
  { title: 'an invented list', entries: () => Promise.resolve(inventedList(seed, 2000)), skip: false },
  { title: 'the published lists', entries: readPublished, skip: withoutPublished },
] as const

for (const { title, entries: read, skip } of lists)
  describe(title, { skip }, () => {
    let names: readonly CorpusName<ListEntry>[]
    let index: NameIndex<ListEntry>
    before(async () => {
      names = corpusNames<ListEntry>(await read())
      index = await createNameIndex(names, () => Promise.resolve())
    })

    test('each form is found as often as its floor says', () => {
      const measured = measureForms(index.search, names, { seed, said, variantsMax })
      assert.deepEqual(measured.filter(isFarBelow).map(sayForm), [])
    })

    test(`at most ${falseHitsMax} % of the commonest names of a country are a hit of a customer, or as many as are stated`, () => {
      const measured = measureCountries(index.search, 'birth-or-country', { seed, said, namesMax: 120 })
      const allowed = ({ country }: MeasuredCountry) => above[country] ?? falseHitsMax
      const tooMany = measured.filter((one) => 100 * one.withSecondDatum > allowed(one) * one.names)
      assert.deepEqual(
        tooMany.map(({ country, examples }) => `${country}: ${examples.join('; ')}`),
        [],
      )
    })
  })

test('each form writes other words than the list, and the same for a seed', () => {
  const names = namesWithForms(corpusNames(inventedList(seed, 500)))
  assert.ok(names.length > 400)
  for (const form of forms) {
    const variants = variantsOf(form, names, seed, 20)
    assert.deepEqual(
      variants.map(({ text }) => text),
      variantsOf(form, names, seed, 20).map(({ text }) => text),
      form.name,
    )
    const same = variants.filter(({ text, of }) => text === of.text)
    assert.ok(same.length === 0 || form.group === 'as listed', `${form.name}: ${same[0]?.text}`)
  }
})

test('there are thirty countries, each with different names', () => {
  assert.equal(countriesWithNames.length, 30)
  for (const country of countriesWithNames) assert.equal(new Set(commonNames(country, seed, 400)).size, 400, country)
})
