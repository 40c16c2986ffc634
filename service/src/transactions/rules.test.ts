import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transactions } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { isAllowedTransition, parseAmountRange, prefixRange } from './rules.ts'

test('Pending leads to each of the four final statuses, and a final status never changes', () => {
  for (const from of transactions.transactionStatuses)
    for (const to of transactions.transactionStatuses)
      assert.equal(isAllowedTransition(from, to), from === 'Pending' && to !== 'Pending', `${from} -> ${to}`)
})

test('the range of a prefix ends before the next text of its length, in the order of code points', () => {
  const cases = [
    { prefix: 'INV-', before: 'INV.' },
    { prefix: 'a', before: 'b' },
    { prefix: 'caf\u00e9', before: 'caf\u00ea' },
    { prefix: '\u{1f600}', before: '\u{1f601}' },
    // Surrogates are no characters of UTF-8.
    { prefix: 'x\ud7ff', before: 'x\ue000' },
    { prefix: 'x\u{10ffff}', before: 'y' },
    { prefix: '\u{10ffff}', before: null },
  ]
  for (const { prefix, before } of cases) assert.deepEqual(prefixRange(prefix), { from: prefix, before })
  assert.deepEqual(prefixRange('100%_'), { from: '100%_', before: '100%`' })
})

test('amounts are read exactly, and an impossible range is refused with its pointer', () => {
  const euros = { currency: 'EUR' }
  assert.deepEqual(parseAmountRange({ ...euros, amountMin: '0.1', amountMax: '12' }), {
    currency: 'EUR',
    amountMin: 10n,
    amountMax: 1200n,
  })
  assert.equal(parseAmountRange({ currency: 'USDC', amountMin: '999999999999.999999' })?.amountMin, 999999999999999999n)
  assert.equal(parseAmountRange({ currency: 'JPY', amountMin: '1' }), undefined)
  const refusals = [
    { query: { amountMin: '1' }, pointer: '/query/currency' },
    { query: { amountMax: '1' }, pointer: '/query/currency' },
    { query: { ...euros, amountMin: '1.005' }, pointer: '/query/amountMin' },
    { query: { ...euros, amountMax: '1.005' }, pointer: '/query/amountMax' },
    { query: { ...euros, amountMin: '2', amountMax: '1.99' }, pointer: '/query/amountMax' },
  ]
  for (const { query, pointer } of refusals)
    assert.throws(
      () => parseAmountRange(query),
      (error) => error instanceof Refusal && error.errors[0]?.pointer === pointer,
      pointer,
    )
})
