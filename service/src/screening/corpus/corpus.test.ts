/** Listed names are found in the forms in which people write them, and common names of thirty countries are hit rarely. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { corpusNames, inventedList } from '../../../../test/support/screening/corpus.ts'
import { readPublished, withoutPublished } from '../../../../test/support/screening/published.ts'
import { createNameIndex, type NameIndex } from '../names/index-of-names.ts'
import type { ListEntry } from '../lists/entry.ts'
import { commonNames, countriesWithNames } from './common-names.ts'
import { type CorpusName, forms, namesWithForms, variantsOf } from './forms.ts'
import { falseHitsMax, measureCountries, type MeasuredCountry, type MeasuredForm, measureForms } from './report.ts'

const seed = 1
const said = () => undefined
/** A drawn sample may miss two standard deviations more than the floor allows. */
const isFarBelow = ({ names, found, floor }: MeasuredForm): boolean => {
  const missed = (names * (100 - floor)) / 100
  return names - found > missed + 2 * Math.sqrt((missed * floor) / 100)
}
const sayForm = ({ form, names, found, missed }: MeasuredForm) => `${form}: ${found} of ${names}; ${missed.join('; ')}`

/**
 * Percent of the commonest names that are a hit by themselves, and of a payee with an address in the country. Absence contradicts nothing, so
 * that the listed persons of a country are hits there.
 */
const byNameMax: Readonly<Record<string, readonly [byName: number, withAddress: number]>> = {
  ...{ BD: [5, 2.5], BR: [7, 3], CN: [8, 6], EG: [20, 8], ES: [14, 3.5], IR: [7, 5], MX: [18, 10], NG: [4, 2] },
  ...{ PK: [8.5, 5], PT: [5, 1], RU: [3, 3], SA: [8, 6], US: [4, 1] },
}
const byNameElsewhere = [2, 1.5] as const

const lists = [
  { title: 'an invented list', entries: () => Promise.resolve(inventedList(seed, 2000)), variantsMax: 20, skip: false },
  { title: 'the published lists', entries: readPublished, variantsMax: 60, skip: withoutPublished },
] as const

for (const { title, entries: read, variantsMax, skip } of lists)
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

    describe('of the commonest names of a country', () => {
      let measured: readonly MeasuredCountry[]
      before(() => {
        measured = measureCountries(index.search, 'birth-or-country', { seed, said, namesMax: 300 })
      })
      const assertFew = (key: 'byName' | 'withAddress' | 'withSecondDatum', most: (country: string) => number) => {
        const tooMany = measured.filter((one) => 100 * one[key] > most(one.country) * one.names)
        const said = tooMany.map((one) => `${one.country} ${one[key]} of ${one.names}: ${one.examples.join('; ')}`)
        assert.deepEqual(said, [])
      }
      test(`at most ${falseHitsMax} % are a hit of a customer`, () => assertFew('withSecondDatum', () => falseHitsMax))
      test('no more than stated are a hit of a payee with an address', () =>
        assertFew('withAddress', (country) => (byNameMax[country] ?? byNameElsewhere)[1]))
      test('no more than stated are a hit by the name alone', () =>
        assertFew('byName', (country) => (byNameMax[country] ?? byNameElsewhere)[0]))
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
