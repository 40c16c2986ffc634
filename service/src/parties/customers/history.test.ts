/** The history, the export and the index of names of customers. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Customers, ExportLine } from './index.ts'
import { changedFields } from './rules.ts'
import { addPartner, pay } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'

const service = await useModules({ now: new Date('2026-03-01T12:00:00.000Z') })
const { clock, customers, db } = service
const newPartner = () => db.transaction((tx) => service.access.createPartner(tx, 'Partner'))

suite('history', async () => {
  const by = { serviceAccountId: newId(), name: 'Back office', requestId: 'request-1' }
  const pin = 'QX-77-SECRET-123'

  test('changed fields are listed in the order of their names', () => {
    const one = { email: 'a@example.com', partnerCustomerIdentifier: null, kyc: { city: 'Rome', fullName: 'Ada' } }
    const two = { email: null, partnerCustomerIdentifier: 'p', kyc: { city: 'Turin', fullName: 'Ada', lei: 'x' } }
    assert.deepEqual(changedFields(one, two), [
      { field: 'email', before: 'a@example.com' },
      { field: 'kyc.city', before: 'Rome', after: 'Turin' },
      { field: 'kyc.lei', after: 'x' },
      { field: 'partnerCustomerIdentifier', after: 'p' },
    ])
    assert.deepEqual(changedFields(one, one), [])
    const withPin = { ...one, kyc: { ...one.kyc, personalIdentificationNumber: pin } }
    const withheld = [{ field: 'kyc.personalIdentificationNumber', withheld: true }]
    assert.deepEqual([changedFields(one, withPin), changedFields(withPin, one)], [withheld, withheld])
  })

  test('the history shows who changed which field and when, newest first, without empty changes', async () => {
    const partnerId = await newPartner()
    const kyc = { city: 'Rome', personalIdentificationNumber: pin }
    const { id, serviceId } = await customers.create(partnerId, { email: 'a@example.com', kyc }, undefined, by)
    const createdAt = clock.now()
    clock.advance(1000)
    await customers.update(partnerId, id, { kyc: { city: 'Turin' } }, { ...by, requestId: 'request-2' })
    await customers.update(partnerId, id, { kyc: { city: 'Turin' } }, by)
    clock.advance(1000)
    await customers.update(partnerId, id, { email: null, kyc: { personalIdentificationNumber: null } })
    for (const ref of [id, serviceId]) {
      const { data, hasMore } = await customers.history(partnerId, ref, {})
      assert.equal(hasMore, false)
      const actor = { actorId: by.serviceAccountId, actorName: by.name }
      assert.deepEqual(
        data.map(({ id: _id, ...change }) => change),
        [
          {
            sequence: 3,
            kind: 'Updated',
            actorId: null,
            actorName: null,
            requestId: null,
            changedAt: clock.now(),
            changes: [
              { field: 'email', before: 'a@example.com' },
              { field: 'kyc.personalIdentificationNumber', withheld: true },
            ],
          },
          {
            sequence: 2,
            kind: 'Updated',
            ...actor,
            requestId: 'request-2',
            changedAt: new Date(createdAt.getTime() + 1000),
            changes: [{ field: 'kyc.city', before: 'Rome', after: 'Turin' }],
          },
          {
            sequence: 1,
            kind: 'Created',
            ...actor,
            requestId: 'request-1',
            changedAt: createdAt,
            changes: [
              { field: 'email', after: 'a@example.com' },
              { field: 'kyc.city', after: 'Rome' },
              { field: 'kyc.personalIdentificationNumber', withheld: true },
            ],
          },
        ],
      )
    }
  })

  test('concurrent updates are numbered without gaps, and each change continues the previous one', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: { city: 'C0' } }, undefined, by)
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => customers.update(partnerId, id, { kyc: { city: `C${n + 1}` } }, by)),
    )
    const { data } = await customers.history(partnerId, id, {})
    const oldestFirst = data.toReversed()
    assert.deepEqual(
      oldestFirst.map(({ sequence }) => sequence),
      Array.from({ length: 13 }, (_, n) => n + 1),
    )
    const cities = oldestFirst.map(({ changes }) => changes[0])
    for (const [at, change] of cities.entries()) if (at > 0) assert.equal(change?.before, cities[at - 1]?.after)
    assert.equal((await customers.get(partnerId, id)).kyc.city, cities.at(-1)?.after)
  })

  test('a change that is rolled back is not in the history', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: { city: 'Rome' } }, undefined, by)
    await assert.rejects(customers.update(partnerId, id, { kyc: { dateOfBirth: '2999-01-01' } }, by), Refusal)
    assert.equal((await customers.history(partnerId, id, {})).data.length, 1)
    const count = () => db.row<{ count: bigint }>(sql`select count(*) as count from customers.changes`)
    const earlier = await count()
    await assert.rejects(
      db.transaction(async (tx) => {
        await customers.create(partnerId, { kyc: { city: 'Rome' } }, tx, by)
        throw new Error('rolled back')
      }),
      { message: 'rolled back' },
    )
    assert.deepEqual(await count(), earlier)
  })

  test('pages contain each change once while changes are added, and a cursor belongs to its customer', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: { city: 'C1' } })
    const { id: other } = await customers.create(partnerId, { kyc: { city: 'C1' } })
    for (let n = 2; n <= 5; n += 1) await customers.update(partnerId, id, { kyc: { city: `C${n}` } })
    const seen: number[] = []
    for (let cursor: string | null = null; ;) {
      const page: Awaited<ReturnType<Customers['history']>> = await customers.history(partnerId, id, {
        limit: '2',
        ...(cursor === null ? {} : { cursor }),
      })
      seen.push(...page.data.map(({ sequence }) => sequence))
      cursor = page.nextCursor
      if (cursor === null) break
      await customers.update(partnerId, id, { kyc: { city: `${seen.length}` } })
      const used = cursor
      await assert.rejects(customers.history(partnerId, other, { cursor: used }), (error: unknown) => {
        assert(error instanceof Refusal)
        return error.errors[0]?.pointer === '/query/cursor'
      })
    }
    assert.deepEqual(seen, [5, 4, 3, 2, 1])
  })

  test('the database does not contain values of a change in plain text', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, {
      kyc: { fullName: 'Plainly Visible', personalIdentificationNumber: pin },
    })
    await customers.update(partnerId, id, { kyc: { fullName: 'Still Visible' } })
    const rows = await db.rows<{ row: string }>(sql`
    select to_jsonb(changes)::text as row from customers.changes where partner_id = ${partnerId}`)
    assert.equal(rows.length, 2)
    for (const { row } of rows)
      for (const text of ['Visible', pin])
        for (const form of [text, Buffer.from(text).toString('hex')]) assert.ok(!row.includes(form), form)
  })
})

suite('index of names', async () => {
  const found = async (partnerId: string, namePrefix: string) =>
    (await customers.list(partnerId, { namePrefix })).data.map(({ id }) => id)
  const computeTokens = async (partnerId: string) =>
    (
      await db.rows<{ token: string }>(sql`
      select customer_id::text || token::text as token from customers.name_tokens where partner_id = ${partnerId} order by 1`)
    ).map(({ token }) => token)

  test('a customer is found by the beginning of each word of its names, and only by its partner', async () => {
    const [partnerId, stranger] = [await newPartner(), await newPartner()]
    assert.deepEqual(await found(partnerId, 'ada'), [], 'a partner without names')
    const { id: ada } = await customers.create(partnerId, { kyc: { fullName: 'Ada Lovelace' } })
    const { id: firm } = await customers.create(partnerId, {
      kyc: { legalName: 'Engines SA', tradingName: 'Lovely Adão' },
    })
    for (const text of ['ada', 'ADA LOVE', 'Lovelace']) assert.ok((await found(partnerId, text)).includes(ada), text)
    for (const text of ['engines', 'adao', 'lovely']) assert.deepEqual(await found(partnerId, text), [firm], text)
    assert.deepEqual(await found(partnerId, 'lov'), [firm, ada])
    assert.deepEqual(await found(partnerId, 'lace'), [])
    assert.deepEqual(await found(stranger, 'ada'), [])
    await customers.create(stranger, { kyc: { fullName: 'Ada Lovelace' } })
    assert.ok(!(await found(stranger, 'ada')).includes(ada))
    const [mine, theirs] = [await computeTokens(partnerId), await computeTokens(stranger)].map(
      (tokens) => new Set(tokens.map((token) => token.slice(36))),
    )
    assert.deepEqual(
      [...(mine ?? [])].filter((token) => theirs?.has(token)),
      [],
      'equal names have other tokens elsewhere',
    )
  })

  test('the index follows changed and cleared names without leftover tokens', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { email: 'a@example.com', kyc: { fullName: 'Ada Lovelace' } })
    await customers.update(partnerId, id, { kyc: { fullName: 'Ada Byron' } })
    assert.deepEqual([await found(partnerId, 'lovelace'), await found(partnerId, 'byron')], [[], [id]])
    assert.deepEqual(await found(partnerId, 'ada'), [id])
    await customers.update(partnerId, id, { kyc: null })
    assert.deepEqual([await found(partnerId, 'ada'), await computeTokens(partnerId)], [[], []])
  })

  test('concurrent updates leave only the tokens of the stored name', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: { fullName: 'Ada' } })
    const names = ['Grace Hopper', 'Joan Clarke', 'Mary Kenneth', 'Edith Clarke']
    await Promise.all(names.map((fullName) => customers.update(partnerId, id, { kyc: { fullName } })))
    const { kyc } = await customers.get(partnerId, id)
    const left = await computeTokens(partnerId)
    await customers.update(partnerId, id, { kyc: { fullName: 'Someone Else' } })
    await customers.update(partnerId, id, { kyc: { fullName: kyc.fullName ?? '' } })
    assert.deepEqual(await computeTokens(partnerId), left)
  })

  test('the first customers of a partner share a key, even if they are created concurrently', async () => {
    const partnerId = await newPartner()
    const made = await Promise.all(
      Array.from({ length: 6 }, () => customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } })),
    )
    assert.deepEqual((await found(partnerId, 'hopper')).toSorted(), made.map(({ id }) => id).toSorted())
  })

  test('a rolled-back creation does not leave a key or tokens', async () => {
    const partnerId = await newPartner()
    const failed = db.transaction(async (tx) => {
      await customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } }, tx)
      throw new Error('rolled back')
    })
    await assert.rejects(failed, { message: 'rolled back' })
    assert.deepEqual(await computeTokens(partnerId), [])
    const { id } = await customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } })
    assert.deepEqual(await found(partnerId, 'grace'), [id])
  })

  test('the worker indexes customers that an earlier version wrote, in steps, even from two processes', async () => {
    while ((await customers.indexNamesStep()) > 0);
    const partnerIds = [await newPartner(), await newPartner()]
    const made = []
    for (const partnerId of partnerIds)
      for (let n = 0; n < 120; n += 1)
        made.push(await customers.create(partnerId, { kyc: { fullName: `Person ${n}a`, tradingName: 'Old Shop' } }))
    const expected = await Promise.all(partnerIds.map(computeTokens))
    const [first = '', second = ''] = partnerIds
    // Leaves rows as the earlier version would: created ones of the first partner, and a changed one of the second.
    await db.run(sql`delete from customers.name_tokens where partner_id = ${first}`)
    await db.run(
      sql`update customers.customers set name_tokens = null, names_indexed_at = null where partner_id = ${first}`,
    )
    const stranger = made.at(-1)?.id ?? ''
    await db.run(sql`update customers.customers set updated_at = updated_at + interval '1 second'
    where partner_id = ${second} and id = ${stranger}`)
    const other = (await service.anotherProcess()).customers
    let indexed = 0
    for (let idle = 0; idle < 3;) {
      const counts = await Promise.all([customers.indexNamesStep(), other.indexNamesStep()])
      indexed += counts[0] + counts[1]
      idle = counts[0] + counts[1] === 0 ? idle + 1 : 0
    }
    assert.equal(indexed, 121)
    assert.deepEqual(await Promise.all(partnerIds.map(computeTokens)), expected)
  })

  test('unreadable KYC does not stop the worker', async () => {
    const partnerId = await newPartner()
    const broken = await customers.create(partnerId, { kyc: { fullName: 'Broken Row' } })
    const intact = await customers.create(partnerId, { kyc: { fullName: 'Intact Row' } })
    await db.run(sql`update customers.customers set kyc_sealed = '\\x0100'::bytea
    where partner_id = ${partnerId} and id = ${broken.id}`)
    await db.run(sql`update customers.customers set names_indexed_at = null where partner_id = ${partnerId}`)
    while ((await customers.indexNamesStep()) > 0);
    assert.deepEqual(await found(partnerId, 'row'), [intact.id])
    assert.deepEqual(await found(partnerId, 'broken'), [])
  })
})

suite('export', async () => {
  const service = await useModules()

  type Line = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }

  /** Reads the lines of an export. */
  async function linesOf(partnerId: string, ref: string): Promise<readonly Line[]> {
    const { pages, closed } = await service.personalData.exports.open(partnerId, ref)
    const lines: ExportLine[] = []
    for await (const page of pages()) lines.push(...page)
    closed()
    return lines.map((line) => JSON.parse(JSON.stringify(line)) as Line)
  }
  const ofType = (lines: readonly Line[], type: string) =>
    lines.filter((line) => line.type === type).map(({ data }) => data)

  /** Creates a customer with data in every module. */
  async function addHeldCustomer() {
    const partner = await addPartner(service, 10_000n)
    const { partnerId, caller, customer, beneficiary } = partner
    const { customers, accounts, beneficiaries, deposits } = service
    await customers.update(partnerId, customer.id, { kyc: { personalIdentificationNumber: 'QX-77', city: 'London' } })
    const { ibans } = await accounts.create(partnerId, customer.id)
    const { payout } = await pay(service, partner, '1.00')
    const removed = await beneficiaries.create(partnerId, {
      name: 'Gone Payee',
      iban: 'DE89370400440532013000',
      currency: 'EUR',
      customerId: customer.serviceId,
    })
    await beneficiaries.remove(partnerId, removed.id)
    const { row: deposit } = await deposits.open(
      {
        partnerId,
        operation: 'simulateDeposit',
        customerRef: customer.id,
        amount: 500n,
        currency: 'EUR',
        idempotencyKey: null,
        websiteReference: null,
        customFields: { order: 'A-1' },
        ip: '192.0.2.9',
        expiresAfterMs: 60_000,
        variant: '',
      },
      async () => undefined,
    )
    const { session } = await service.checkout.create(caller, {
      amount: rawNumber('2.00'),
      currency: 'EUR',
      idempotencyKey: newId(),
      customerId: customer.id,
      returnUrl: 'https://shop.example.com/orders/42',
    })

    return { partnerId, customer, beneficiary, removed, ibans, payout, deposit, session }
  }

  test('an export states what is left out, and contains identity, history, accounts and payees', async () => {
    const { partnerId, customer, beneficiary, removed, ibans } = await addHeldCustomer()
    const lines = await linesOf(partnerId, customer.serviceId)
    assert.equal(lines[0]?.type, 'export')
    assert.deepEqual(lines.at(-1), { type: 'end', data: { lines: lines.length } })
    const leftOut = JSON.stringify(lines[0]?.data.leftOut)
    assert.match(leftOut, /personalIdentificationNumber/)
    assert.match(leftOut, /screening/)
    assert.ok(!JSON.stringify(lines.slice(1)).includes('QX-77'))
    const [held] = ofType(lines, 'customer')
    assert.equal(held?.guid, customer.id)
    assert.match(JSON.stringify(held?.kyc), /"city":"London"/)
    assert.deepEqual(
      ofType(lines, 'change').map(({ kind }) => kind),
      ['Updated', 'Created'],
    )
    assert.deepEqual(
      ofType(lines, 'account').map(({ iban }) => iban),
      ibans.map(({ iban }) => iban),
    )
    assert.deepEqual(
      ofType(lines, 'beneficiary').map(({ id, removedAt }) => [id, removedAt !== undefined]),
      [
        [beneficiary.id, false],
        [removed.id, true],
      ],
    )
  })

  test('an export contains every payment with all its data', async () => {
    const { partnerId, customer, payout, deposit, session } = await addHeldCustomer()
    const lines = await linesOf(partnerId, customer.id)
    const references = ofType(lines, 'transaction').map(({ reference }) => reference)
    assert.deepEqual(references, [session.reference, deposit.reference, payout.reference])
    assert.deepEqual(
      ofType(lines, 'deposit')
        .map(({ reference, ipAddress, customFields }) => [reference, ipAddress, customFields])
        .toSorted(([, left]) => (left === undefined ? 1 : -1)),
      [
        [deposit.reference, '192.0.2.9', { order: 'A-1' }],
        [session.reference, undefined, undefined],
      ],
    )
    assert.deepEqual(
      ofType(lines, 'payout').map(({ id }) => id),
      [payout.id],
    )
    const [shown] = ofType(lines, 'checkoutSession')
    assert.deepEqual([shown?.sessionId, shown?.returnUrl], [session.id, 'https://shop.example.com/orders/42'])
    assert.equal(shown?.url, undefined)
    assert.deepEqual(ofType(lines, 'screening'), [{ lists: ['UN', 'EU', 'OFAC'] }])
  })

  test('an export contains each of many transactions once, without transactions of other customers', async () => {
    const { partnerId, customer } = await addPartner(service)
    const other = await service.customers.create(partnerId, { email: 'other@example.com' })
    const rows = 251
    for (const [prefix, id] of [
      ['mine', customer.id],
      ['other', other.id],
    ])
      await service.db.run(sql`
      insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
        party_type, customer_id, type, status, timeline, created_at, updated_at)
      select ${partnerId}::uuid, gen_random_uuid(), ${prefix} || number, 100, 'EUR', 'Withdrawal', 'Outward', 'Fiat',
        'Customer', ${id}::uuid, 'PartnerCustomerWithdraw', 'Completed', '[]'::jsonb, ${service.clock.now()}::timestamptz,
        ${service.clock.now()}::timestamptz
      from generate_series(1, ${rows}::integer) as series (number)`)
    const references = ofType(await linesOf(partnerId, customer.id), 'transaction').map(({ reference }) => reference)
    assert.equal(references.length, rows)
    assert.deepEqual(new Set(references), new Set(Array.from({ length: rows }, (_, index) => `mine${index + 1}`)))
  })

  test('404 for an unknown customer and for a customer of another partner; a third concurrent export is refused', async () => {
    const { partnerId, customer } = await addPartner(service)
    const stranger = await addPartner(service)
    const { open } = service.personalData.exports
    await assert.rejects(open(stranger.partnerId, customer.id), refused('not_found'))
    await assert.rejects(open(partnerId, newId()), refused('not_found'))
    const [first, second] = [await open(partnerId, customer.id), await open(partnerId, customer.id)]
    await assert.rejects(open(partnerId, customer.id), refused('rate_limited'))
    const { closed } = await open(stranger.partnerId, stranger.customer.id)
    closed()
    first.closed()
    const third = await open(partnerId, customer.id)
    for (const { closed: close } of [second, third]) close()
  })
})
