import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type ApprovalSnapshot, faultsOfApproval, payeeDigestOf, type SignedApproval } from '@partner-payments/wire'
import { type Pair, signedByPasskey } from '../../../test/support/passkey.ts'
import { present } from '../kernel/index.ts'

const of = { partnerId: '0190aaaa-0000-7000-8000-000000000001', reference: 'TX-1' }
const snapshotOf = (change: Partial<ApprovalSnapshot> = {}): string =>
  JSON.stringify({
    version: 1,
    purpose: 'approvePayout',
    ...of,
    payoutId: '0190aaaa-0000-7000-8000-000000000002',
    amount: '1000.00',
    currency: 'EUR',
    payee: payeeDigestOf('salt', 'Grace Hopper', 'NL91ABNA0417164300'),
    approverId: '0190aaaa-0000-7000-8000-000000000003',
    expiresAt: '2026-11-24T08:02:00.000Z',
    nonce: 'nonce',
    ...change,
  } satisfies ApprovalSnapshot)

const ec: Pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const keys: Readonly<Record<string, Pair>> = {
  'EC P-256': ec,
  Ed25519: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

for (const [name, pair] of Object.entries(keys))
  test(`the signature of a passkey with a key of the form ${name} proves the snapshot, and no other`, () => {
    const approval = signedByPasskey(snapshotOf(), pair)
    assert.deepEqual(faultsOfApproval(approval, of), [])
    for (const change of [{ amount: '9000.00' }, { currency: 'USD' }, { payee: '0'.repeat(64) }, { nonce: 'other' }])
      assert.deepEqual(faultsOfApproval({ ...approval, snapshot: snapshotOf(change) }, of), [
        'The passkey has signed another snapshot.',
      ])
  })

test('each part of the evidence is verified', () => {
  const whole = signedByPasskey(snapshotOf(), ec)
  const evidence = present(whole.passkey, 'signed by a passkey')
  const other = signedByPasskey('{}', generateKeyPairSync('ed25519')).passkey
  const cases: readonly (readonly [SignedApproval, RegExp])[] = [
    [signedByPasskey(snapshotOf({ reference: 'TX-2' }), ec), /about something else/],
    [signedByPasskey(snapshotOf({ partnerId: of.reference }), ec), /about something else/],
    [signedByPasskey(snapshotOf(), ec, { type: 'webauthn.create' }), /no answer of a passkey/],
    [signedByPasskey(snapshotOf(), ec, { origin: 'https://evil.example.com' }), /used on another site/],
    [signedByPasskey(snapshotOf(), ec, { domain: 'evil.example.com' }), /belongs to another site/],
    [signedByPasskey(snapshotOf(), ec, { flags: 0x01 }), /not verified its user/],
    [signedByPasskey(snapshotOf(), ec, { flags: 0x04 }), /not verified its user/],
    [
      {
        ...whole,
        passkey: { ...evidence, publicKey: other?.publicKey ?? '' },
      },
      /signature/,
    ],
    [{ ...whole, passkey: { ...evidence, publicKey: 'AAAA' } }, /signature of the approval is wrong/],
    [{ snapshot: whole.snapshot, factor: 'passkey' }, /no signature/],
  ]
  for (const [approval, fault] of cases) assert.match(faultsOfApproval(approval, of).join(' '), fault)
  assert.deepEqual(faultsOfApproval({ snapshot: whole.snapshot, factor: 'code' }, of), [])
})

test('a digest opens for its payee and account alone', () => {
  const digest = payeeDigestOf('salt', 'Grace Hopper', 'NL91ABNA0417164300')
  assert.match(digest, /^[0-9a-f]{64}$/)
  for (const other of [
    payeeDigestOf('salt', 'Grace Hopper', 'NL91ABNA0417164301'),
    payeeDigestOf('salt', 'Grace', ' HopperNL91ABNA0417164300'),
    payeeDigestOf('other', 'Grace Hopper', 'NL91ABNA0417164300'),
  ])
    assert.notEqual(other, digest)
})
