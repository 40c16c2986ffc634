import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noProofs } from '../../../../test/support/proofs.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { createCursors, Refusal } from '../../kernel/api/index.ts'
import { createLog, createSealer, newId, randomBytes } from '../../kernel/index.ts'
import { createDatabase, type Database, sql } from '../../postgres/index.ts'
import { createScreening } from '../../screening/index.ts'
import { decidesHits, twoOfStaff } from '../../people/staff/index.ts'
import { createCustomers, type Customers } from './index.ts'
import { changedFields } from './rules.ts'

const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
const deps = { clock, sealer: createSealer([randomBytes(32)]), cursors: createCursors(randomBytes(32)) }
let database: TestDatabase
let db: Database
let customers: Customers

before(async () => {
  database = await createTestDatabase()
  db = createDatabase({ url: database.url, connectionsMax: 8, log: createLog('silent') })
  customers = createCustomers({
    ...deps,
    db,
    log: createLog('silent'),
    screening: createScreening({ judgeTwo: twoOfStaff(decidesHits), ...deps, db }),
    gatesByDefault: 'open',
    ...noProofs,
    identifiers: 'unique',
  })
})
after(async () => {
  await db?.close()
  await database?.drop()
})

async function newPartner(): Promise<string> {
  const id = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Partner', ${clock.now()})`)
  return id
}
const by = { serviceAccountId: newId(), name: 'Back office', requestId: 'request-1' }
const pin = 'QX-77-SECRET-123'

test('the changes of two records are their differences, in the order of the names', () => {
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

test('the history has who changed what and when, newest first, and no change that changes nothing', async () => {
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

test('concurrent updates are numbered without gaps, and each change begins where the one before ended', async () => {
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

test('pages follow one another while changes are added; a cursor belongs to its customer', async () => {
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

test('404 to the history of an unknown customer and of another partner', async () => {
  const [partnerId, stranger] = [await newPartner(), await newPartner()]
  const { id, serviceId } = await customers.create(partnerId, { kyc: { city: 'Rome' } })
  for (const ref of [id, serviceId, newId(), 'x'])
    await assert.rejects(customers.history(stranger, ref, {}), (error: unknown) => {
      assert(error instanceof Refusal)
      return error.code === 'not_found' && error.detail === 'No such customer.'
    })
})

test('the database holds no value of a change in plain text', async () => {
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
