import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTypedAmounts } from './request.ts'

test('an amount is read in common notations, and as both values if two readings are possible', () => {
  const cases: readonly (readonly [text: string, amounts: readonly string[], currency?: string])[] = [
    ['7500', ['7500']],
    ['7.500,00', ['7500.00']],
    ['7,500.00 EUR', ['7500.00'], 'EUR'],
    ['eur 7500,5', ['7500.5'], 'EUR'],
    ['€ 7 500', ['7500'], 'EUR'],
    ['$7500', ['7500'], 'USD'],
    ["7'500.00", ['7500.00']],
    ['1.234.567,89', ['1234567.89']],
    ['1.234.567', ['1234567']],
    ['7.500', ['7500', '7.500']],
    ['0012,50', ['12.50']],
    ['0.000001 USDC', ['0.000001'], 'USDC'],
    ['12.50', ['12.50']],
  ]
  for (const [text, amounts, currency] of cases)
    assert.deepEqual(readTypedAmounts(text), { amounts, ...(currency === undefined ? {} : { currency }) }, text)
})

test('a text that is not an amount is undefined', () => {
  for (const text of [
    '',
    'Rent',
    'INV-2026-0042',
    '1,2,3',
    '1.2345.6',
    '12.',
    ',5',
    '-5',
    '1.234,567.8',
    'EUR',
    '1e5',
    'NL91ABNA',
  ])
    assert.deepEqual(readTypedAmounts(text).amounts, [], text)
  assert.deepEqual(readTypedAmounts('EUR 5 EUR').amounts, [])
  assert.deepEqual(readTypedAmounts('9'.repeat(40)).amounts, [])
})
