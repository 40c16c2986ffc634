/** Creditor references in the texts of payments: none is lost, and none is another's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/conformance/hostile.ts'
import { newReference, remitted } from '../../../test/support/remittances.ts'
import { creditorReferenceOf, isCreditorReference, namedInPayment, namedInTexts } from './creditor-reference.ts'

const seed = 20_261_124
const referencesOf = (text: string) => namedInTexts(text).flat()

test('a reference is made with its check digits, and has no other ones', () => {
  assert.equal(creditorReferenceOf('539007547034'), 'RF18539007547034')
  assert.equal(isCreditorReference('RF18539007547034'), true)
  for (const wrong of ['RF19539007547034', 'RF18', 'rf18539007547034', 'RF18 539007547034', `RF18${'1'.repeat(22)}`])
    assert.equal(isCreditorReference(wrong), false, wrong)
  const random = createRandom(seed)
  for (let count = 0; count < 1000; count += 1) {
    const reference = newReference(random)
    assert.ok(isCreditorReference(reference), reference)
    assert.ok(referencesOf(reference).includes(reference), reference)
  }
})

test('every part of a text with right check digits may be the reference', () => {
  assert.deepEqual(referencesOf('RF657KW781YB8KJKC48X Jan'), ['RF657KW781YB8KJKC48X', 'RF657KW781YB8KJKC48XJAN'])
  assert.deepEqual(referencesOf('RechnungRF18 5390-0754  7034'), ['RF18539007547034'])
  assert.deepEqual(referencesOf('rf18\u00a05390\u200b07\u20115470 34, danke'), ['RF18539007547034'])
  assert.deepEqual(referencesOf('RF19 5390 0754 7034'), [])
  assert.deepEqual(namedInTexts(null, '', 'RF RF18 nothing'), [])
})

test('the structured reference comes first, and the texts of one booking of several are not its own', () => {
  const detail = {
    references: { endToEndId: 'RF18539007547034' },
    charges: [],
    remittance: { unstructured: ['Frau'], structured: [{ creditorReference: 'RF657KW781YB8KJKC48X' }] },
  }
  assert.deepEqual(namedInPayment(detail, undefined), [['RF657KW781YB8KJKC48X'], ['RF18539007547034']])
  assert.deepEqual(namedInPayment(undefined, 'RF18539007547034'), [['RF18539007547034']])
  assert.deepEqual(namedInPayment({ references: {}, charges: [] }, undefined), [])
})

test('of 100,000 payments each names the reference that it is about, and no other known one', () => {
  const random = createRandom(seed)
  const known = new Set(Array.from({ length: 10_000 }, () => newReference(random)))
  const list = [...known] as [string, ...string[]]
  const wrong: unknown[] = []
  let candidates = 0
  for (let count = 0; count < 100_000; count += 1) {
    const { reference, detail, information } = remitted(random, random.pick(list))
    const named = namedInPayment({ charges: [], ...detail }, information)
    candidates += named.flat().length
    const found = named.map((references) => references.filter((one) => known.has(one))).find((some) => some.length > 0)
    if (found?.length !== 1 || found[0] !== reference) wrong.push({ count, reference, found, detail, information })
  }
  assert.deepEqual(wrong.slice(0, 3), [])
  assert.ok(candidates < 100_000 * 5, `${candidates} look-ups`)
})

test('a hostile text of thousands of candidates has a bounded number, and the structured reference still counts', () => {
  const random = createRandom(seed)
  const line = () => Array.from({ length: 6 }, () => newReference(random)).join('')
  const unstructured = Array.from({ length: 2000 }, line)
  const detail = {
    references: {},
    charges: [],
    remittance: { unstructured, structured: [{ creditorReference: 'RF18539007547034' }] },
  }
  const [structured, texts, ...others] = namedInPayment(detail, unstructured.join(''))
  assert.deepEqual(structured, ['RF18539007547034'])
  assert.equal(texts?.length, 200)
  assert.deepEqual(others, [])
})

test('a reference at the end of a hundred full lines is found', () => {
  const unstructured = [
    ...Array.from({ length: 100 }, () => 'RF12 invoice '.repeat(11).slice(0, 140)),
    'RF18539007547034',
  ]
  const named = namedInPayment({ references: {}, charges: [], remittance: { unstructured } }, undefined)
  assert.ok(named.flat().includes('RF18539007547034'))
})
