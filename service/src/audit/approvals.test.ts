import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import {
  type ApprovalSnapshot,
  challengeOf,
  faultsOfApproval,
  payeeDigestOf,
  type SignedApproval,
} from '@partner-payments/wire'
import { present } from '../kernel/index.ts'

const origin = 'https://pay.example.com'
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

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
type Pair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
const ec: Pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const keys: Readonly<Record<string, Pair>> = {
  'EC P-256': ec,
  Ed25519: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

type Change = { readonly type?: string; readonly origin?: string; readonly flags?: number; readonly domain?: string }

/** The data that an authenticator signs: Web Authentication Level 3, sections 6.1 and 6.3.3. */
function signed(snapshot: string, { privateKey, publicKey } = ec, change: Change = {}): SignedApproval {
  const clientData = JSON.stringify({
    type: change.type ?? 'webauthn.get',
    challenge: challengeOf(snapshot).toString('base64url'),
    origin: change.origin ?? origin,
    crossOrigin: false,
  })
  const data = Buffer.concat([
    sha256(change.domain ?? 'pay.example.com'),
    Buffer.of(change.flags ?? 0x05),
    Buffer.alloc(4),
  ])
  const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  const signature = sign(algorithm, Buffer.concat([data, sha256(clientData)]), privateKey)
  return {
    snapshot,
    factor: 'passkey',
    passkey: {
      origin,
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      authenticatorData: data.toString('base64'),
      clientData: Buffer.from(clientData).toString('base64'),
      signature: signature.toString('base64'),
    },
  }
}

for (const [name, pair] of Object.entries(keys))
  test(`the signature of a passkey with a key of the form ${name} proves the snapshot, and no other`, () => {
    const approval = signed(snapshotOf(), pair)
    assert.deepEqual(faultsOfApproval(approval, of), [])
    for (const change of [{ amount: '9000.00' }, { currency: 'USD' }, { payee: '0'.repeat(64) }, { nonce: 'other' }])
      assert.deepEqual(faultsOfApproval({ ...approval, snapshot: snapshotOf(change) }, of), [
        'The passkey has signed another snapshot.',
      ])
  })

test('each part of the evidence is verified', () => {
  const whole = signed(snapshotOf())
  const evidence = present(whole.passkey, 'signed by a passkey')
  const other = signed('{}', generateKeyPairSync('ed25519')).passkey
  const cases: readonly (readonly [SignedApproval, RegExp])[] = [
    [signed(snapshotOf({ reference: 'TX-2' })), /about something else/],
    [signed(snapshotOf({ partnerId: of.reference })), /about something else/],
    [signed(snapshotOf(), ec, { type: 'webauthn.create' }), /no answer of a passkey/],
    [signed(snapshotOf(), ec, { origin: 'https://evil.example.com' }), /used on another site/],
    [signed(snapshotOf(), ec, { domain: 'evil.example.com' }), /belongs to another site/],
    [signed(snapshotOf(), ec, { flags: 0x01 }), /not verified its user/],
    [signed(snapshotOf(), ec, { flags: 0x04 }), /not verified its user/],
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
