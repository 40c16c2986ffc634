import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { permissions } from '@partner-payments/wire'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, createLog, createSealer, minuteMs, newId, randomBytes, secondMs } from '../kernel/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { type Access, apiKeyPartner, type ConsumedNonce, createAccess } from './index.ts'
import { newApiKey } from './rules.ts'

let service: Service
let partnerId: string
before(async () => {
  service = await createTestService()
  ;({ partnerId } = await addPartner(service))
})
after(() => service.close())

const account = (fields: object = {}) =>
  service.db.transaction((tx) =>
    service.access.createServiceAccount(tx, { partnerId, name: 'Till', permissions: ['payouts:read'], ...fields }),
  )
const ofAccount = (serviceAccountId: string) => ({ partnerId, serviceAccountId })
const notFound = (error: unknown) => error instanceof Refusal && error.code === 'not_found'

test('an API key contains its partner id, and any other text contains none', () => {
  fc.assert(fc.property(fc.uuid(), (id) => assert.equal(apiKeyPartner(newApiKey(id)), id)))
  fc.assert(fc.property(fc.string(), (text) => assert.equal(apiKeyPartner(text), undefined)))
  const key = newApiKey(newId())
  for (const text of [`${key}a`, key.slice(1), `${key}\n`, key.replace('pk_', 'sk_')])
    assert.equal(apiKeyPartner(text), undefined, text)
})

test('the credential of a key is the issued one; the database holds no secret in plain text', async () => {
  const issued = await account()
  const credential = await service.access.credential(issued.apiKey)
  assert.equal(credential?.apiSecret, issued.apiSecret)
  assert.deepEqual(credential.caller, {
    partnerId,
    serviceAccountId: issued.serviceAccountId,
    name: 'Till',
    permissions: ['payouts:read'],
  })
  const row = await service.db.row<{ stored: string }>(sql`
    select to_jsonb(service_accounts)::text as stored from access.service_accounts
    where partner_id = ${partnerId} and id = ${issued.serviceAccountId}`)
  assert.ok(row)
  assert.ok(row.stored.includes(issued.apiKey))
  for (const secret of [issued.apiSecret, Buffer.from(issued.apiSecret).toString('hex'), 'PRIVATE KEY'])
    assert.ok(!row.stored.includes(secret))
})

test('with the public key of the partner no private key is generated', async () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const issued = await account({ publicKeyPem })
  assert.equal(issued.privateKeyPem, undefined)
  assert.ok((await service.access.credential(issued.apiKey))?.publicKey.equals(publicKey))
})

test('an unknown key has no credential, with a known and with an unknown partner', async () => {
  for (const key of [newApiKey(partnerId), newApiKey(newId()), '', 'pk_'])
    assert.equal(await service.access.credential(key), undefined)
  await assert.rejects(account({ partnerId: newId() }), notFound)
})

test('a revoked key ends within two seconds where it is cached, elsewhere at once; a second revoke is refused', async () => {
  const { apiKey, serviceAccountId } = await account()
  assert.ok(await service.access.credential(apiKey))
  const revoke = () => service.db.transaction((tx) => service.access.revoke(tx, partnerId, serviceAccountId))
  await revoke()
  const elsewhere = createAccess({ db: service.db, clock: service.clock, sealer: service.sealer })
  assert.equal(await elsewhere.credential(apiKey), undefined)
  service.clock.advance(2 * secondMs)
  assert.equal(await service.access.credential(apiKey), undefined)
  await assert.rejects(revoke(), notFound)
})

test('an impersonation has the name of the staff member and all permissions, and expires, also in the cache', async () => {
  const issued = await service.db.transaction((tx) => service.access.impersonate(tx, partnerId, 'Sam Staff', 1))
  service.clock.advance(minuteMs - secondMs)
  const credential = await service.access.credential(issued.apiKey)
  assert.equal(credential?.caller.impersonatedBy, 'Sam Staff')
  assert.deepEqual(credential.caller.permissions, permissions)
  service.clock.advance(secondMs)
  assert.equal(await service.access.credential(issued.apiKey), undefined)
})

test('an impersonation lasts at most an hour', async () => {
  const issued = await service.db.transaction((tx) => service.access.impersonate(tx, partnerId, 'Sam Staff', 10_000))
  service.clock.advance(60 * minuteMs)
  assert.equal(await service.access.credential(issued.apiKey), undefined)
})

test('no secret opens with another master key', async () => {
  const { apiKey } = await account()
  const other = createAccess({ db: service.db, clock: service.clock, sealer: createSealer([randomBytes(32)]) })
  await assert.rejects(other.credential(apiKey), AssertionFailure)
})

const newNonce = () => newId().replaceAll('-', '')

test('of twenty concurrent uses of a nonce in two processes, one succeeds', async () => {
  const nonce = newNonce()
  const other = createAccess({ db: service.db, clock: service.clock, sealer: service.sealer })
  const expiresAt = new Date(service.clock.now().getTime() + minuteMs)
  // Synchronous and asynchronous commits use the same nonces.
  const consume = (index: number) =>
    (index % 2 ? other : service.access).consumeNonce({ ...ofAccount(partnerId), nonce, expiresAt }, index % 4 < 2)
  const results = await Promise.all(Array.from({ length: 20 }, (_, index) => consume(index)))
  assert.equal(results.filter(({ fresh }) => fresh).length, 1)
  const others = await service.access.consumeNonce({ ...ofAccount(newId()), nonce, expiresAt }, false)
  assert.ok(others.fresh, 'the nonces of another account are independent')
})

test('a nonce is kept until it expires, and deleted afterwards', async () => {
  const nonce = newNonce()
  const expiresAt = new Date(service.clock.now().getTime() + minuteMs)
  const consume = async () =>
    (await service.access.consumeNonce({ ...ofAccount(partnerId), nonce, expiresAt }, false)).fresh
  assert.ok(await consume())
  service.clock.advance(minuteMs)
  await service.access.sweepNonces()
  assert.equal(await consume(), false)
  service.clock.advance(1)
  assert.ok((await service.access.sweepNonces()) > 0)
  assert.equal(await service.access.sweepNonces(), 0)
  assert.ok(await consume())
})

test('two processes that receive the same nonces in opposite orders do not deadlock', async () => {
  const retried: unknown[] = []
  const log = Object.assign(createLog('silent'), { debug: (fields: unknown) => void retried.push(fields) })
  const open = () => createDatabase({ url: service.url, connectionsMax: 2, log })
  const databases = [open(), open()] as const
  try {
    const [one, other] = databases.map((db) => createAccess({ db, clock: service.clock, sealer: service.sealer }))
    assert.ok(one && other)
    const expiresAt = new Date(service.clock.now().getTime() + minuteMs)
    for (let round = 0; round < 10; round += 1) {
      const nonces = Array.from({ length: 200 }, newNonce)
      const consumeAll = (access: Access, list: readonly string[]) =>
        list.map((nonce) => access.consumeNonce({ ...ofAccount(partnerId), nonce, expiresAt }, round % 2 === 0))
      const results: readonly ConsumedNonce[] = await Promise.all([
        ...consumeAll(one, nonces),
        ...consumeAll(other, nonces.toReversed()),
      ])
      assert.equal(results.filter(({ fresh }) => fresh).length, nonces.length)
    }
    assert.equal(retried.length, 0, 'a deadlock would delay both batches by a second')
  } finally {
    await Promise.all(databases.map((db) => db.close()))
  }
})

const fillNonces = (id: string, count: number) =>
  service.db.run(sql`
    insert into access.nonces (partner_id, service_account_id, nonce, expires_at)
    select ${id}::uuid, ${id}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      '2020-01-01T00:00:00Z'::timestamptz
    from generate_series(1, ${count}::integer) n on conflict do nothing`)

test('the nonces of ten minutes at the full rate of an account are swept in bounded steps', async () => {
  const nonces = 60_000
  await fillNonces(partnerId, nonces)
  let swept = 0
  for (let step = await service.access.sweepNonces(); step > 0; step = await service.access.sweepNonces()) swept += step
  assert.ok(swept >= nonces)
})

test('the sweep reaches every partner, even if many have new nonces', async () => {
  const ids = Array.from({ length: 150 }, () => newId())
  await service.db.run(sql`
    insert into access.partners (id, name, created_at) select id, 'Busy', ${service.clock.now()}
    from unnest(${ids}::uuid[]) as id`)
  await service.db.run(sql`
    insert into access.service_accounts (partner_id, id, name, api_key, api_secret_sealed, public_key_pem, permissions,
      created_at)
    select id, id, 'Busy', id::text, ''::bytea, '', '{}', ${service.clock.now()} from unnest(${ids}::uuid[]) as id`)
  for (const id of ids) await fillNonces(id, 1)
  for (let step = 0; step < 2; step += 1) {
    await service.access.sweepNonces()
    for (const id of ids.slice(0, 120)) await fillNonces(id, 1)
  }
  const left = await service.db.rows(sql`select 1 from access.nonces where partner_id = any(${ids.slice(120)}::uuid[])`)
  assert.equal(left.length, 0)
})
