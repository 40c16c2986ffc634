import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { effects, fits, type TransferKind } from './rules.ts'

const kinds = ['direct', 'reserve', 'post', 'release'] as const satisfies readonly TransferKind[]
const amount = fc.bigInt({ min: 1n, max: 10n ** 15n })

test('no kind of transfer creates or destroys posted money', () => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), amount, (kind, cents) => {
      const { debit, credit } = effects(kind, cents)
      assert.equal(debit.posted + credit.posted, 0n)
      assert.equal(credit.reserved, 0n)
    }),
  )
})

test('reserve and post equal a direct transfer; reserve and release change nothing', () => {
  const sum = (cents: bigint, ...parts: readonly TransferKind[]) =>
    parts
      .map((kind) => effects(kind, cents).debit)
      .reduce((a, b) => ({ posted: a.posted + b.posted, reserved: a.reserved + b.reserved }))
  fc.assert(
    fc.property(amount, (cents) => {
      assert.deepEqual(sum(cents, 'reserve', 'post'), effects('direct', cents).debit)
      assert.deepEqual(sum(cents, 'reserve', 'release'), { posted: 0n, reserved: 0n })
    }),
  )
})

test('a balance falls to its reserved part and no lower; a system account has no lower limit', () => {
  const out = effects('direct', 10n).debit
  const reserve = effects('reserve', 10n).debit
  assert.deepEqual(
    [
      fits('balance', { posted: 10n, reserved: 0n }, out),
      fits('balance', { posted: 9n, reserved: 0n }, out),
      fits('balance', { posted: 15n, reserved: 6n }, out),
    ],
    [true, false, false],
  )
  assert.deepEqual(
    [fits('balance', { posted: 15n, reserved: 5n }, reserve), fits('balance', { posted: 15n, reserved: 6n }, reserve)],
    [true, false],
  )
  assert.ok(fits('settlement.sandbox', { posted: 0n, reserved: 0n }, out))
  assert.ok(
    !fits('balance', { posted: 20n, reserved: 5n }, effects('release', 10n).debit),
    'a release cannot exceed the reserved part',
  )
})
