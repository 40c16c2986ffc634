import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { effects, fits, type TransferKind } from './rules.ts'

const kinds = ['direct', 'reserve', 'post', 'release'] as const satisfies readonly TransferKind[]
const amount = fc.bigInt({ min: 1n, max: 10n ** 15n })

test('no kind of transfer makes or loses posted money', () => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), amount, (kind, cents) => {
      const { debit, credit } = effects(kind, cents)
      assert.equal(debit.posted + credit.posted, 0n)
      assert.equal(credit.reserved, 0n)
    }),
  )
})

test('a reserve and its end leave nothing set aside; posted it is a direct transfer, released it never was', () => {
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

test('a balance goes down to what is reserved and not below; a system account stands wherever it is put', () => {
  const out = effects('direct', 10n).debit
  const aside = effects('reserve', 10n).debit
  assert.deepEqual(
    [fits('balance', 10n, 0n, out), fits('balance', 9n, 0n, out), fits('balance', 15n, 6n, out)],
    [true, false, false],
  )
  assert.deepEqual([fits('balance', 15n, 5n, aside), fits('balance', 15n, 6n, aside)], [true, false])
  assert.ok(fits('settlement.sandbox', 0n, 0n, out))
  assert.ok(!fits('balance', 20n, 5n, effects('release', 10n).debit), 'more than is reserved cannot be released')
})
