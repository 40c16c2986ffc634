/** SDN_ADVANCED.XML: the same entries as SDN.XML, with more scripts; references that lead nowhere refuse the file. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { MessageProblem } from '../../iso20022/index.ts'
import { readSanctionsList } from './read.ts'

const sample = (name: string) => readFile(new URL(`../samples/${name}.xml`, import.meta.url), 'utf8')
const advanced = await sample('ofac-advanced')

async function* chunks(text: string, bytesMax = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
}
const read = (text: string, bytesMax?: number) => readSanctionsList(chunks(text, bytesMax))

/** Fails if the sample does not have the text, so that no test passes on the sample itself. */
function changed(from: string | RegExp, to: string): string {
  const text = advanced.replace(from, to)
  assert.notEqual(text, advanced)
  return text
}

const refused = (text: string, problem: RegExp, code = 'not_in_schema') =>
  assert.rejects(read(text, 4096), (error: unknown) => {
    assert.ok(error instanceof MessageProblem, String(error))
    assert.equal(error.code, code)
    assert.match(error.message, problem)
    assert.ok(error.line >= 1)
    return true
  })

test('names have their parts in order, the primary one first, with the original script', async () => {
  const { source, publishedAt, entries } = await read(advanced)
  assert.deepEqual([source, publishedAt.toISOString()], ['ofac', '2026-01-07T00:00:00.000Z'])
  assert.deepEqual(entries[0], {
    id: '99001',
    reference: '99001',
    kind: 'person',
    names: [
      { text: 'Hadi Mehrab KASHVAND', quality: 'primary' },
      { text: 'کشوند هادی', quality: 'good' },
      { text: 'Haadi KASHWAND', quality: 'good' },
      { text: 'HADI', quality: 'weak' },
    ],
    births: ['07 Oct 1954'],
    programmes: ['XXX', 'XXY'],
    countries: ['IR', 'KP', 'SY'],
    documents: [{ type: 'Passport', number: 'X0000000', country: 'IR' }],
    addresses: ['3 Invented Street, Damascus, Syria'],
  })
})

test('both files of OFAC have the same keys, kinds, births and programmes, so that one can replace the other', async () => {
  const [simple, full] = await Promise.all([read(await sample('ofac')), read(advanced)])
  const latin = /^[\u0020-\u024f]+$/
  assert.deepEqual(
    full.entries.map(({ names, ...entry }) => ({ ...entry, names: names.filter(({ text }) => latin.test(text)) })),
    simple.entries.map(({ names, ...entry }) => ({ ...entry, names })),
  )
})

const day = (year: number, month?: number, dayOfMonth?: number) =>
  `<Year>${year}</Year>${month === undefined ? '' : `<Month>${month}</Month>`}${dayOfMonth === undefined ? '' : `<Day>${dayOfMonth}</Day>`}`
const period = (from: string, to: string | undefined, isApproximate = false) =>
  `<DatePeriod><Start Approximate="${isApproximate}"><From>${from}</From></Start>${to === undefined ? '' : `<End><To>${to}</To></End>`}</DatePeriod>`
const births: readonly (readonly [shown: string, period: string])[] = [
  ['1954', period(day(1954, 1, 1), day(1954, 12, 31))],
  ['1954', period(day(1954), undefined)],
  ['Feb 1956', period(day(1956, 2, 1), day(1956, 2, 29))],
  ['Feb 1955', period(day(1955, 2), undefined)],
  ['circa 1948', period(day(1948, 1, 1), day(1948, 12, 31), true)],
  ['1955 to 1957', period(day(1955, 1, 1), day(1957, 12, 31))],
  ['26 Sep 1946 to 07 Dec 1946', period(day(1946, 9, 26), day(1946, 12, 7))],
]
for (const [shown, xml] of births)
  test(`a birth is shown as SDN.XML writes it: ${shown} of ${xml.replaceAll(/<[^>]*>/g, ' ').trim()}`, async () => {
    const { entries } = await read(changed(/<DatePeriod CalendarTypeID="1" [\s\S]*?<\/DatePeriod>/, xml), 4096)
    assert.deepEqual(entries[0]?.births, [shown])
  })

test('a party of a type that is not known is compared, and a ship is not', async () => {
  const { entries } = await read(changed('>Entity<', '>Other Entity<'), 4096)
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ['person', 'organisation', 'other'],
  )
})

test('an IMO number is that of the party whose identity the document names, and of transport only', async () => {
  const craftsOf = async (text: string) => (await read(text, 4096)).entries.map(({ craft }) => craft)
  const none = { kind: 'vessel', imoNumbers: [] }
  assert.deepEqual(await craftsOf(changed('IdentityID="7003"><ID', 'IdentityID="7002"><ID')), [
    undefined,
    undefined,
    none,
  ])
  assert.deepEqual(await craftsOf(changed('>IMO 9999993<', '>IMO 9999994<')), [undefined, undefined, none])
  const aircraft = changed('>Vessel</PartySubType>', '>Aircraft</PartySubType>').replace('>IMO 9999993<', '>MSN 1<')
  assert.deepEqual(await craftsOf(aircraft), [undefined, undefined, { kind: 'aircraft', imoNumbers: [] }])
  assert.deepEqual(await craftsOf(changed('>Vessel</PartySubType>', '>Train</PartySubType>')), [
    undefined,
    undefined,
    undefined,
  ])
})

const wrong: readonly (readonly [title: string, from: string | RegExp, to: string, problem: RegExp])[] = [
  ['a later version', 'Version="3"', 'Version="4"', /version of the format is "4"/],
  ['no version', 'Version="3" ', '', /version of the format is ""/],
  ['a type of party that it lacks', 'PartySubTypeID="4"', 'PartySubTypeID="7"', /PartySubType "7"/],
  ['a type of party whose own type it lacks', 'PartyTypeID="1"', 'PartyTypeID="9"', /PartyType "9"/],
  ['a part of a name in no group', 'NamePartGroupID="601"', 'NamePartGroupID="999"', /group "999"/],
  ['a type of name part that it lacks', 'NamePartTypeID="1520"', 'NamePartTypeID="1"', /NamePartType "1"/],
  ['a script that it lacks', 'ScriptID="215"', 'ScriptID="1"', /Script "1"/],
  ['a feature that it lacks', 'FeatureTypeID="8"', 'FeatureTypeID="80"', /FeatureType "80"/],
  ['a sanction of a party that it lacks', 'ProfileID="99003"', 'ProfileID="99004"', /profile "99004"/],
  ['a list that it lacks', 'ListID="1550"', 'ListID="1"', /List "1"/],
  ['a measure of a type that it lacks', 'SanctionsTypeID="1705"', 'SanctionsTypeID="2"', /SanctionsType "2"/],
  ['a profile twice', 'Profile ID="99002"', 'Profile ID="99001"', /"99001" stands in the file twice/],
  [
    'a party twice',
    'DistinctParty FixedRef="99002"',
    'DistinctParty FixedRef="99001"',
    /99001 stands in the list twice/,
  ],
  ['a party without sanctions', /<SanctionsEntry ID="3"[\s\S]*?<\/SanctionsEntry>/, '', /99003 is not on the SDN List/],
  [
    'a party of another list',
    'ID="3" ProfileID="99003" ListID="1550"',
    'ID="3" ProfileID="99003" ListID="1551"',
    /99003/,
  ],
  ['a party without a name', />NORTHERN VELMORA</, '><', /99003 has no name/],
  ['a birth without a year', '<Year>1954</Year>', '', /From has no year/],
  ['a birth in a month that is none', '<Month>10</Month>', '<Month>13</Month>', /Month is "13"/],
  ['no date of issue', /<DateOfIssue[\s\S]*?<\/DateOfIssue>/, '', /when it was published/],
  ['a part that is not known', /<ProfileRelationships>|<\/ProfileRelationships>/g, '', /ProfileRelationship/],
]
for (const [title, from, to, problem] of wrong)
  test(`a file with ${title} is refused`, () => refused(changed(from, to), problem))

test('a file that is cut is refused wherever it is cut', async () => {
  for (let end = 100; end < advanced.trimEnd().length; end += 997)
    await assert.rejects(read(advanced.slice(0, end), 4096), MessageProblem)
})

test('what is not read is not held: places beyond the limit of one record pass, one party beyond it does not', async () => {
  const places = '<Location ID="1"><LocationCountry CountryID="11000"/></Location>'.repeat(30_000)
  const { entries } = await read(changed('</Locations>', `${places}</Locations>`), 65_536)
  assert.equal(entries.length, 3)
  const comments = '<Comment/>'.repeat(20_001)
  await refused(changed('<Comment/>', comments), /more than 20000 elements/, 'too_large')
})
