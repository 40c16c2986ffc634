/** The report of screening says what is loaded, what is found and what is not, and says the same twice. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestService, type Service } from '../../../../test/support/composition.ts'
import { inventedList } from '../../../../test/support/screening/corpus.ts'
import { createReport, type ReportWanted, reportText } from './report.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const wanted = (): ReportWanted => ({
  ...{ db: service.db, lists: service.screening.lists, countries: service.screening.countries },
  ...{ settings: { pepHits: 'review', secondDatum: 'birth-or-country' }, version: '0000-test' },
  ...{ seed: 1, namesMax: 10, said: () => undefined },
})
const publishedAt = new Date('2026-01-05T00:00:00Z')
const load = (source: 'un' | 'eu' | 'pep:invented', entries: ReturnType<typeof inventedList>) =>
  service.screening.lists.load({ source, publishedAt, hash: `hash of ${source}`, entries }, 'Sam Staff')

test('without a list of sanctions there is no report', async () => {
  assert.equal(await createReport(wanted()), undefined)
  await load('pep:invented', inventedList(9, 20))
  assert.equal(await createReport(wanted()), undefined)
})

test('it names the lists with their data, and measures each form by the names of sanctions lists', async () => {
  await load('un', inventedList(1, 300))
  const [entry, ...rest] = inventedList(2, 50)
  assert.ok(entry)
  const { countries: _countries, documents: _documents, addresses: _addresses, ...ofVersionBefore } = entry
  await load('eu', [ofVersionBefore, ...rest])
  const report = await createReport(wanted())
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
  const again = await createReport(wanted())
  assert.ok(again)
  assert.deepEqual(again, report)
})

test('a form below its floor and a country above its share are named with examples', async () => {
  const report = await createReport(wanted())
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
