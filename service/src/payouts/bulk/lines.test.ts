import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineDigest } from './digest.ts'
import { lineColumns, parseLine, type TypedLine } from './lines.ts'

const cellsOf = (given: Partial<TypedLine['cells']>) =>
  ({ ...Object.fromEntries(lineColumns.map((column) => [column, ''])), ...given }) as TypedLine['cells']
const iban = 'DE89370400440532013000'
const right = { name: 'Ada Lovelace', iban, amount: '10', currency: 'EUR' }

/** The codes of the mistakes by column, or `right`. */
const judged = (given: Partial<TypedLine['cells']>): readonly string[] => {
  const read = parseLine({ cells: cellsOf(given) })
  return Array.isArray(read) ? read.map(({ column, code }) => `${column} ${code}`) : ['right']
}

test('amounts are parsed in the formats of several countries, and ambiguous amounts are refused', () => {
  const table: readonly (readonly [typed: string, minor: bigint | string])[] = [
    ['1234', 123_400n],
    ['1234,5', 123_450n],
    ['1234.56', 123_456n],
    ['1.234,56', 123_456n],
    ['1,234.56', 123_456n],
    ['1.234.567,89', 123_456_789n],
    ['1,234,567.89', 123_456_789n],
    ['1.234.567', 123_456_700n],
    ["1'234.50", 123_450n],
    ['1\u2019234.50', 123_450n],
    ['1\u00a0234,56', 123_456n],
    ['1\u202f234,56', 123_456n],
    ['1 234,56 €', 123_456n],
    ['€ 12.50', 1250n],
    ['12,50 EUR', 1250n],
    ['£7', 700n],
    ['0,01', 1n],
    ['12,500', 'amountAmbiguous'],
    ['1.234', 'amountAmbiguous'],
    ['1,234', 'amountAmbiguous'],
    ['1234,500', 123_450n],
    ['1.234,5678', 'amountDecimals'],
    ['0,005', 'amountDecimals'],
    ['0', 'amountRange'],
    ['0,00', 'amountRange'],
    ['10000000', 1_000_000_000n],
    ['10000000,01', 'amountRange'],
    ['', 'amountMissing'],
    ['EUR', 'amountMissing'],
    ['-5', 'amountNegative'],
    ['5,00-', 'amountNegative'],
    ['(5.00)', 'amountNegative'],
    ['\u22125', 'amountNegative'],
    ['1,23E+05', 'amountScientific'],
    ['1.2e5', 'amountScientific'],
    ['12,34,56', 'amountForm'],
    ['1,23.45', 'amountForm'],
    ['ten', 'amountForm'],
    ['5 apples', 'amountForm'],
    [`1${'0'.repeat(50)}`, 'amountForm'],
  ]
  for (const [typed, expected] of table) {
    const read = parseLine({ cells: cellsOf({ ...right, amount: typed }) })
    const found = 'amount' in read ? read.amount : read.map(({ code }) => code).join()
    assert.equal(found, expected, typed)
  }
})

test('accounts are parsed in every form, and each mistake has its code', () => {
  const table: readonly (readonly [given: Partial<TypedLine['cells']>, expected: readonly string[]])[] = [
    [right, ['right']],
    [{ ...right, iban: 'de89 3704 0044 0532 0130 00' }, ['right']],
    [{ ...right, iban: 'DE89370400440532013001' }, ['iban ibanCheckDigits']],
    [{ ...right, iban: 'DE8937040044053201300' }, ['iban ibanLength']],
    [{ ...right, iban: 'XX89370400440532013000' }, ['iban ibanCountry']],
    [{ ...right, iban: '532013000' }, ['iban ibanForm']],
    [{ ...right, iban: '5,57799E+21' }, ['iban accountScientific']],
    [{ ...right, iban: '', sortCode: '20-00-00', accountNumber: '55779911', currency: 'GBP' }, ['right']],
    [{ ...right, iban: '', sortCode: '200000', accountNumber: '5577991', currency: '£' }, ['right']],
    [{ ...right, iban: '', sortCode: '40004', accountNumber: '55779911', currency: 'GBP' }, ['sortCode sortCodeForm']],
    [
      { ...right, iban: '', sortCode: '200000', accountNumber: '', currency: 'GBP' },
      ['accountNumber accountNumberMissing'],
    ],
    [
      { ...right, iban: '', sortCode: '200000', accountNumber: '5,5779E+07', currency: 'GBP' },
      ['accountNumber accountScientific'],
    ],
    [{ ...right, iban: '', sortCode: '200000', accountNumber: '55779911' }, ['sortCode accountCurrency']],
    [{ ...right, iban: '', accountNumber: '55779911', currency: 'GBP' }, ['sortCode sortCodeMissing']],
    [{ ...right, sortCode: '200000' }, ['sortCode accountTwice']],
    [{ ...right, iban: '', routingNumber: '021000021', accountNumber: '12-345', currency: 'USD' }, ['right']],
    [
      { ...right, iban: '', routingNumber: '21000021', accountNumber: '1', currency: 'USD' },
      ['routingNumber routingForm'],
    ],
    [
      { ...right, iban: '', routingNumber: '021000022', accountNumber: '1', currency: 'USD' },
      ['routingNumber routingCheckDigit'],
    ],
    [{ ...right, name: '' }, ['name nameMissing']],
    [{ ...right, name: 'x'.repeat(141) }, ['name nameWrong']],
    [{ ...right, name: 'two\nlines' }, ['name nameWrong']],
    [{ amount: '10', currency: 'EUR' }, ['payee payeeMissing']],
    [{ amount: '10', currency: 'EUR', payee: 'landlord' }, ['right']],
    [{ amount: '10', currency: 'EUR', name: 'Ada' }, ['right']],
    [{ ...right, reference: 'x'.repeat(141) }, ['reference referenceWrong']],
    [{ ...right, reference: '..' }, ['reference referenceWrong']],
    [{ ...right, currency: 'eur' }, ['right']],
    [{ ...right, currency: '$' }, ['currency currencyUnknown']],
    [{ ...right, currency: 'USDC' }, ['currency currencyUnknown']],
    [
      { iban: 'x', amount: 'x' },
      ['amount amountForm', 'currency currencyMissing', 'iban ibanForm', 'name nameMissing'],
    ],
  ]
  for (const [given, expected] of table) assert.deepEqual(judged(given), expected, JSON.stringify(given))
})

test('the account in a line must match its saved payee', () => {
  const read = parseLine({ cells: cellsOf({ ...right, payee: 'landlord' }) })
  assert.ok(!Array.isArray(read) && 'payee' in read)
  assert.deepEqual(read.payee, { text: 'landlord', account: iban })
})

test('lines with the same payment have the same digest', () => {
  const line = {
    beneficiaryId: '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10',
    amount: 1250n,
    currency: 'EUR',
    reference: 'INV-2026/7',
  }
  const digest = lineDigest(line)
  assert.equal(lineDigest({ ...line, reference: 'inv 2026 7' }), digest)
  assert.equal(lineDigest({ ...line, beneficiaryId: line.beneficiaryId.toUpperCase() }), digest)
  for (const other of [{ reference: null }, { reference: 'INV-2026/8' }, { amount: 1251n }, { currency: 'GBP' }])
    assert.notEqual(
      lineDigest({ ...line, ...other }),
      digest,
      JSON.stringify(other, (_key, value: unknown) => String(value)),
    )
})
