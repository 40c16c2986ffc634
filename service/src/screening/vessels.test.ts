/** Texts that name a listed vessel or aircraft, and texts that do not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isImoNumber, readImoNumber } from './lists/imo.ts'
import { craftText, createCraftIndex } from './vessels.ts'

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

test('the last digit of an IMO number checks the others', () => {
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

for (const text of [
  'IMO 9999993',
  'freight IMO9999993, voyage 7',
  'imo no. 9999993',
  'IMO-No 9999993',
  'IMO number: 9999993',
  'IMO: 9999993',
  'Bunkers (IMO#9999993)',
  'ＩＭＯ ９９９９９９３ IMO',
])
  test(`a listed number is found in "${text}"`, () => assert.deepEqual(found(text), ['velmora 100']))

for (const text of [
  '9999993',
  'Invoice 9999993',
  'IMO 9074729',
  'IMO 9999994',
  'IMO 99999930',
  'Kimo 9999993',
  'IMO class 3, order 9999993',
])
  test(`no listed number is found in "${text}"`, () => assert.deepEqual(found(text), []))

for (const text of [
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
])
  test(`a listed name is found in "${text}"`, () => assert.deepEqual(found(text), ['velmora 90']))

for (const text of [
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
])
  test(`no listed name is found in "${text}"`, () => assert.deepEqual(found(text), []))

test('names are compared without their spaces, and an aircraft beside a word for one', () => {
  assert.deepEqual(found('MV ArgoI'), ['argo 90'])
  assert.deepEqual(found('lease of aircraft EP-QQQ'), ['plane 90'])
  assert.deepEqual(found('MV Oriental and ship Argo I'), ['velmora 90', 'argo 90'])
})

test('a number counts more than the name of the same vessel', () =>
  assert.deepEqual(found('MV Oriental, IMO 9999993'), ['velmora 100']))

test('only texts that may name a vessel are kept, each in one line', () => {
  assert.equal(craftText([null, undefined, 'Invoice 42', 'Relationship', '']), null)
  assert.equal(craftText(['MV\nOriental', 'Invoice 42', 'MV Oriental', 'imo 1']), 'MV Oriental\nimo 1')
})
