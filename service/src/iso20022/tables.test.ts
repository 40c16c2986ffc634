/** Tests the tables of reason codes and statuses, SEPA characters, and creditor references. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transactions } from '@partner-payments/wire'
import fc from 'fast-check'
import { explainReason, bankReasons, bankStatuses, findStatus } from './index.ts'
import { samplesFolder } from '../../../test/support/samples.ts'
import { sepaReference, sepaText } from './sepa-message.ts'
import { createRandom } from '../../../test/support/random.ts'
import { newReference, remitted } from '../../../test/support/remittances.ts'
import {
  formatCreditorReference,
  isCreditorReference,
  referencesInPayment,
  referencesInTexts,
} from './creditor-reference.ts'

test('every reason code has an error key of the contract and a sentence', () => {
  const codes = Object.keys(bankReasons)
  assert.ok(codes.length > 180, `${codes.length} codes`)
  for (const code of codes) {
    const { errorKey, details } = explainReason(code)
    assert.match(code, /^[A-Z0-9]{4}$/)
    assert.ok((transactions.errorKeys as readonly string[]).includes(errorKey), code)
    assert.match(details, /^[A-Z][^\n]*[a-z][^\n]* [^\n]*\.$/)
    assert.ok(details.split(' ').length <= 20, `${code}: ${details}`)
  }
})

/** EPC115-06 and EPC059-16: reason codes of SEPA Credit Transfer and SEPA Instant, their recalls and answers. */
const sepa =
  `AB05 AB06 AB07 AB08 AB09 AB10 AC01 AC03 AC04 AC06 AG01 AG02 AG03 AG09 AG10 AG11 AM02 AM04 AM05 AM09 AM23 ARDT
  BE01 BE04 BE05 BE06 BE07 BE08 CERI CNOR CURR CUST DNOR DT01 DUPL ED05 ERIN FF01 FOCR FR01 FRAD LEGL MD07 MS02 MS03 NARR NERI
  NOAS NOOR RC01 RC07 RF01 RR01 RR02 RR03 RR04 SL01 SL02 SL03 TECH TM01 UPAY`.split(/\s+/)
test('the reason codes of SEPA are listed', () =>
  assert.deepEqual(
    sepa.filter((code) => !Object.hasOwn(bankReasons, code)),
    [],
  ))

test('only refusals by the instant scheme itself allow a retry as a credit transfer', () => {
  const again = (code: string) => explainReason(code).retryAsCreditTransfer
  assert.deepEqual(
    ['AB05', 'AB08', 'AG03', 'AG10', 'AG11', 'AM02', 'AM23', 'CNOR', 'ED05', 'TM01'].filter((code) => !again(code)),
    [],
  )
  assert.deepEqual(
    ['AC01', 'AC04', 'AC06', 'AM04', 'AM05', 'BE04', 'DUPL', 'FR01', 'LEGL', 'MS03', 'RR04', 'XX99'].filter(again),
    [],
  )
})

test('an unlisted reason code counts as a rejection by the bank', () => {
  for (const code of ['XX99', '', 'toString', '__proto__', 'ac01'])
    assert.deepEqual(explainReason(code), {
      errorKey: 'BankRejection',
      details: 'The bank refused the payment.',
      retryAsCreditTransfer: false,
      isDuplicate: false,
    })
})

test('only settled, rejected and blocked statuses are final, and only payee checks have a result', () => {
  for (const [code, { meaning, isFinal, text, payee }] of Object.entries(bankStatuses)) {
    assert.equal(isFinal, ['settled', 'rejected', 'blocked'].includes(meaning), code)
    assert.equal(payee !== undefined, meaning === 'checked', code)
    assert.match(text, /^[A-Z].*\.$/, code)
  }
  assert.deepEqual(
    ['RCVC', 'RVMC', 'RVNM', 'RVNA', 'RVCM', 'RVNC', 'ACFC', 'ACIS', 'BLCK'].map((code) => findStatus(code)?.meaning),
    ['checked', 'checked', 'checked', 'checked', 'part', 'part', 'accepted', 'accepted', 'blocked'],
  )
  for (const code of ['', 'XXXX', 'toString', '__proto__']) assert.equal(findStatus(code), undefined)
})

test(
  'every status that a schema lists has a meaning',
  { skip: samplesFolder === undefined ? 'SAMPLES_DIR is not set: it has the official schemas' : false },
  () => {
    for (const version of ['03', '04', '05', '06', '07']) {
      const schema = readFileSync(
        join(samplesFolder ?? '', 'iso20022', 'schemas', `pain.002.001.${version}.xsd`),
        'utf8',
      )
      const lists = [...schema.matchAll(/name="Transaction\w*Status\dCode">([\s\S]*?)<\/xs:simpleType>/g)]
      const codes = lists.flatMap(([, list = '']) =>
        [...list.matchAll(/enumeration value="(\w+)"/g)].map(([, code = '']) => code),
      )
      assert.ok(codes.length > 5 || version > '05', version)
      for (const code of codes) assert.ok(findStatus(code), `${code} of version ${version}`)
    }
  },
)

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
suite('SEPA texts', () => {
  for (const [text, expected] of Object.entries(cases))
    test(JSON.stringify(text), () => assert.equal(sepaText(text, 140), expected))
})

suite('SEPA references', () => {
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
test('any text becomes a non-empty SEPA text within the length, and a second conversion changes nothing', () => {
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

const seed = 20_261_124
const referencesOf = (text: string) => referencesInTexts(text).flat()

test('a reference is built with its check digits, and other check digits are refused', () => {
  assert.equal(formatCreditorReference('539007547034'), 'RF18539007547034')
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

test('every part of a text with correct check digits is a candidate for the reference', () => {
  assert.deepEqual(referencesOf('RF657KW781YB8KJKC48X Jan'), ['RF657KW781YB8KJKC48X', 'RF657KW781YB8KJKC48XJAN'])
  assert.deepEqual(referencesOf('RechnungRF18 5390-0754  7034'), ['RF18539007547034'])
  assert.deepEqual(referencesOf('rf18\u00a05390\u200b07\u20115470 34, danke'), ['RF18539007547034'])
  assert.deepEqual(referencesOf('RF19 5390 0754 7034'), [])
  assert.deepEqual(referencesInTexts(null, '', 'RF RF18 nothing'), [])
})

test('the structured reference comes first, then the end-to-end id and the text of the booking', () => {
  const detail = {
    references: { endToEndId: 'RF18539007547034' },
    charges: [],
    remittance: { unstructured: ['Frau'], structured: [{ creditorReference: 'RF657KW781YB8KJKC48X' }] },
  }
  assert.deepEqual(referencesInPayment(detail, undefined), [['RF657KW781YB8KJKC48X'], ['RF18539007547034']])
  assert.deepEqual(referencesInPayment(undefined, 'RF18539007547034'), [['RF18539007547034']])
  assert.deepEqual(referencesInPayment({ references: {}, charges: [] }, undefined), [])
})

test('each of 100,000 payments matches its own reference and no other known reference', () => {
  const random = createRandom(seed)
  const known = new Set(Array.from({ length: 10_000 }, () => newReference(random)))
  const list = [...known] as [string, ...string[]]
  const wrong: unknown[] = []
  let candidates = 0
  for (let count = 0; count < 100_000; count += 1) {
    const { reference, detail, information } = remitted(random, random.pick(list))
    const named = referencesInPayment({ charges: [], ...detail }, information)
    candidates += named.flat().length
    const found = named.map((references) => references.filter((one) => known.has(one))).find((some) => some.length > 0)
    if (found?.length !== 1 || found[0] !== reference) wrong.push({ count, reference, found, detail, information })
  }
  assert.deepEqual(wrong.slice(0, 3), [])
  assert.ok(candidates < 100_000 * 5, `${candidates} look-ups`)
})

test('a hostile text yields a limited number of candidates and keeps the structured reference', () => {
  const random = createRandom(seed)
  const line = () => Array.from({ length: 6 }, () => newReference(random)).join('')
  const unstructured = Array.from({ length: 2000 }, line)
  const detail = {
    references: {},
    charges: [],
    remittance: { unstructured, structured: [{ creditorReference: 'RF18539007547034' }] },
  }
  const [structured, texts, ...others] = referencesInPayment(detail, unstructured.join(''))
  assert.deepEqual(structured, ['RF18539007547034'])
  assert.equal(texts?.length, 200)
  assert.deepEqual(others, [])
})

test('a reference at the end of a hundred full lines is found', () => {
  const unstructured = [
    ...Array.from({ length: 100 }, () => 'RF12 invoice '.repeat(11).slice(0, 140)),
    'RF18539007547034',
  ]
  const named = referencesInPayment({ references: {}, charges: [], remittance: { unstructured } }, undefined)
  assert.ok(named.flat().includes('RF18539007547034'))
})
