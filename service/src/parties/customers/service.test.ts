import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { AssertionFailure, newId, partnerKey } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Customers } from './index.ts'

const service = await useModules({ now: new Date('2026-03-01T12:00:00.000Z') })
const { clock, customers, db } = service
/** Settings in which customers may share an identifier. */
const sharing = (await service.anotherProcess({ settings: { CUSTOMER_IDENTIFIERS: 'shared' } })).customers
const newPartner = () => db.transaction((tx) => service.access.createPartner(tx, 'Partner'))

function refused(code: string, ...pointers: readonly string[]) {
  return (error: unknown) => {
    assert(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    assert.deepEqual(
      error.errors.map(({ pointer }) => pointer),
      pointers,
    )
    return true
  }
}

const kyc = { fullName: 'Ada Lovelace', city: 'London', personalIdentificationNumber: 'QX-77-SECRET-123' }

test('400 when a new customer has no field, or a bad one', async () => {
  const partnerId = await newPartner()
  await assert.rejects(customers.create(partnerId, {}), refused('validation_failed', ''))
  const bad = { email: 'a@b.c', kyc: { dateOfBirth: '2023-02-30', citizenshipCountryCode: 'XX' } }
  await assert.rejects(
    customers.create(partnerId, bad),
    refused('validation_failed', '/kyc/dateOfBirth', '/kyc/citizenshipCountryCode'),
  )
  assert.equal((await customers.list(partnerId, {})).data.length, 0)
})

test('an assessment validates customers like a creation or an update, and stores nothing', async () => {
  const partnerId = await newPartner()
  const input = { kyc: { dateOfBirth: '1990-13-45', citizenshipCountryCode: 'XX' } }
  const [good, bad, later, none] = await customers.assess(partnerId, [
    { input: { kyc } },
    { input },
    { before: { id: newId(), kyc }, input: { kyc: { dateOfIncorporation: '2999-01-01' } } },
    { input: {} },
  ])
  assert.deepEqual([good, none], [undefined, undefined])
  assert.ok(refused('validation_failed', '/kyc/dateOfBirth', '/kyc/citizenshipCountryCode')(bad))
  assert.ok(refused('validation_failed', '/kyc/dateOfIncorporation')(later))
  assert.deepEqual(await customers.assess(partnerId, []), [])
  assert.equal((await customers.list(partnerId, {})).data.length, 0)
})

test('an update sets given fields, clears null, keeps the other fields and sets updatedAt', async () => {
  const partnerId = await newPartner()
  const given = { email: 'ada@example.com', partnerCustomerIdentifier: 'p-1', kyc, customerType: 'SoleTrader' as const }
  const made = await customers.create(partnerId, given)
  clock.advance(1000)
  const updated = await customers.update(partnerId, made.serviceId, {
    email: null,
    kyc: { city: null, taxId: '42', legalName: 'Engines Ltd' },
  })
  assert.deepEqual(updated, {
    ...made,
    email: null,
    kyc: {
      fullName: kyc.fullName,
      personalIdentificationNumber: kyc.personalIdentificationNumber,
      taxId: '42',
      legalName: 'Engines Ltd',
    },
    updatedAt: clock.now(),
  })
  assert.deepEqual(await customers.get(partnerId, made.id), updated)
  const cleared = await customers.update(partnerId, made.id, { kyc: null })
  assert.deepEqual([cleared.kyc, cleared.partnerCustomerIdentifier, cleared.customerType], [{}, 'p-1', 'SoleTrader'])
  await assert.rejects(customers.update(partnerId, made.id, {}), refused('validation_failed', ''))
  await assert.rejects(
    customers.update(partnerId, made.id, { email: 'b@example.com', kyc: { dateOfBirth: '2999-01-01' } }),
    refused('validation_failed', '/kyc/dateOfBirth'),
  )
  assert.deepEqual(await customers.get(partnerId, made.id), cleared)
})

test('a payer contains only the citizenship of the KYC, and another partner cannot find it', async () => {
  const partnerId = await newPartner()
  const stranger = await newPartner()
  const given = { email: 'ada@example.com', kyc: { ...kyc, citizenshipCountryCode: 'GB' } }
  const { id, serviceId, partnerCustomerIdentifier, email } = await customers.create(partnerId, given)
  const payerOf = async (owner: string) =>
    (await customers.payersByIds(db, [{ partnerId: owner, id }])).get(partnerKey(owner, id))
  const gate = { opensAccounts: true, receives: true, pays: true, converts: true, balancesMax: {}, totalMax: {} }
  const marks = { isErased: false, accountState: 'Active', verificationState: 'Incomplete', gate }
  const expected = { id, serviceId, partnerCustomerIdentifier, email, citizenshipCountryCode: 'GB', ...marks }
  for (const _ of [1, 2]) assert.deepEqual(await payerOf(partnerId), expected)
  assert.equal(await payerOf(stranger), undefined)
  for (const country of ['DE', null, 'FR']) {
    await customers.update(partnerId, id, { kyc: { citizenshipCountryCode: country } })
    for (const _ of [1, 2]) assert.deepEqual(await payerOf(partnerId), { ...expected, citizenshipCountryCode: country })
  }
  assert.equal((await customers.payersByIds(db, [])).size, 0)
})

test('the database does not contain KYC in plain text', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { email: 'ada@example.com', kyc })
  const tables = await db.rows<{ name: string }>(sql`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)
  assert(tables.length > 5)
  const dump: string[] = []
  for (const { name } of tables) {
    const rows = await db.pool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} as t`)
    dump.push(...rows.rows.map(({ row }) => row))
  }
  const everything = dump.join('\n')
  assert(everything.includes('ada@example.com'), 'the search finds stored text')
  for (const value of Object.values(kyc)) {
    assert(!everything.includes(value), value)
    assert(!everything.includes(Buffer.from(value).toString('hex')), `${value} as bytea`)
    assert(!everything.includes(Buffer.from(value).toString('base64').slice(0, -2)), `${value} as base64`)
  }
  // A sealed value cannot be opened in the row of another customer.
  const other = await customers.create(partnerId, { email: 'eve@example.com' })
  await db.run(sql`
    update customers.customers set kyc_sealed = (
      select kyc_sealed from customers.customers where partner_id = ${partnerId} and id = ${id})
    where partner_id = ${partnerId} and id = ${other.id}`)
  await assert.rejects(customers.get(partnerId, other.id), { name: 'AssertionFailure' })
  await assert.rejects(customers.payersByIds(db, [{ partnerId, id: other.id }]), { name: 'AssertionFailure' })
})

test('a list is paged newest first and filtered', async () => {
  const partnerId = await newPartner()
  const made = []
  for (let n = 0; n < 5; n += 1)
    made.push(
      await sharing.create(partnerId, {
        email: n < 2 ? 'Same@Example.com' : `c${n}@example.com`,
        partnerCustomerIdentifier: n % 2 === 0 ? 'even' : 'odd',
        customerType: n === 4 ? 'Business' : 'Individual',
      }),
    )
  const newest = made.map(({ id }) => id).toReversed()
  const seen: string[] = []
  let cursor: string | null = null
  let pages = 0
  do {
    const page: Awaited<ReturnType<Customers['list']>> = await customers.list(partnerId, {
      limit: '2',
      ...(cursor === null ? {} : { cursor }),
    })
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
    pages += 1
    assert.equal(page.hasMore, cursor !== null)
  } while (cursor !== null)
  assert.deepEqual([seen, pages], [newest, 3])
  const ids = async (query: Parameters<Customers['list']>[1]) =>
    (await customers.list(partnerId, query)).data.map(({ id }) => newest.indexOf(id))
  assert.deepEqual(await ids({ email: 'same@example.COM' }), [3, 4])
  assert.deepEqual(await ids({ partnerCustomerIdentifier: 'even' }), [0, 2, 4])
  assert.deepEqual(await ids({ customerType: 'Business' }), [0])
  assert.deepEqual(await ids({ customerType: 'Business', partnerCustomerIdentifier: 'odd' }), [])
  const { nextCursor } = await customers.list(partnerId, { limit: '1' })
  await assert.rejects(
    customers.list(await newPartner(), { cursor: nextCursor ?? '' }),
    refused('validation_failed', '/query/cursor'),
  )
})

test('undecryptable KYC makes the request of its customer fail, but not lists', async () => {
  const partnerId = await newPartner()
  const intact = await customers.create(partnerId, { email: 'ada@example.com', kyc })
  const broken = await customers.create(partnerId, { email: 'grace@example.com', kyc })
  await db.run(sql`
    update customers.customers set kyc_sealed = (select kyc_sealed from customers.customers
      where partner_id = ${partnerId} and id = ${intact.id})
    where partner_id = ${partnerId} and id = ${broken.id}`)
  const { data } = await customers.list(partnerId, {})
  assert.deepEqual(data, [{ ...broken, kyc: {} }, intact])
  await assert.rejects(customers.get(partnerId, broken.id), AssertionFailure)
})

test('an identifier belongs to one customer: a second customer with it is refused with the id of the first, even concurrently', async () => {
  const [partnerId, other] = [await newPartner(), await newPartner()]
  const first = await customers.create(partnerId, { partnerCustomerIdentifier: 'crm-1' })
  const second = await customers.create(partnerId, { partnerCustomerIdentifier: 'crm-2' })
  const exists = (error: unknown) => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.errors[0]?.pointer], ['customer_exists', '/partnerCustomerIdentifier'])
    assert.match(error.detail, new RegExp(first.id))
    return true
  }
  await assert.rejects(customers.create(partnerId, { partnerCustomerIdentifier: 'crm-1' }), exists)
  await assert.rejects(customers.update(partnerId, second.id, { partnerCustomerIdentifier: 'crm-1' }), exists)
  const judged = await customers.assess(partnerId, [
    { input: { partnerCustomerIdentifier: 'crm-1' } },
    { before: second, input: { partnerCustomerIdentifier: 'crm-1' } },
    { before: first, input: { partnerCustomerIdentifier: 'crm-1' } },
    { before: second, input: { partnerCustomerIdentifier: 'crm-3' } },
    { input: { partnerCustomerIdentifier: 'crm-3' } },
  ])
  assert.deepEqual(
    judged.map((refusal) => refusal?.code),
    ['customer_exists', 'customer_exists', undefined, undefined, 'customer_exists'],
  )
  assert.ok(exists(judged[0]))
  await customers.update(partnerId, first.id, { partnerCustomerIdentifier: 'crm-1', email: 'a@example.com' })
  await customers.create(other, { partnerCustomerIdentifier: 'crm-1' })
  // A free identifier can be used again. Identifiers are case-sensitive.
  await customers.update(partnerId, first.id, { partnerCustomerIdentifier: null })
  await customers.create(partnerId, { partnerCustomerIdentifier: 'crm-1' })
  await customers.create(partnerId, { partnerCustomerIdentifier: 'CRM-1' })
  const raced = await Promise.allSettled(
    Array.from({ length: 5 }, () => customers.create(partnerId, { partnerCustomerIdentifier: 'crm-9' })),
  )
  assert.equal(raced.filter(({ status }) => status === 'fulfilled').length, 1)
})
