import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FieldErrorCode, type ProblemCode, rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import { amountMajorMax, amountText, currencies, type Currency, isFiat, writeAmount } from '../money.ts'
import { readAmount, readCurrency } from './amounts.ts'
import { Refusal } from './refusal.ts'

const currency = fc.constantFrom(...(Object.keys(currencies) as Currency[]))
const unit = (code: Currency) => 10n ** BigInt(currencies[code].digits)
const minor = currency.chain((code) =>
  fc.record({ code: fc.constant(code), amount: fc.bigInt({ min: 1n, max: amountMajorMax * unit(code) }) }),
)
const read = (text: string, code: Currency = 'EUR') => readAmount(rawNumber(text), code, '/here')

function refused(
  work: () => unknown,
  pointer: string,
  code: FieldErrorCode,
  problem: ProblemCode = 'validation_failed',
) {
  assert.throws(work, (error) => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.errors.map((one) => [one.pointer, one.code])], [problem, [[pointer, code]]])
    return true
  })
}

test('an amount that is written and read again is the same, in every currency', () => {
  fc.assert(
    fc.property(minor, ({ code, amount }) => {
      assert.equal(readAmount(writeAmount(amount, code), code), amount)
      assert.equal(JSON.stringify(writeAmount(amount, code)), amountText(amount, code))
    }),
  )
})

test('every spelling of an amount within the digits of its currency gives the same amount', () => {
  fc.assert(
    fc.property(minor, fc.nat(12), ({ code, amount }, shift) => {
      const { digits } = currencies[code]
      // Moves the decimal point to the left and compensates with the exponent.
      const text = amount.toString().padStart(digits + shift + 1, '0')
      const at = text.length - digits - shift
      assert.equal(read(`${BigInt(text.slice(0, at))}.${text.slice(at)}e${shift}`, code), amount)
    }),
  )
})

test('the text of an amount has all digits of its currency, and a sign if it is negative', () => {
  assert.deepEqual(
    [0n, 1n, -1n, 1234n, -100n].map((amount) => amountText(amount, 'EUR')),
    ['0.00', '0.01', '-0.01', '12.34', '-1.00'],
  )
  assert.equal(amountText(1n, 'USDC'), '0.000001')
})

test('reads amounts at the limits', () => {
  const given: readonly (readonly [string, bigint])[] = [
    ['0.01', 1n],
    ['10000000', 1_000_000_000n],
    ['10000000.00', 1_000_000_000n],
    ['1e7', 1_000_000_000n],
    ['1.5E+1', 1500n],
    ['1e-2', 1n],
    ['0.1', 10n],
  ]
  for (const [text, amount] of given) assert.equal(read(text), amount, text)
  assert.equal(readAmount(250, 'EUR'), 25_000n)
})

test('refuses, with the pointer: zero, negative, too large, too many digits', () => {
  for (const text of ['0', '0.00', '-0', '0e5', '-1', '-0.01', '10000000.01', '1e8', '1e99', '1e999', '1e-999'])
    refused(() => read(text), '/here', text === '1e-999' ? 'too_precise' : 'out_of_range')
  for (const text of ['0.001', '1.000', '12.345', '1e-3', '10.50e-1']) refused(() => read(text), '/here', 'too_precise')
  refused(() => read('0.0000001', 'USDC'), '/here', 'too_precise')
  refused(() => readAmount(-5, 'EUR'), '/amount', 'out_of_range')
})

test('the length and the exponent of a literal are bounded', () => {
  refused(() => read(`0.${'0'.repeat(100_000)}1`), '/here', 'out_of_range')
  refused(() => read('1e999999999'), '/here', 'out_of_range')
})

test('does not round amounts that a double cannot represent', () => {
  assert.equal(read('9999999.99'), 999_999_999n)
  assert.equal(read('9007199.254740', 'USDC'), 9_007_199_254_740n)
  assert.equal(read('0.29'), 29n)
})

test('tells supported currencies, unsupported currencies and other codes apart', () => {
  assert.equal(readCurrency('EUR'), 'EUR')
  refused(() => readCurrency('JPY'), '/currency', 'invalid_value', 'currency_not_supported')
  for (const code of ['XXX', 'XTS', 'ABC', 'toString', '__proto__'])
    refused(() => readCurrency(code, '/it'), '/it', 'invalid_value')
  assert.deepEqual([isFiat('EUR'), isFiat('USDC'), isFiat('constructor')], [true, false, false])
})
