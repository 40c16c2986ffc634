/** Tests which names belong to one person. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNoName, isSamePerson, tidyName } from './persons.ts'

test('a blank, another case, an invisible character, an accent and a look-alike make no second person', () => {
  for (const other of [
    'Sam Staff ',
    ' sam  STAFF',
    'Sam\u00a0Staff',
    'Sam\u200bStaff',
    'Ｓａｍ Ｓｔａｆｆ',
    'Sám Stáff',
    'Ѕаm Ѕtаff',
    'SΑM STΑFF',
    'Sam\u00adStaff',
  ])
    assert.equal(isSamePerson('Sam Staff', other), true, JSON.stringify(other))
  for (const other of ['Sam Stuff', 'Pam Staff', 'Sam Staff 2', 'Сам Стафф'])
    assert.equal(isSamePerson('Sam Staff', other), false, other)
})

test('a name of blanks and invisible characters is none, and a stored name has single blanks', () => {
  for (const blank of ['', ' ', '\t\n', '\u200b\u2060', '\u00a0']) assert.equal(isNoName(blank), true)
  assert.equal(tidyName('  Sam\u00a0\u200b Staff\n'), 'Sam Staff')
})
