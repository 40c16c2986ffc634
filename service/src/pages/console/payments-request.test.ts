/** Parsing of typed amounts and days, and the targets of links after the sign-in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayStart, pathWithQuery, readAmount, safeNextPath } from '../kit/request.ts'

test('an amount has two decimal places, and may have group separators only if it can be read in one way', () => {
  const read = ['1250', '12.5', ' 12,50 ', '0', '0.01', '1.250,00', '1,250.00', '7.500.000,5'].map(readAmount)
  assert.deepEqual(read, ['1250', '12.5', '12.50', '0', '0.01', '1250.00', '1250.00', '7500000.5'])
  for (const text of ['1.250.000', '1.25,00', '0.125,00', '1.250,000', '1,250,00', '12.50.000,00'])
    assert.equal(readAmount(text), undefined, text)
  for (const text of ['', '1,250', '1 250', '-1', '+1', '1e3', '007', '.5', '5.', '١', 'Infinity', '1.234'])
    assert.equal(readAmount(text), undefined, text)
})

test('a day begins at midnight UTC; other texts are left for the operation to refuse', () => {
  assert.equal(dayStart('2026-11-24'), '2026-11-24T00:00:00.000Z')
  assert.equal(dayStart('2026-12-31', 1), '2027-01-01T00:00:00.000Z')
  for (const text of ['2026-13-01', 'today', '2026-11-24T10:00']) assert.equal(dayStart(text), text)
})

test('a link to a reference leads back after the sign-in, and no other path does', () => {
  const reference = encodeURIComponent('Rent / November 100%')
  for (const path of [
    `transactions/${reference}`,
    'transactions/INV.1~2',
    pathWithQuery('payouts', { reference: 'a b+c' }),
  ])
    assert.equal(safeNextPath(path), path)
  for (const path of [
    '//evil.example',
    'transactions/../../x',
    'a/./b',
    'a/%2e%2e/b',
    'a/%2E%2E',
    'https://evil',
    'a\\b',
  ])
    assert.equal(safeNextPath(path), 'home', path)
})
