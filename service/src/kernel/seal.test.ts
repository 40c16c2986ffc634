import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AssertionFailure } from './assert.ts'
import { randomBytes } from './ids.ts'
import { createSealer, deriveKey } from './seal.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = createSealer([older])
const context = ['customers.kyc', 'partner', 'row']

test('what is sealed opens for its context, whatever text it is, and never looks twice the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.uuid()), (plain, names) => {
      const sealed = sealer.seal(plain, names)
      assert.equal(sealer.open(sealed, names), plain)
      assert.notDeepEqual(sealer.seal(plain, names), sealed)
    }),
  )
})

test('it does not open for another row, column or partner', () => {
  const sealed = sealer.seal('secret', context)
  for (const other of [['customers.kyc', 'partner', 'other row'], ['customers.kyc', 'partner'], [...context, ''], []])
    assert.throws(() => sealer.open(sealed, other), AssertionFailure, other.join())
})

test('each sealing has a mark of its own, also of the same text, and keeps it', () => {
  const sealings = Array.from({ length: 100 }, () => sealer.seal('secret', context))
  assert.equal(new Set(sealings.map(sealer.mark)).size, sealings.length)
  for (const sealed of sealings) assert.equal(sealer.mark(Buffer.from(sealed)), sealer.mark(sealed))
})

test('not a bit of it can be changed, and nothing cut off', () => {
  const sealed = sealer.seal('secret', context)
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at)
    assert.throws(() => sealer.open(changed, context), AssertionFailure, `byte ${at}`)
    assert.throws(() => sealer.open(sealed.subarray(0, at), context), AssertionFailure, `cut at ${at}`)
  }
})

test('a rotated key: the new one seals, both open; a key that was taken away opens nothing', () => {
  const rotated = createSealer([newer, older])
  const [before, since] = [sealer.seal('old', context), rotated.seal('new', context)]
  assert.deepEqual([rotated.open(before, context), rotated.open(since, context)], ['old', 'new'])
  assert.throws(() => sealer.open(since, context), /not configured/)
  assert.throws(() => createSealer([newer]).open(before, context), /not configured/)
})

test('a master key has 32 bytes, and there is one', () => {
  for (const keys of [[], [randomBytes(31)], [older, randomBytes(16)]])
    assert.throws(() => createSealer(keys), AssertionFailure)
})

test('a key for each purpose, none of them the master key', () => {
  const keys = [older, deriveKey(older, 'cursors'), deriveKey(older, 'internal'), deriveKey(newer, 'cursors')]
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 4)
  assert.deepEqual(deriveKey(older, 'cursors'), keys[1])
})
