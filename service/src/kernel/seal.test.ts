import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AssertionFailure, createSealer, deriveKey } from './seal.ts'
import { randomBytes } from './ids.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = createSealer([older])
const context = ['customers.kyc', 'partner', 'row']

test('every text opens for its context, and two seals of it differ', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.uuid()), (plain, names) => {
      const sealed = sealer.seal(plain, names)
      assert.equal(sealer.open(sealed, names), plain)
      assert.notDeepEqual(sealer.seal(plain, names), sealed)
    }),
  )
})

test('a sealed value does not open for another row, column or partner', () => {
  const sealed = sealer.seal('secret', context)
  for (const other of [['customers.kyc', 'partner', 'other row'], ['customers.kyc', 'partner'], [...context, ''], []])
    assert.throws(() => sealer.open(sealed, other), AssertionFailure, other.join())
})

test('each seal has its own stable mark, also for the same text', () => {
  const seals = Array.from({ length: 100 }, () => sealer.seal('secret', context))
  assert.equal(new Set(seals.map(sealer.mark)).size, seals.length)
  for (const sealed of seals) assert.equal(sealer.mark(Buffer.from(sealed)), sealer.mark(sealed))
})

test('a sealed value that was changed or truncated does not open', () => {
  const sealed = sealer.seal('secret', context)
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at)
    assert.throws(() => sealer.open(changed, context), AssertionFailure, `byte ${at}`)
    assert.throws(() => sealer.open(sealed.subarray(0, at), context), AssertionFailure, `cut at ${at}`)
  }
})

test('after a rotation the new key seals and both open; a removed key opens nothing', () => {
  const rotated = createSealer([newer, older])
  const [before, since] = [sealer.seal('old', context), rotated.seal('new', context)]
  assert.deepEqual([rotated.open(before, context), rotated.open(since, context)], ['old', 'new'])
  assert.throws(() => sealer.open(since, context), /not configured/)
  assert.throws(() => createSealer([newer]).open(before, context), /not configured/)
})

test('requires at least one master key, of 32 bytes', () => {
  for (const keys of [[], [randomBytes(31)], [older, randomBytes(16)]])
    assert.throws(() => createSealer(keys), AssertionFailure)
})

test('derives a different key for each purpose, none of them the master key', () => {
  const keys = [older, deriveKey(older, 'cursors'), deriveKey(older, 'internal'), deriveKey(newer, 'cursors')]
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 4)
  assert.deepEqual(deriveKey(older, 'cursors'), keys[1])
})
