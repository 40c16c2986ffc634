import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameToken, normaliseName, prefixesOf, searchedPrefix } from './names.ts'

test('a normalised name has Latin letters, digits and single spaces', () => {
  for (const [name, expected] of [
    ['  Müller-Østby,  Jørgen ', 'muller ostby jorgen'],
    ['Müller', 'muller'],
    ['STRAẞE', 'strasse'],
    ["O'Brien & Söhne GmbH", 'o brien sohne gmbh'],
    ['Łukasz Żółć', 'lukasz zolc'],
    ['Иван', 'ivan'],
    ['İstanbul', 'istanbul'],
    ['---', ''],
  ] as const)
    assert.equal(normaliseName(name), expected, name)
  assert.equal(normaliseName('Zoe\u0308'), normaliseName('Zo\u00eb'), 'composed or not')
})

test('the prefixes of a name begin at each of its words and have 2 to 12 characters', () => {
  assert.deepEqual([...prefixesOf({ fullName: 'Ada Lo' })].toSorted(), ['ad', 'ada', 'ada l', 'ada lo', 'lo'])
  const long = prefixesOf({ legalName: 'Analytical Engines' })
  assert.deepEqual([long.includes('analytical e'), long.includes('analytical en')], [true, false])
  assert.deepEqual(prefixesOf({}), [])
  assert.deepEqual(prefixesOf({ fullName: 'X', city: 'London', uboLastName1: 'Byron' }), [])
  assert.deepEqual(prefixesOf({ fullName: 'Ada', tradingName: 'ADA' }).toSorted(), ['ad', 'ada'])
})

test('a name of the greatest length has a bounded number of prefixes', () => {
  const name = 'ab '.repeat(46).trim()
  assert.ok(prefixesOf({ fullName: name, legalName: name, tradingName: name }).length <= 8 * 11)
})

test('every search that the prefixes answer is found by its own text', () => {
  const prefixes = prefixesOf({ fullName: 'Augusta Ada King-Noël' })
  for (const text of ['aug', 'AUGUSTA ADA', 'ada k', 'king noe', 'Noël', 'king-noel', 'Augusta Ada King', 'ada '])
    assert.ok(prefixes.includes(searchedPrefix(text) ?? ''), text)
  for (const text of ['gusta', 'ada n', 'augusta king']) assert.ok(!prefixes.includes(searchedPrefix(text) ?? ''), text)
  for (const text of ['a', ' - ', '', 'é']) assert.equal(searchedPrefix(text), undefined)
})

test('a token is a signed number of 64 bits that depends on the key', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  assert.equal(nameToken(one, 'ada'), nameToken(one, 'ada'))
  assert.notEqual(nameToken(one, 'ada'), nameToken(two, 'ada'))
  assert.notEqual(nameToken(one, 'ada'), nameToken(one, 'adb'))
  assert.equal(BigInt.asIntN(64, BigInt(nameToken(one, 'ada'))).toString(), nameToken(one, 'ada'))
})
