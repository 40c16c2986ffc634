/** The transliteration to the characters of SEPA, as README.md of this folder states it. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { sepaReference, sepaText } from './sepa-text.ts'

const cases: Readonly<Record<string, string>> = {
  'Grace Hopper': 'Grace Hopper',
  'Müller & Söhne GmbH': 'Mueller + Soehne GmbH',
  'MÜLLER STRAßE': 'MUELLER STRAssE',
  'Österreich Übung': 'Oesterreich Uebung',
  'Mu\u0308ller': 'Mueller',
  'Łódź Žydrūnas Çelik Ñandú Ærø Ðóra': 'Lodz Zydrunas Celik Nandu Aero Dora',
  'Ελλάδα България': 'Ellada Balgariya',
  '100 % of 5 € "net" <now>': "100 pct of 5 EUR 'net' (now)",
  'a_b@example.com; c*d': 'a-b(at)example.com, c.d',
  '  spaces\t\n and   more ': 'spaces and more',
  'zero\u200bwidth': 'zerowidth',
  'https://example.com/a?b': 'https://example.com/a?b',
  '': 'NOTPROVIDED',
  '\u0000\u0001': 'NOTPROVIDED',
}
suite('texts', () => {
  for (const [text, expected] of Object.entries(cases))
    test(JSON.stringify(text), () => assert.equal(sepaText(text, 140), expected))
})

suite('references', () => {
  const references: Readonly<Record<string, string>> = {
    'INV-2026/1': 'INV-2026/1',
    '//INV//1///2/': 'INV/1/2',
    '/': 'NOTPROVIDED',
    'Rechnung Nr. 5 für März': 'Rechnung Nr. 5 fuer Maerz',
  }
  for (const [text, expected] of Object.entries(references))
    test(JSON.stringify(text), () => assert.equal(sepaReference(text), expected))
})

const set = /^[A-Za-z0-9/\-?:().,'+ ]+$/
test('any text becomes one of the set, of the length, not empty, and stays as it is the second time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.integer({ min: 1, max: 140 }), (text, charsMax) => {
      for (const [found, again] of [
        [sepaText(text, charsMax), sepaText(sepaText(text, charsMax), charsMax)],
        [sepaReference(text, charsMax), sepaReference(sepaReference(text, charsMax), charsMax)],
      ] as const) {
        assert.match(found, set)
        assert.ok(found.length <= charsMax)
        assert.equal(found, found.trim())
        assert.equal(again, found)
      }
      assert.doesNotMatch(sepaReference(text, charsMax), /^\/|\/$|\/\//)
    }),
    { numRuns: 2000, seed: 18 },
  )
})
