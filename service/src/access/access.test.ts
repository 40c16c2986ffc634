/** Credentials: access, addresses, nonces, uses. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { permissions } from '@partner-payments/wire'
import { addPartner } from '../../../test/support/composition.ts'
import { type OpenNonce, Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, createLog, createSealer, minuteMs, newId, randomBytes, secondMs } from '../kernel/index.ts'
import { createDatabase, type Database, sql, sqlState, sqlStateOf, type Tx } from '../postgres/index.ts'
import { type Access, apiKeyPartnerId, createAccess, createNonceBatcher } from './index.ts'
import { newApiKey } from './rules.ts'
import type { ConsumedNonce } from './service.ts'
import { createAddressCheck, parseNetwork } from './credentials.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { untilEnd, useModules } from '../../../test/support/fixture.ts'

suite('access', async () => {
  const service = await useModules()
  const { partnerId } = await addPartner(service)

  const account = (fields: object = {}) =>
    service.db.transaction((tx) =>
      service.access.createServiceAccount(tx, { partnerId, name: 'Till', permissions: ['payouts:read'], ...fields }),
    )
  const ofAccount = (serviceAccountId: string) => ({ partnerId, serviceAccountId })
  const notFound = (error: unknown) => error instanceof Refusal && error.code === 'not_found'

  test('an API key contains its partner id, and no other text does', () => {
    fc.assert(fc.property(fc.uuid(), (id) => assert.equal(apiKeyPartnerId(newApiKey(id)), id)))
    fc.assert(fc.property(fc.string(), (text) => assert.equal(apiKeyPartnerId(text), undefined)))
    const key = newApiKey(newId())
    for (const text of [`${key}a`, key.slice(1), `${key}\n`, key.replace('pk_', 'sk_')])
      assert.equal(apiKeyPartnerId(text), undefined, text)
  })

  test('the credential of a key is the issued one, and the database does not contain secrets in plain text', async () => {
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

  test('no private key is generated if the partner supplies a public key', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const issued = await account({ publicKeyPem })
    assert.equal(issued.privateKeyPem, undefined)
    assert.ok((await service.access.credential(issued.apiKey))?.publicKey.equals(publicKey))
  })

  test('an unknown key has no credential, whether or not its partner exists', async () => {
    for (const key of [newApiKey(partnerId), newApiKey(newId()), '', 'pk_'])
      assert.equal(await service.access.credential(key), undefined)
    await assert.rejects(account({ partnerId: newId() }), notFound)
  })

  test('a revoked key is refused at once, or within two seconds in a process that caches it, and a second revocation is refused', async () => {
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

  test("an impersonation has the staff member's name and all permissions, and expires even in the cache", async () => {
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

  test('secrets cannot be opened with another master key', async () => {
    const { apiKey } = await account()
    const other = createAccess({ db: service.db, clock: service.clock, sealer: createSealer([randomBytes(32)]) })
    await assert.rejects(other.credential(apiKey), AssertionFailure)
  })

  const newNonce = () => newId().replaceAll('-', '')

  test('only one of twenty concurrent uses of a nonce in two processes succeeds', async () => {
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

  test('a nonce is stored until it expires, and deleted afterwards', async () => {
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

  test('the sweep deletes ten minutes of nonces at the full rate of an account, in limited steps', async () => {
    const nonces = 60_000
    await fillNonces(partnerId, nonces)
    let swept = 0
    for (let step = await service.access.sweepNonces(); step > 0; step = await service.access.sweepNonces())
      swept += step
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
    const left = await service.db.rows(
      sql`select 1 from access.nonces where partner_id = any(${ids.slice(120)}::uuid[])`,
    )
    assert.equal(left.length, 0)
  })
})

test('only IP addresses and networks are accepted', () => {
  for (const text of ['203.0.113.7', '203.0.113.0/24', '0.0.0.0/0', '2001:db8::/32', '::1', '2001:db8::1/128'])
    assert.ok(parseNetwork(text), text)
  const others = ['', 'example.com', '203.0.113', '203.0.113.7/33', '203.0.113.7/', '203.0.113.7/-1', '203.0.113.7/08']
  for (const text of [
    ...others,
    '2001:db8::/129',
    '1.2.3.4/24/24',
    ' 1.2.3.4',
    'fe80::1%eth0',
    '1.2.3.4/1e1',
    '01.2.3.4',
  ])
    assert.equal(parseNetwork(text), undefined, text)
})

test('clients within a network are allowed, in both families, including IPv4 clients of an IPv6 socket', () => {
  assert.equal(createAddressCheck([]), undefined)
  const allows = createAddressCheck(['203.0.113.0/24', '198.51.100.7', '2001:db8::/32']) ?? assert.fail()
  for (const ip of [
    '203.0.113.0',
    '203.0.113.255',
    '198.51.100.7',
    '::ffff:203.0.113.9',
    '::FFFF:198.51.100.7',
    '2001:db8:1::9',
  ])
    assert.equal(allows(ip), true, ip)
  for (const ip of ['203.0.114.0', '198.51.100.8', '::ffff:198.51.100.8', '2001:db9::1', '::1', '', 'unknown'])
    assert.equal(allows(ip), false, ip)
})

suite('nonces', async () => {
  const service = await useModules()
  const { partnerId } = await addPartner(service)
  await service.db.run(sql`create table public.written (n integer primary key)`)

  const newNonce = (): OpenNonce => ({
    partnerId,
    serviceAccountId: partnerId,
    nonce: newId().replaceAll('-', ''),
    expiresAt: new Date(service.clock.now().getTime() + minuteMs),
    consumed: false,
  })
  /** Makes another request with the same nonce. */
  const sameAs = (nonce: OpenNonce): OpenNonce => ({ ...nonce, consumed: false })

  type Write = { readonly n: number; readonly nonce: OpenNonce | undefined }

  /** Creates a batcher that writes numbers, refuses negative ones, and records the calls that reach its work. */
  function writer(db: Database = service.db) {
    const received: number[] = []
    const write = createNonceBatcher<Write, number, number>({
      db,
      read: (_tx, calls) => Promise.resolve(calls.length),
      work: async (tx: Tx, calls, count) => {
        assert.ok(calls.length <= count)
        received.push(...calls.map(({ n }) => n))
        await tx.run(
          sql`insert into public.written select * from unnest(${calls.map(({ n }) => Math.abs(n))}::integer[])`,
        )
        return calls.map(({ n }) => (n < 0 ? new Refusal('not_found') : n))
      },
      callsMax: 16,
      batchesMax: 2,
      partnerOf: () => partnerId,
    })
    return { received, write }
  }

  const isStored = async ({ nonce }: OpenNonce) =>
    (await service.db.rows(sql`select from access.nonces where partner_id = ${partnerId} and nonce = ${nonce}`))
      .length === 1
  const codes = (outcomes: readonly PromiseSettledResult<number>[]) =>
    outcomes.map((each) =>
      each.status === 'fulfilled' ? each.value : each.reason instanceof Refusal ? each.reason.code : 'failed',
    )

  test('a nonce is consumed if the write succeeds and if it is refused', async () => {
    const { write } = writer()
    const [good, refused] = [newNonce(), newNonce()]
    const outcomes = await Promise.allSettled([write({ n: 1, nonce: good }), write({ n: -2, nonce: refused })])
    assert.deepEqual(codes(outcomes), [1, 'not_found'])
    assert.deepEqual([good.consumed, refused.consumed], [true, true])
    assert.deepEqual([await isStored(good), await isStored(refused)], [true, true])
  })

  test('a replay is refused before its call is carried out: in the same batch, in a later batch, and alone in a batch', async () => {
    const { received, write } = writer()
    const nonce = newNonce()
    const together = [10, 11, 12].map((n) => write({ n, nonce: n === 12 ? newNonce() : sameAs(nonce) }))
    assert.deepEqual(codes(await Promise.allSettled(together)), [10, 'nonce_replayed', 12])
    const later = [write({ n: 13, nonce: sameAs(nonce) }), write({ n: 14, nonce: newNonce() })]
    assert.deepEqual(codes(await Promise.allSettled(later)), ['nonce_replayed', 14])
    assert.deepEqual(codes(await Promise.allSettled([write({ n: 15, nonce: sameAs(nonce) })])), ['nonce_replayed'])
    assert.deepEqual(received, [10, 12, 14])
  })

  test('calls with a consumed nonce and calls without a nonce are carried out', async () => {
    const { write } = writer()
    const nonce = newNonce()
    assert.equal(await write({ n: 20, nonce }), 20)
    assert.equal(await write({ n: 21, nonce }), 21)
    assert.equal(await write({ n: 22, nonce: undefined }), 22)
  })

  test('a failed call leaves its nonce unconsumed, and each other call of its batch consumes its nonce exactly once', async () => {
    const { write } = writer()
    await write({ n: 30, nonce: undefined })
    const nonces = [31, 30, 32].map((n) => ({ n, nonce: newNonce() }))
    const outcomes = await Promise.allSettled(nonces.map(write))
    assert.deepEqual(codes(outcomes), [31, 'failed', 32])
    assert.deepEqual(
      nonces.map(({ nonce }) => nonce.consumed),
      [true, false, true],
    )
    assert.deepEqual(await Promise.all(nonces.map(({ nonce }) => isStored(nonce))), [true, false, true])
  })

  test('exactly one of several duplicates in two processes is carried out', async () => {
    const other = createDatabase({ url: service.url, connectionsMax: 2, log: createLog('silent') })
    try {
      const writers = [writer(), writer(other)]
      for (let round = 0; round < 10; round += 1) {
        const nonces = Array.from({ length: 8 }, newNonce)
        const outcomes = await Promise.allSettled(
          writers.flatMap(({ write }, which) =>
            nonces.map((nonce, index) => write({ n: 1000 + round * 16 + which * 8 + index, nonce: sameAs(nonce) })),
          ),
        )
        const results = codes(outcomes)
        assert.equal(results.filter((code) => code === 'nonce_replayed').length, nonces.length, results.join(' '))
        assert.equal(results.filter((code) => typeof code === 'number').length, nonces.length)
      }
    } finally {
      await other.close()
    }
  })

  test('a lock timeout leaves the nonce unconsumed', async () => {
    const impatient = createDatabase({
      url: service.url,
      connectionsMax: 2,
      log: createLog('silent'),
      lockTimeoutMs: 100,
    })
    const nonce = newNonce()
    try {
      await service.db.transaction(async (tx) => {
        await tx.run(sql`insert into public.written values (40)`)
        await assert.rejects(
          writer(impatient).write({ n: 40, nonce }),
          (error) => sqlStateOf(error) === sqlState.lockNotAvailable,
        )
      })
      assert.equal(nonce.consumed, false)
      assert.equal(await isStored(nonce), false)
    } finally {
      await impatient.close()
    }
  })
})

suite('last use of credentials', async () => {
  const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
  const sealer = createSealer([randomBytes(32)])

  const database = await createTestDatabase()
  const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 4, log: createLog('silent') }))
  after(() => database?.drop())

  type Written = { readonly lastUsedAt: Date | null; readonly version: string }

  test('the last use is written at most once a minute, even by several processes', async () => {
    const [one, other] = [createAccess({ db, clock, sealer }), createAccess({ db, clock, sealer })]
    const { partnerId, apiKey } = await db.transaction(async (tx) => {
      const id = await one.createPartner(tx, 'Partner')
      return one.createServiceAccount(tx, { partnerId: id, name: 'Account', permissions: ['accounts:read'] })
    })
    const caller = (await one.credential(apiKey))?.caller
    assert(caller)
    const written = async (): Promise<Written> => {
      const row = await db.row<Written>(sql`
      select last_used_at, xmin::text as version from access.service_accounts where partner_id = ${partnerId}`)
      assert(row)
      return row
    }
    const { version: before } = await written()
    assert.equal((await written()).lastUsedAt, null)

    const start = clock.now()
    one.recordUse(caller)
    await until('the first use is written', async () => (await written()).lastUsedAt !== null)
    const first = await written()
    assert.deepEqual(first.lastUsedAt, start)
    assert.notEqual(first.version, before)

    clock.advance(minuteMs - 1)
    for (let use = 0; use < 100; use += 1) for (const access of [one, other]) access.recordUse(caller)
    // Batches run in order, so that earlier uses are written when the use of another account is written.
    const marker = await db.transaction((tx) =>
      one.createServiceAccount(tx, { partnerId, name: 'Marker', permissions: ['accounts:read'] }),
    )
    const markerCaller = (await one.credential(marker.apiKey))?.caller
    assert(markerCaller)
    const isMarked = () =>
      db.row(sql`
    select 1 from access.service_accounts
    where partner_id = ${partnerId} and id = ${marker.serviceAccountId} and last_used_at is not null`)
    other.recordUse(markerCaller)
    await until('the marker is written', async () => (await isMarked()) !== undefined)
    const accountRow = () =>
      db.row<Written>(sql`
    select last_used_at, xmin::text as version from access.service_accounts
    where partner_id = ${partnerId} and id = ${caller.serviceAccountId}`)
    assert.deepEqual(await accountRow(), first)

    clock.advance(1)
    one.recordUse(caller)
    await until(
      'the next minute is written',
      async () => (await accountRow())?.lastUsedAt?.getTime() === clock.now().getTime(),
    )
  })
})
