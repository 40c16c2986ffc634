import assert from 'node:assert/strict'
import { test } from 'node:test'
import { payouts } from '@partner-payments/wire'
import { Refusal } from '../../api/index.ts'
import {
  holdsReserve,
  mayMove,
  type PayoutStatus,
  railOf,
  requireFiat,
  restAfter,
  sameness,
  sendAttemptsMax,
} from './rules.ts'

const moves: Readonly<Record<PayoutStatus, string>> = {
  Pending: 'Processing Failed',
  PendingApproval: 'Pending Cancelled',
  Processing: 'Sent Failed',
  Sent: 'Completed Failed Returned',
  Completed: 'Returned',
  Failed: '',
  Returned: '',
  Cancelled: '',
}

test('each move that is there, and no other', () => {
  for (const from of payouts.payoutStatuses)
    for (const to of payouts.payoutStatuses)
      assert.equal(mayMove(from, to), moves[from].split(' ').includes(to), `${from} -> ${to}`)
})

test('the money is set aside until it is gone or free: wherever a payout is not at its end', () => {
  const held = payouts.payoutStatuses.filter(holdsReserve)
  assert.deepEqual(held, ['Pending', 'PendingApproval', 'Processing', 'Sent'])
})

test('two requests are the same when they ask for the same', () => {
  const request = { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC', reference: 'R' } as const
  assert.equal(sameness(request), sameness({ ...request, beneficiaryId: 'abc' }))
  const others = [
    { ...request, amount: 101n },
    { ...request, currency: 'GBP' as const },
    { ...request, beneficiaryId: 'abd' },
    { ...request, reference: 'S' },
    { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC' } as const,
    { amount: 100n, currency: 'EUR', customerId: 'ABC', reference: 'R' } as const,
  ]
  assert.equal(new Set([request, ...others].map(sameness)).size, others.length + 1)
})

test('rests grow, and the last is kept', () => {
  const rests = Array.from({ length: sendAttemptsMax }, (_, index) => restAfter(index + 1))
  assert.deepEqual(
    rests,
    rests.toSorted((a, b) => a - b),
  )
  assert.deepEqual([rests[0], rests.at(-1)], [1000, 300_000])
})

test('euro goes by SEPA, the rest by SWIFT, tokens not at all', () => {
  assert.deepEqual([railOf('EUR'), railOf('USD')], ['Sepa', 'Swift'])
  requireFiat('GBP')
  assert.throws(
    () => requireFiat('USDC'),
    (error) => error instanceof Refusal && error.code === 'currency_not_supported',
  )
})
