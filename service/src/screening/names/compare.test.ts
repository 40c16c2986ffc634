/** A score says which words matched, and how. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareNames } from './compare.ts'
import { createNameIndex } from './index-of-names.ts'
import { editsBetween, likenessOf, soundOf } from './spelling.ts'
import { formsOf, plainName, wordsOf } from './words.ts'

const weighted = (name: string) => wordsOf(name).telling.map((word) => ({ word, weight: 1 }))
const compare = (name: string, listed: string) => compareNames(weighted(name), weighted(listed))

test('words are in Latin letters, without accents, and apart from particles, titles and legal forms', () => {
  assert.deepEqual(wordsOf('Dr. Жанна О’Коннор-Müller').telling, ['zhanna', 'okonnor', 'muller'])
  assert.deepEqual(wordsOf('Falzin Petroleum J.S.C. LLC'), {
    all: ['falzin', 'petroleum', 'j', 's', 'c', 'llc'],
    telling: ['falzin', 'petroleum'],
    others: [],
  })
  assert.deepEqual(wordsOf('习近').all, ['xi', 'jin'])
  assert.deepEqual(wordsOf('Abu al').telling, ['abu', 'al'])
  assert.deepEqual(wordsOf('…').all, [])
  assert.equal(plainName(' BORIS  Trémurov '), plainName('Boris Tremurov'))
})

test('neighbours of which one is short may be one word', () => {
  assert.deepEqual(formsOf(wordsOf('Ri Won Ho')), [
    { words: ['ri', 'won', 'ho'], isJoined: false },
    { words: ['riwon', 'ho'], isJoined: true },
    { words: ['ri', 'wonho'], isJoined: true },
  ])
})

test('spellings of one name in Latin letters sound alike', () => {
  for (const [one, other] of [
    ['muhammad', 'mohammed'],
    ['yevgeny', 'yevgenii'],
    ['mueller', 'müller'],
    ['ivanov', 'ivanoff'],
    ['sergei', 'sergey'],
    ['shevchenko', 'schewtschenko'],
  ] as const) {
    const [word, listed] = [one, other].map((name) => wordsOf(name).all[0] ?? '') as [string, string]
    assert.notEqual(likenessOf(word, listed), undefined, `${word} ${soundOf(word)}, ${listed} ${soundOf(listed)}`)
  }
  for (const [one, other] of [
    ['jan', 'jon'],
    ['anna', 'hana'],
    ['peter', 'ivan'],
    ['schmidt', 'schulz'],
  ] as const)
    assert.equal(likenessOf(one, other), undefined, `${one} ${other}`)
})

test('edits are counted up to a limit', () => {
  assert.equal(editsBetween('tremurov', 'tremruov', 2), 1)
  assert.equal(editsBetween('tremurov', 'termuro', 2), 2)
  assert.equal(editsBetween('tremurov', 'kashvand', 2), Infinity)
  assert.equal(editsBetween('', 'a', 1), 1)
})

test('the words of a comparison say how they matched', () => {
  const { score, isReordered, words } = compare('Tremuorv, B Miroslav', 'Borislav Tremurov')
  assert.equal(isReordered, true)
  assert.deepEqual(
    words.map(({ word, listed, how }) => [word, listed, how]),
    [
      ['b', 'borislav', 'initial'],
      ['tremuorv', 'tremurov', 'misspelt'],
      ['miroslav', null, 'additional'],
    ],
  )
  assert.ok(score > 60 && score < 82, String(score))
})

test('a legal form is left out in every spelling', () => {
  for (const name of [
    'Kashvand GmbH',
    'Kashvand Gesellschaft mit beschränkter Haftung',
    'Кашванд ООО',
    'Kashvand S.A. de C.V.',
    'Kashvand Comppany Limitd',
  ])
    assert.deepEqual(compare(name, 'Kashvand').score >= 88, true, name)
})

test('a given name and a surname find a longer name; a name of Arabic letters finds the Latin one', () => {
  for (const [name, listed] of [
    ['Nicolas Maduro', 'Nicolas Maduro Moros'],
    ['Sergei Kiriyenko', 'Sergei Vladilenovich Kiriyenko'],
    ['Рамзан Кадыров', 'Ramzan Akhmatovich Kadyrov'],
    ['خالد محمود', 'Khaled Mahmoud'],
  ] as const)
    assert.ok(compare(name, listed).score >= 88, `${name}: ${compare(name, listed).score}`)
  assert.ok(compare('Antonio Perez', 'Conrado Antonio Perez Linares').score < 88)
  assert.ok(compare('خالد محمود', 'Ahmed Hassan').score < 88)
})

test('the same words in any order are 100; one left out is less; another one is much less', () => {
  assert.deepEqual(compare('Tremurov Borislav', 'Borislav Tremurov').score, 100)
  const without = compare('Qadir Zhabari', 'Qadir Yusuf al-Zhabari')
  assert.equal(without.score, 94)
  assert.deepEqual(without.words.at(-1), { word: null, listed: 'yusuf', how: 'missing', likeness: 0, weight: 100 })
  assert.equal(compare('Qadir Omar Zhabari', 'Qadir Yusuf al-Zhabari').score, 66)
  assert.equal(compare('Grace Hopper', 'Borislav Tremurov').score, 0)
})

test('one typing error in the only word of a name is a hit from seven letters on', async () => {
  for (const [name, listed, isHit] of [
    ['Velmoara S.A.', 'Velmora S.A.', true],
    ['Velmroa S.A.', 'Velmora S.A.', true],
    ['Velmra GmbH', 'Velmira GmbH', false],
    ['Velmoora Shipping', 'Velmora Trading', false],
  ] as const) {
    const index = await createNameIndex([{ entry: listed, text: listed }], () => Promise.resolve())
    assert.equal(index.search(name, 88).length > 0, isHit, `${name}, ${listed}`)
  }
})
