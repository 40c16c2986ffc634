/** Rules of hits: second data, vessels. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WordMatch } from './names/compare.ts'
import type { SecondData } from './rules.ts'
import { findExclusion, type ListedPerson, type SecondDatumRule } from './second-datum.ts'
import { isImoNumber, readImoNumber } from './lists/entry.ts'
import { craftText, createCraftIndex } from './vessels.ts'

const pair = (word: string, weight = 50): WordMatch => ({ word, listed: word, how: 'equal', likeness: 100, weight })
const common = [pair('mohamed'), pair('hassan')]
const listedPerson: ListedPerson = { kind: 'person', births: ['1961-04-12'], countries: ['EG'], documents: [] }
const customer: SecondData = { births: ['1990-01-01'], countries: ['EG'], documents: [] }

type Case = {
  readonly words?: readonly WordMatch[]
  readonly score?: number
  readonly listed?: Partial<ListedPerson>
  readonly known?: Partial<SecondData> | null
  readonly rule?: SecondDatumRule
}
const excluded = ({ words = common, score = 100, listed = {}, known = {}, rule = 'birth-or-country' }: Case) =>
  findExclusion(
    rule,
    { words, score, entry: { ...listedPerson, ...listed } },
    known === null ? undefined : { ...customer, ...known },
  )

const document = { type: 'Passport', number: 'AB-123456', country: 'EG' }
const other = { births: [], countries: ['DE'] }
const cases: readonly (readonly [title: string, given: Case, result: 'birth' | 'country' | undefined])[] = [
  ['births that are far apart exclude a common name, even a complete one', {}, 'birth'],
  ['a rare word is a hit regardless of other data', { words: [pair('mohamed'), pair('tremurov', 100)] }, undefined],
  [
    'a common name of a country is common, although few listed names have it',
    { words: [pair('sergei', 86), pair('ivanov', 100)] },
    'birth',
  ],
  [
    'a word that the name lacks is not found, and does not make it rarer',
    { words: [...common, { ...pair('tremurov', 100), word: null, how: 'missing' }] },
    'birth',
  ],
  ['two years apart are near', { known: { births: ['1963-12-31'] } }, undefined],
  ['three years apart are not', { known: { births: ['1964-01-01'] } }, 'birth'],
  [
    'five years from an approximate date are near',
    { listed: { births: ['circa 1956'] }, known: { births: ['1961-01-01'] } },
    undefined,
  ],
  ['six are not', { listed: { births: ['circa 1956'] }, known: { births: ['1962-01-01'] } }, 'birth'],
  ['each date of the list may be the true one', { listed: { births: ['1961', '1989 to 1991'] } }, undefined],
  [
    'a date of the list without a year may also be the true one',
    { listed: { births: ['1961', 'unknown'] } },
    undefined,
  ],
  ['a birth that the list lacks excludes nothing', { listed: { births: [] } }, undefined],
  ['a birth that the customer lacks excludes nothing', { known: { births: [] } }, undefined],
  ['without data of a payee, a payer or an owner nothing is excluded', { known: null }, undefined],
  ['an equal document is a hit', { listed: { documents: [document] }, known: { documents: ['ab 123456'] } }, undefined],
  [
    'another document is not a hit',
    { listed: { documents: [document] }, known: { documents: ['AB 123457'] } },
    'birth',
  ],
  [
    'a short number may belong to many people',
    { listed: { documents: [{ ...document, number: '12345' }] }, known: { documents: ['12345'] } },
    'birth',
  ],
  ['an organisation is never excluded', { listed: { kind: 'organisation' } }, undefined],
  ['countries exclude an incomplete name', { score: 94, known: other }, 'country'],
  ['countries do not exclude a complete name', { score: 95, known: other }, undefined],
  [
    'countries exclude an incomplete name even with near births',
    { score: 94, known: { ...other, births: ['1962-01-01'] } },
    'country',
  ],
  ['the same day of birth is a hit', { score: 94, known: { ...other, births: ['1961-04-12'] } }, undefined],
  [
    'the same day in the form of OFAC is also a hit',
    { score: 94, listed: { births: ['12 Apr 1961'] }, known: { ...other, births: ['1961-04-12'] } },
    undefined,
  ],
  ['one country in common is enough', { score: 94, listed: { countries: ['DE', 'EG'] }, known: other }, undefined],
  [
    'a country of the list that no longer exists may be any country',
    { score: 94, listed: { countries: ['EG', 'former Soviet Union'] }, known: other },
    undefined,
  ],
  [
    'a list that an earlier version read has no countries',
    { score: 94, listed: { countries: [] }, known: other },
    undefined,
  ],
  [
    'the issuer of a document is a country of the list',
    { score: 94, listed: { countries: [], documents: [document] }, known: other },
    'country',
  ],
  [
    'the issuer of a document may be the common country',
    { score: 94, listed: { countries: ['SD'], documents: [document] }, known: { births: [], countries: ['EG'] } },
    undefined,
  ],
  ['another day of a near year excludes an incomplete name', { score: 94, known: { births: ['1962-06-15'] } }, 'birth'],
  ['another day of a near year does not exclude a complete name', { known: { births: ['1962-06-15'] } }, undefined],
  ['one part of the day may be wrong', { score: 94, known: { births: ['1961-04-21'] } }, undefined],
  ['month and day may be swapped', { score: 94, known: { births: ['1962-12-04'] } }, undefined],
  [
    'an approximate day excludes nothing',
    { score: 94, listed: { births: ['circa 12 Apr 1961'] }, known: { births: ['1962-06-15'] } },
    undefined,
  ],
  [
    'the first of January may stand for a year',
    { score: 94, listed: { births: ['1961-01-01'] }, known: { births: ['1962-06-15'] } },
    undefined,
  ],
  ['by births alone, countries exclude nothing', { rule: 'birth', score: 94, known: other }, undefined],
  ['by births alone, births exclude', { rule: 'birth' }, 'birth'],
  ['switched off, nothing is excluded', { rule: 'off' }, undefined],
]
for (const [title, given, result] of cases) test(title, () => assert.equal(excluded(given), result))

const named = (...names: readonly string[]) => names.map((text) => ({ text, quality: 'good' as const }))
const search = createCraftIndex([
  {
    entry: 'velmora',
    craft: { kind: 'vessel', imoNumbers: ['9999993'] },
    names: [...named('NORTHERN VELMORA', 'ORIENTAL'), { text: 'WEAK', quality: 'weak' }],
  },
  { entry: 'argo', craft: { kind: 'vessel', imoNumbers: [] }, names: named('ARGO I', 'XY', '2000') },
  { entry: 'plane', craft: { kind: 'aircraft', imoNumbers: [] }, names: named('EP-QQQ') },
])
const found = (text: string) => search(text).map(({ entry, score }) => `${entry} ${score}`)

test('the last digit of an IMO number is a check digit', () => {
  assert.deepEqual(['9074729', '9999993', '9074728', '907472', '90747290', 'abcdefg', ''].map(isImoNumber), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ])
  assert.deepEqual(['IMO 9074729', 'IMO9074729', 'IMO 9074728', '9074729', 'MMSI 907472900'].map(readImoNumber), [
    '9074729',
    '9074729',
    undefined,
    undefined,
    undefined,
  ])
})

const numbers = [
  'IMO 9999993',
  'freight IMO9999993, voyage 7',
  'imo no. 9999993',
  'IMO-No 9999993',
  'IMO number: 9999993',
  'IMO: 9999993',
  'Bunkers (IMO#9999993)',
  'ＩＭＯ ９９９９９９３ IMO',
]
const otherNumbers = [
  '9999993',
  'Invoice 9999993',
  'IMO 9074729',
  'IMO 9999994',
  'IMO 99999930',
  'Kimo 9999993',
  'IMO class 3, order 9999993',
]
const names = [
  'MV Northern Velmora',
  'M/V NORTHERN VELMORA voy 3',
  'm.v. northern-velmora',
  'vessel name: Northern Velmora',
  "the ship's name is Oriental",
  'freight of the tanker Oriental to Lagos',
  'Oriental (tanker)',
  'Fracht Schiff Oriental',
  'pétrolier Oriental',
  'mt Oriental',
]
const otherTexts = [
  'Oriental carpets',
  'Northern Velmora',
  'shipment Oriental',
  'Oriental shipping company',
  'vessel of Oriental',
  'MV Northern Star',
  'ship WEAK',
  'ship XY',
  'vessel 2000',
  'aircraft Oriental',
  'ship EP-QQQ',
]
for (const [title, expected, texts] of [
  ['a listed number is found', ['velmora 100'], numbers],
  ['a listed name is found', ['velmora 90'], names],
  ['a vessel is not found', [], [...otherNumbers, ...otherTexts]],
] as const)
  for (const text of texts) test(`${title} in "${text}"`, () => assert.deepEqual(found(text), expected))

test('vessel names are compared without spaces, and aircraft names only next to a word for an aircraft', () => {
  assert.deepEqual(found('MV ArgoI'), ['argo 90'])
  assert.deepEqual(found('lease of aircraft EP-QQQ'), ['plane 90'])
  assert.deepEqual(found('MV Oriental and ship Argo I'), ['velmora 90', 'argo 90'])
})

test('an IMO number outweighs the name of the same vessel', () =>
  assert.deepEqual(found('MV Oriental, IMO 9999993'), ['velmora 100']))

test('only texts that may name a vessel are selected, each in one line', () => {
  assert.equal(craftText([null, undefined, 'Invoice 42', 'Relationship', '']), null)
  assert.equal(craftText(['MV\nOriental', 'Invoice 42', 'MV Oriental', 'imo 1']), 'MV Oriental\nimo 1')
})
