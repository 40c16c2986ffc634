import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTaxId, mod97, type TaxPayer } from './tax-ids.ts'

/** Numbers that the tax offices or public registers print as examples. */
const valid: Readonly<Record<string, readonly (readonly [TaxPayer, string])[]>> = {
  AT: [
    ['person', '59-119/9013'],
    ['business', 'ATU13585627'],
  ],
  BE: [
    ['person', '85.07.30-033 28'],
    ['business', 'BE 0428.759.497'],
    ['business', '428759497'],
  ],
  DE: [
    ['person', '86 095 742 719'],
    ['person', '47036892816'],
    ['business', 'DE136695976'],
  ],
  ES: [
    ['person', '54362315-K'],
    ['person', 'X-2482300W'],
    ['business', 'J99216582'],
    ['business', 'N0032484H'],
  ],
  FR: [
    ['person', '30 23 217 600 053'],
    ['business', '732 829 320'],
    ['business', 'FR 40 303 265 045'],
  ],
  GB: [
    ['person', '1955839661'],
    ['business', 'GB 980 7806 84'],
  ],
  IT: [
    ['person', 'RCCMNL83S18D969H'],
    ['business', 'IT 00743110157'],
  ],
  NL: [
    ['person', '1112.22.333'],
    ['business', 'NL004495445B01'],
  ],
  PL: [
    ['person', '44051401359'],
    ['business', 'PL 856-734-62-15'],
  ],
  PT: [
    ['person', '501 964 843'],
    ['business', 'PT501964843'],
  ],
}

test('valid numbers of every country with a rule are valid, also with separators', () => {
  for (const [country, numbers] of Object.entries(valid))
    for (const [payer, number] of numbers) {
      assert.equal(judgeTaxId(number, country, payer), 'valid', `${country} ${number}`)
      assert.equal(judgeTaxId(number.toLowerCase(), country, payer), 'valid')
    }
})

test('a number with another last character fails its check', () => {
  for (const [country, numbers] of Object.entries(valid))
    for (const [payer, number] of numbers) {
      const last = number.at(-1) ?? ''
      const other = /\d/.test(last) ? String((Number(last) + 1) % 10) : last === 'A' ? 'B' : 'A'
      const verdict = judgeTaxId(`${number.slice(0, -1)}${other}`, country, payer)
      // The last two digits of a Dutch number count businesses of one owner.
      if (number !== 'NL004495445B01') assert.equal(verdict, 'check_digits', `${country} ${number} -> ${other}`)
    }
})

test('a number of another form is no tax number, and a country without a rule is not judged', () => {
  for (const country of Object.keys(valid))
    for (const text of ['???', '', '12', 'ABCDEFGHIJKLMNOPQ'])
      assert.equal(judgeTaxId(text, country, 'business'), 'format')
  assert.equal(judgeTaxId('86095742719', 'DE', 'business'), 'format', 'the number of a person')
  for (const country of ['US', 'ZZ', undefined]) assert.equal(judgeTaxId('12-3456789', country, 'business'), undefined)
})

test('the remainder of MOD 97-10 is that of the whole number', () => {
  for (const text of ['529900T8BM49AURSDO55', '0', '97', 'Z9Z9'])
    assert.equal(
      mod97(text),
      Number(
        BigInt(
          Array.from(text)
            .map((character) => Number.parseInt(character, 36))
            .join(''),
        ) % 97n,
      ),
    )
})
