/** Service accounts that a team manages: permissions, addresses, rotations and expiry. */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { serviceAccounts as wire } from '@partner-payments/wire'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import type { Caller } from '../../kernel/api/index.ts'
import { hourMs } from '../../kernel/index.ts'
const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })

const publicKeyPem = wire.examplePublicKey
const body = (more: object = {}) => ({ name: 'Payroll', publicKeyPem, permissions: ['payouts:read' as const], ...more })
const lesserThan = (caller: Caller): Caller => ({
  ...caller,
  permissions: ['users:read', 'users:write', 'payouts:read'],
})

/** Lists the mails about keys, as address and subject. */
async function mailsOf(partnerId: string) {
  const { db, mailQueue } = service
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
  return claimed
    .filter(({ kind }) => kind === 'service_account_changed')
    .map(({ toAddress, data }) => `${toAddress} ${String(JSON.parse(data).change)}`)
}

test('a key is created, listed by status, changed, rotated and revoked, and Admins get a mail only for each change', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts, users, access, clock } = service
  const admin = { email: 'admin@example.com', fullName: 'Ann', role: 'Admin' as const }
  await users.createInvitations(caller, {
    invitations: [admin, { ...admin, email: 'op@example.com', role: 'Operator' }],
  })
  const made = await accounts.create(caller, body({ allowedAddresses: ['203.0.113.0/24'] }))
  const id = made.account.serviceAccountId
  const credential = await access.credential(made.account.apiKey)
  assert.deepEqual(
    [
      credential?.apiSecret,
      credential?.caller.permissions,
      credential?.allows?.('203.0.113.9'),
      credential?.allows?.('::1'),
    ],
    [made.apiSecret, ['payouts:read'], true, false],
  )
  const key = createPublicKey(publicKeyPem)
  assert.ok(credential?.publicKey.equals(key))
  const changed = await accounts.update(caller, id, {
    name: 'Wages',
    allowedAddresses: [],
    expiresAt: '2027-01-01T00:00:00Z',
  })
  assert.deepEqual([changed.name, changed.allowedAddresses], ['Wages', []])
  const { account: next } = await accounts.rotate(caller, id, { publicKeyPem, overlapHours: 2 })
  assert.deepEqual([next.name, next.permissions, next.replaces], ['Wages', ['payouts:read'], id])
  const status = async (of: string) => (await accounts.get(partnerId, of)).status
  assert.equal(await status(id), 'valid')
  clock.advance(2 * hourMs)
  assert.equal(await status(id), 'expired')
  await assert.rejects(accounts.rotate(caller, id, { publicKeyPem }), refused('not_found'))
  await assert.rejects(accounts.update(caller, id, { expiresAt: null }), refused('not_found'))
  const names = async (wanted?: 'Active' | 'Expired' | 'Revoked') =>
    (await accounts.list(partnerId, wanted ? { status: wanted } : {})).data.map(
      ({ serviceAccountId }) => serviceAccountId,
    )
  assert.deepEqual([await names('Active'), await names('Expired')], [[next.serviceAccountId], [id]])
  await accounts.revoke(caller, next.serviceAccountId)
  await assert.rejects(accounts.revoke(caller, next.serviceAccountId), refused('not_found'))
  assert.deepEqual(await names('Revoked'), [next.serviceAccountId])
  assert.deepEqual(await names(), [next.serviceAccountId, id])
  assert.deepEqual(
    (await mailsOf(partnerId)).toSorted(),
    ['changed', 'created', 'revoked', 'rotated'].map((each) => `admin@example.com ${each}`),
  )
})

test('a caller cannot create, change or rotate a key with more permissions than it has', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts } = service
  const lesser = lesserThan(caller)
  const own = await accounts.create(lesser, body())
  const more = { permissions: ['payouts:read' as const, 'payouts:write' as const] }
  await assert.rejects(accounts.create(lesser, body(more)), refused('permission_denied', /payouts:write/))
  await assert.rejects(accounts.update(lesser, own.account.serviceAccountId, more), refused('permission_denied'))
  const { account } = await accounts.create(caller, body(more))
  const strong = account.serviceAccountId
  // A rotation would give the key's permissions to the caller, and a narrower account would break a program.
  await assert.rejects(accounts.rotate(lesser, strong, { publicKeyPem }), refused('permission_denied'))
  await assert.rejects(accounts.update(lesser, strong, { permissions: ['payouts:read'] }), refused('permission_denied'))
  assert.deepEqual((await accounts.get(partnerId, strong)).permissions, more.permissions)
})

test('a revoked key cannot create keys while a process still caches it', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts, users, members, guestLinks } = service
  const { account } = await accounts.create(caller, body({ permissions: [...caller.permissions] }))
  // A process caches the caller for two seconds after the revocation.
  const key: Caller = { ...caller, serviceAccountId: account.serviceAccountId, name: account.name }
  const entry = { email: 'eve@example.com', fullName: 'Eve', role: 'Developer' as const }
  const [invitation] = await users.createInvitations(key, { invitations: [entry] })
  await accounts.revoke(caller, account.serviceAccountId)
  const id = invitation?.id ?? assert.fail()
  const guest = { email: 'guest@example.com', fullName: 'Guest', access: 'read', expiresInHours: 1 } as const
  const acts: Readonly<Record<string, () => Promise<unknown>>> = {
    invite: () => users.createInvitations(key, { invitations: [{ ...entry, email: 'mallory@example.com' }] }),
    revoke: () => users.revokeInvitation(key, id),
    'guest link': () => guestLinks.create(key, guest, { ip: '203.0.113.7' }),
    'set single sign-on': () =>
      members.singleSignOn.set(key, {
        issuer: 'https://login.example.com',
        clientId: 'c',
        clientSecret: 's',
        emailDomain: 'example.com',
      }),
    'create a key': () => accounts.create(key, body()),
  }
  for (const [name, act] of Object.entries(acts))
    await assert.rejects(act(), refused('permission_denied', /service account has expired or was revoked/), name)
  assert.equal((await users.membersByAddress(service.db, partnerId, ['mallory@example.com'])).size, 0)
})

test('an impersonation session can be listed and revoked, but not changed or rotated', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts, access, db } = service
  const { serviceAccountId: id } = await db.transaction((tx) => access.impersonate(tx, partnerId, 'Ann', 15))
  assert.equal((await accounts.get(partnerId, id)).impersonatedBy, 'Ann')
  await assert.rejects(accounts.rotate(caller, id, { publicKeyPem }), refused('not_found'))
  await assert.rejects(accounts.update(caller, id, { expiresAt: null }), refused('not_found'))
  await accounts.revoke(caller, id)
  assert.equal((await accounts.get(partnerId, id)).status, 'revoked')
})

test('a service account shows its maker, and a key that rotates itself keeps its maker', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts, access, db } = service
  const issuerOf = async (id: string) => (await accounts.get(partnerId, id)).issuedBy
  const request = { partnerId, name: 'Issued', permissions: caller.permissions, publicKeyPem }
  const { serviceAccountId: id } = await db.transaction((tx) => access.createServiceAccount(tx, request))
  assert.equal(await issuerOf(id), null)
  const itself = { ...caller, serviceAccountId: id, name: 'Issued' }
  const own = (await accounts.rotate(itself, id, { publicKeyPem })).account.serviceAccountId
  assert.equal(await issuerOf(own), null)
  const taken = (await accounts.rotate(caller, own, { publicKeyPem })).account.serviceAccountId
  assert.equal(await issuerOf(taken), caller.serviceAccountId)
  const holder = { ...itself, serviceAccountId: taken }
  const kept = (await accounts.rotate(holder, taken, { publicKeyPem })).account.serviceAccountId
  assert.equal(await issuerOf(kept), caller.serviceAccountId)
})

test('a key that is not an RSA public key of an allowed size is refused, and a private key is recognized', async () => {
  const { caller } = await addPartner(service)
  const pem = (bits: number, publicExponent?: number) =>
    generateKeyPairSync('rsa', { modulusLength: bits, ...(publicExponent && { publicExponent }) })
  const spki = { type: 'spki', format: 'pem' } as const
  const { privateKey } = pem(2048)
  const keys = {
    'private key': privateKey.export({ type: 'pkcs8', format: 'pem' }),
    '2048 to 4096': pem(1024).publicKey.export(spki),
    '2048 to 4096 bits': generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(spki),
    exponent: pem(2048, 65_539).publicKey.export(spki),
    'well-formed': '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n',
    'must be a public key': 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ',
  }
  for (const [text, key] of Object.entries(keys)) {
    const given = service.serviceAccounts.create(caller, body({ publicKeyPem: key }))
    await assert.rejects(given, refused('validation_failed', new RegExp(`^/publicKeyPem: .*${text}`)))
  }
})

test('an invalid address and an expiry in the past are refused', async () => {
  const { caller } = await addPartner(service)
  const { serviceAccounts: accounts } = service
  const wrong = body({ allowedAddresses: ['203.0.113.7', 'example.com'] })
  await assert.rejects(accounts.create(caller, wrong), refused('validation_failed', /^\/allowedAddresses\/1: /))
  const over = body({ expiresAt: service.clock.now().toISOString() })
  await assert.rejects(accounts.create(caller, over), refused('validation_failed', /^\/expiresAt: /))
  const { account } = await accounts.create(caller, body())
  const update = accounts.update(caller, account.serviceAccountId, { expiresAt: '2020-01-01T00:00:00Z' })
  await assert.rejects(update, refused('validation_failed', /^\/expiresAt: /))
})

test('the number of active service accounts is limited; revoked ones and impersonations do not count', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { serviceAccounts: accounts, access, db } = service
  await db.transaction((tx) => access.impersonate(tx, partnerId, 'Ann', 15))
  const made = []
  for (let i = 0; i < wire.serviceAccountsMax; i += 1) made.push(await accounts.create(caller, body()))
  await assert.rejects(accounts.create(caller, body()), refused('service_account_limit_reached'))
  const [first] = made
  assert.ok(first)
  const id = first.account.serviceAccountId
  await assert.rejects(accounts.rotate(caller, id, { publicKeyPem }), refused('service_account_limit_reached'))
  await accounts.revoke(caller, id)
  await accounts.create(caller, body())
})
