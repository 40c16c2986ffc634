/** The corpus of names, and the report of screening. */
import assert from 'node:assert/strict'
import { before, describe, suite, test } from 'node:test'
import { corpusNames, inventedList } from '../../../../test/support/screening/corpus.ts'
import { readPublished, withoutPublished } from '../../../../test/support/screening/published.ts'
import { createNameIndex, type NameIndex } from '../names/index-of-names.ts'
import type { ListEntry } from '../lists/entry.ts'
import { commonNames, countriesWithNames } from './common-names.ts'
import { type CorpusName, forms, namesWithForms, writeVariants } from './forms.ts'
import {
  createReport,
  falseHitsPercentMax,
  measureCountries,
  type MeasuredCountry,
  type MeasuredForm,
  measureForms,
  reportText,
  type ReportRequest,
} from './report.ts'
import { useModules } from '../../../../test/support/fixture.ts'

const seed = 1
const said = () => undefined
/** A drawn sample may miss the floor by two standard deviations. */
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

    test('the search finds at least the required percentage of names in each form', () => {
      const measured = measureForms(index.search, names, { seed, said, variantsMax })
      assert.deepEqual(measured.filter(isFarBelow).map(sayForm), [])
    })

    describe('most common names of a country', () => {
      let measured: readonly MeasuredCountry[]
      before(() => {
        measured = measureCountries(index.search, 'birth-or-country', { seed, said, namesMax: 300 })
      })
      const assertFew = (key: 'byName' | 'withAddress' | 'withSecondDatum', most: (country: string) => number) => {
        const tooMany = measured.filter((one) => 100 * one[key] > most(one.country) * one.names)
        const said = tooMany.map((one) => `${one.country} ${one[key]} of ${one.names}: ${one.examples.join('; ')}`)
        assert.deepEqual(said, [])
      }
      test(`at most ${falseHitsPercentMax} % are hits for a customer`, () =>
        assertFew('withSecondDatum', () => falseHitsPercentMax))
      test('the rate of hits for a payee with an address is within its limit', () =>
        assertFew('withAddress', (country) => (byNameMax[country] ?? byNameElsewhere)[1]))
      test('the rate of hits by the name alone is within its limit', () =>
        assertFew('byName', (country) => (byNameMax[country] ?? byNameElsewhere)[0]))
    })
  })

test('each form changes the listed words, and a seed always gives the same variants', () => {
  const names = namesWithForms(corpusNames(inventedList(seed, 500)))
  assert.ok(names.length > 400)
  for (const form of forms) {
    const variants = writeVariants(form, names, seed, 20)
    assert.deepEqual(
      variants.map(({ text }) => text),
      writeVariants(form, names, seed, 20).map(({ text }) => text),
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

suite('report', async () => {
  const service = await useModules()

  const reportRequest = (): ReportRequest => ({
    ...{ db: service.db, lists: service.screening.lists, countries: service.screening.countries },
    ...{ settings: { pepHits: 'review', secondDatum: 'birth-or-country' }, version: '0000-test' },
    ...{ seed: 1, namesMax: 10, said: () => undefined },
  })
  const publishedAt = new Date('2026-01-05T00:00:00Z')
  const load = (source: 'un' | 'eu' | 'pep:invented', entries: ReturnType<typeof inventedList>) =>
    service.screening.lists.load({ source, publishedAt, hash: `hash of ${source}`, entries }, 'Sam Staff')

  test('without a sanctions list there is no report', async () => {
    assert.equal(await createReport(reportRequest()), undefined)
    await load('pep:invented', inventedList(9, 20))
    assert.equal(await createReport(reportRequest()), undefined)
  })

  test('the report describes the lists, and measures each form with names of sanctions lists', async () => {
    await load('un', inventedList(1, 300))
    const [entry, ...rest] = inventedList(2, 50)
    assert.ok(entry)
    const { countries: _countries, documents: _documents, addresses: _addresses, ...ofVersionBefore } = entry
    await load('eu', [ofVersionBefore, ...rest])
    const report = await createReport(reportRequest())
    assert.ok(report)
    assert.deepEqual(
      report.lists.map(({ source, entries, withoutFacts }) => [source, entries, withoutFacts]),
      [
        ['eu', 50, 1],
        ['pep:invented', 20, 0],
        ['un', 300, 0],
      ],
    )
    const asListed = report.forms.find(({ form }) => form === 'as listed')
    assert.deepEqual([asListed?.names, asListed?.found], [10, 10])
    assert.equal(report.countries.length, 30)
    const text = reportText(report)
    assert.match(text, /^# Report of sanctions screening\n/)
    assert.match(text, /\| un \| 2026-01-05 00:00 UTC \|/)
    assert.match(
      text,
      /1 entries of eu were read by a version that kept no countries and documents: load the list again\./,
    )
    assert.match(text, /No match is excluded at present\./)
    for (const { form } of report.forms) assert.ok(text.includes(form), form)
    const again = await createReport(reportRequest())
    assert.ok(again)
    assert.deepEqual(again, report)
  })

  test('the report lists forms below their floor and countries above their limit, with examples', async () => {
    const report = await createReport(reportRequest())
    assert.ok(report)
    const missed = report.forms.map((form, at) =>
      at === 0 ? { ...form, found: 1, missed: ['Not | Found (Not Found)'] } : { ...form, found: form.names },
    )
    const countries = report.countries.map((country, at) => ({
      ...country,
      withSecondDatum: at === 0 ? country.names : 0,
    }))
    const text = reportText({ ...report, forms: missed, countries })
    assert.match(text, /^1 of \d+ forms are below their floor, and 1 of 30 countries have more than 1 % false hits/m)
    assert.match(text, /\| as listed \| 10 \| 10\.0 \| 97 \| Not \/ Found \(Not Found\) \|/)
    assert.match(text, /100\.0 \(above\)/)
    const perfect = report.forms.map((form) => ({ ...form, found: form.names }))
    const none = report.countries.map((country) => ({ ...country, withSecondDatum: 0 }))
    assert.match(reportText({ ...report, forms: perfect, countries: none }), /Every form reaches its floor/)
  })
})
