/** Rules and the life cycle of payouts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { payoutFingerprint, requireSupportedCurrency, retryDelayAfter } from './rules.ts'
import { checkSoundness } from '../../../test/lifecycle/soundness.ts'
import type { Transition } from '../lifecycle/index.ts'
import { payoutLifecycle } from './lifecycle.ts'

test('requests for the same payout have the same fingerprint', () => {
  const request = { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC', reference: 'R' } as const
  assert.equal(payoutFingerprint(request), payoutFingerprint({ ...request, beneficiaryId: 'abc' }))
  const others = [
    { ...request, amount: 101n },
    { ...request, currency: 'GBP' as const },
    { ...request, beneficiaryId: 'abd' },
    { ...request, reference: 'S' },
    { amount: 100n, currency: 'EUR', beneficiaryId: 'ABC' } as const,
    { amount: 100n, currency: 'EUR', customerId: 'ABC', reference: 'R' } as const,
  ]
  assert.equal(new Set([request, ...others].map(payoutFingerprint)).size, others.length + 1)
})

test('retry delays grow up to a maximum', () => {
  const delays = Array.from({ length: 300 }, (_, index) => retryDelayAfter(index + 1))
  assert.deepEqual(
    delays,
    delays.toSorted((a, b) => a - b),
  )
  assert.deepEqual([delays[0], delays.at(-1)], [1000, 300_000])
})

test('an operation pays either fiat money or tokens', () => {
  requireSupportedCurrency('createFiatPayout', 'GBP')
  requireSupportedCurrency('createTokenPayout', 'EURC')
  for (const [operation, currency] of [
    ['createFiatPayout', 'USDC'],
    ['createFxPayout', 'EURC'],
    ['createTokenPayout', 'EUR'],
  ] as const)
    assert.throws(
      () => requireSupportedCurrency(operation, currency),
      (error) => error instanceof Refusal && error.code === 'currency_not_supported',
    )
})

/** Every transition that leaves a status. Written by hand: a change of the table is a change here. */
const expected: Readonly<Record<string, readonly string[]>> = {
  Pending: ['begin -> Processing', 'stop -> Failed', 'cancel -> Cancelled'],
  PendingApproval: ['approve -> Pending', 'decline -> Cancelled', 'lapse -> Cancelled', 'cancel -> Cancelled'],
  Processing: ['retry -> Processing', 'send -> Sent', 'refuse -> Failed'],
  Sent: ['settle -> Completed', 'reject -> Failed', 'return -> Returned'],
  Completed: ['refund -> Returned'],
  Failed: [],
  Returned: ['confirm -> Returned'],
  Cancelled: [],
}
const rows: readonly (readonly [string, Transition])[] = Object.entries(payoutLifecycle.transitions)

test('each status has exactly these transitions', () => {
  const leaving = (status: string) =>
    rows.filter(([, { from }]) => from.includes(status)).map(([name, { to }]) => `${name} -> ${to}`)
  assert.deepEqual(Object.fromEntries(payoutLifecycle.statuses.map((status) => [status, leaving(status)])), expected)
})

test('a payout keeps its reserve in exactly the unfinished statuses', () => {
  const states = checkSoundness(payoutLifecycle)
  const held = [...states]
    .filter(([, each]) => each.some(({ reserve }) => reserve === 'held'))
    .map(([status]) => status)
  assert.deepEqual(held, ['Pending', 'Processing', 'Sent', 'PendingApproval'])
})

test('only the worker sends an instruction, and only the bank settles', () => {
  const by = (actor: string) => rows.filter(([, row]) => row.by.some((each) => each === actor)).map(([name]) => name)
  assert.deepEqual(by('worker'), ['begin', 'stop', 'retry', 'send', 'refuse'])
  assert.deepEqual(by('bank'), ['cancel', 'send', 'settle', 'reject', 'return', 'refund', 'confirm'])
  assert.deepEqual(by('partner'), ['accept', 'hold', 'approve', 'decline', 'cancel'])
  assert.deepEqual(by('operator'), ['cancel'])
  assert.deepEqual(by('time'), ['lapse'])
})
