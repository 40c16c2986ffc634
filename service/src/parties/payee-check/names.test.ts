import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareNames, type NameResult } from './names.ts'

const cases: Readonly<Record<NameResult, readonly (readonly [given: string, actual: string])[]>> = {
  Match: [
    ['Ada Lovelace', 'ADA  LOVELACE'],
    ['Lovelace, Ada', 'Ada Lovelace'],
    ['Dr. Ada Lovelace', 'Ada Lovelace'],
    ['Jürgen Müller', 'Juergen Mueller'],
    ['Jürgen Müller', 'Jurgen Muller'],
    ['Søren Åkesson', 'Soeren Aakesson'],
    ['José Ñandú', 'Jose Nandu'],
    ['Jean-Pierre Blanc', 'Jean Pierre Blanc'],
    ['Jeanpierre Blanc', 'Jean-Pierre Blanc'],
    ["Sinéad O'Neill", 'Sinead ONeill'],
    ['Наталья Иванова', 'Natalia Ivanova'],
    ['Γιώργος Παππάς', 'Giorgos Pappas'],
    ['Straße 7 GmbH', 'STRASSE 7 G.m.b.H.'],
    ['Acme Limited', 'Acme Ltd.'],
    ['Acme', 'Acme B.V.'],
    ['Łukasz Wałęsa', 'Lukasz Walesa'],
  ],
  CloseMatch: [
    ['A. Lovelace', 'Ada Lovelace'],
    ['Ada Lovelace', 'Ada Augusta Lovelace'],
    ['Ada A. Lovelace', 'Ada Augusta Lovelace'],
    ['Ada Lovelase', 'Ada Lovelace'],
    ['Ada Loevlace', 'Ada Lovelace'],
    ['Acme GmbH', 'Acme AG'],
    ['Siemens', 'Simens'],
  ],
  NoMatch: [
    ['Ada Lovelace', 'Grace Hopper'],
    ['Ada', 'Ada Lovelace'],
    ['Lovelace', 'Ada Lovelace'],
    ['A. L.', 'Ada Lovelace'],
    ['Ada Hopper', 'Ada Lovelace'],
    ['Tim Lovelace', 'Kim Lovelace'],
    ['Adam Lovelase', 'Ada Lovelace'],
    ['Acme', 'Acne Studios'],
  ],
}
for (const [result, pairs] of Object.entries(cases))
  for (const [given, actual] of pairs)
    test(`${result}: ${given} for ${actual}`, () => {
      assert.equal(compareNames(given, actual), result)
      assert.equal(compareNames(actual, given), result, 'in both directions')
    })

test('names without a letter that can be compared are not compared', () => {
  for (const name of ['', ' . ', '北京', '---']) {
    assert.equal(compareNames(name, 'Ada Lovelace'), undefined)
    assert.equal(compareNames('Ada Lovelace', name), undefined)
  }
})

test('every name matches itself in any order of its words, and the result has no direction', () => {
  // Shorter words are often legal forms or titles, such as `as` and `dr`, whose place matters.
  const word = fc.stringMatching(/^[a-zäöüßéñ]{5,12}$/)
  const name = fc.array(word, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(name, name, (one, other) => {
      assert.equal(compareNames(one.join(' '), one.toReversed().join(' ').toUpperCase()), 'Match')
      const [given, actual] = [one.join(' '), other.join(' ')]
      assert.equal(compareNames(given, actual), compareNames(actual, given))
    }),
  )
})
