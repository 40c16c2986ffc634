import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { fingerprintOf, requirePaidBy, retryDelayAfter } from './rules.ts'

test('requests that ask for the same payout have one fingerprint', () => {
  const request = { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC', reference: 'R' } as const
  assert.equal(fingerprintOf(request), fingerprintOf({ ...request, beneficiaryId: 'abc' }))
  const others = [
    { ...request, amount: 101n },
    { ...request, currency: 'GBP' as const },
    { ...request, beneficiaryId: 'abd' },
    { ...request, reference: 'S' },
    { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC' } as const,
    { amount: 100n, currency: 'EUR', customerId: 'ABC', reference: 'R' } as const,
  ]
  assert.equal(new Set([request, ...others].map(fingerprintOf)).size, others.length + 1)
})

test('retry delays grow up to the last one', () => {
  const delays = Array.from({ length: 300 }, (_, index) => retryDelayAfter(index + 1))
  assert.deepEqual(
    delays,
    delays.toSorted((a, b) => a - b),
  )
  assert.deepEqual([delays[0], delays.at(-1)], [1000, 300_000])
})

test('an operation pays fiat money or tokens, and refuses the others', () => {
  requirePaidBy('createFiatPayout', 'GBP')
  requirePaidBy('createTokenPayout', 'EURC')
  for (const [operation, currency] of [
    ['createFiatPayout', 'USDC'],
    ['createFxPayout', 'EURC'],
    ['createTokenPayout', 'EUR'],
  ] as const)
    assert.throws(
      () => requirePaidBy(operation, currency),
      (error) => error instanceof Refusal && error.code === 'currency_not_supported',
    )
})
