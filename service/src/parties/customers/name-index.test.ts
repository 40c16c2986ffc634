/** The search by name: its index in the database follows the sealed names. */
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
const found = async (partnerId: string, namePrefix: string) =>
  (await customers.list(partnerId, { namePrefix })).data.map(({ id }) => id)
const tokensOf = async (partnerId: string) =>
  (
    await db.rows<{ token: string }>(sql`
      select customer_id::text || token::text as token from customers.name_tokens where partner_id = ${partnerId} order by 1`)
  ).map(({ token }) => token)

test('a customer is found by the beginning of a word of each of its names, and by no other partner', async () => {
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
  const [mine, theirs] = [await tokensOf(partnerId), await tokensOf(stranger)].map(
    (tokens) => new Set(tokens.map((token) => token.slice(36))),
  )
  assert.deepEqual(
    [...(mine ?? [])].filter((token) => theirs?.has(token)),
    [],
    'equal names have other tokens elsewhere',
  )
})

test('400 with a pointer to a search with fewer than two letters or digits', async () => {
  const partnerId = await newPartner()
  for (const namePrefix of ['a', ' - ', '...'])
    await assert.rejects(customers.list(partnerId, { namePrefix }), (error: unknown) => {
      assert(error instanceof Refusal)
      assert.deepEqual([error.code, error.errors[0]?.pointer], ['validation_failed', '/query/namePrefix'])
      return true
    })
})

test('the index follows a changed and a cleared name, and leaves no token behind', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { email: 'a@example.com', kyc: { fullName: 'Ada Lovelace' } })
  await customers.update(partnerId, id, { kyc: { fullName: 'Ada Byron' } })
  assert.deepEqual([await found(partnerId, 'lovelace'), await found(partnerId, 'byron')], [[], [id]])
  assert.deepEqual(await found(partnerId, 'ada'), [id])
  await customers.update(partnerId, id, { kyc: null })
  assert.deepEqual([await found(partnerId, 'ada'), await tokensOf(partnerId)], [[], []])
})

test('concurrent updates of a name leave the tokens of the stored name only', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { kyc: { fullName: 'Ada' } })
  const names = ['Grace Hopper', 'Joan Clarke', 'Mary Kenneth', 'Edith Clarke']
  await Promise.all(names.map((fullName) => customers.update(partnerId, id, { kyc: { fullName } })))
  const { kyc } = await customers.get(partnerId, id)
  const left = await tokensOf(partnerId)
  await customers.update(partnerId, id, { kyc: { fullName: 'Someone Else' } })
  await customers.update(partnerId, id, { kyc: { fullName: kyc.fullName ?? '' } })
  assert.deepEqual(await tokensOf(partnerId), left)
})

test('first customers that are created at once share one key', async () => {
  const partnerId = await newPartner()
  const made = await Promise.all(
    Array.from({ length: 6 }, () => customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } })),
  )
  assert.deepEqual((await found(partnerId, 'hopper')).toSorted(), made.map(({ id }) => id).toSorted())
})

test('a customer whose creation is rolled back leaves no key and no token', async () => {
  const partnerId = await newPartner()
  const failed = db.transaction(async (tx) => {
    await customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } }, tx)
    throw new Error('rolled back')
  })
  await assert.rejects(failed, { message: 'rolled back' })
  assert.deepEqual(await tokensOf(partnerId), [])
  const { id } = await customers.create(partnerId, { kyc: { fullName: 'Grace Hopper' } })
  assert.deepEqual(await found(partnerId, 'grace'), [id])
})

test('the worker indexes customers that an earlier version created or changed, in steps, also from two processes', async () => {
  while ((await customers.indexNamesStep()) > 0);
  const partnerIds = [await newPartner(), await newPartner()]
  const made = []
  for (const partnerId of partnerIds)
    for (let n = 0; n < 120; n += 1)
      made.push(await customers.create(partnerId, { kyc: { fullName: `Person ${n}a`, tradingName: 'Old Shop' } }))
  const expected = await Promise.all(partnerIds.map(tokensOf))
  const [first = '', second = ''] = partnerIds
  // As the earlier version leaves the rows of the first, and as it leaves a changed row of the second.
  await db.run(sql`delete from customers.name_tokens where partner_id = ${first}`)
  await db.run(
    sql`update customers.customers set name_tokens = null, names_indexed_at = null where partner_id = ${first}`,
  )
  const stranger = made.at(-1)?.id ?? ''
  await db.run(sql`update customers.customers set updated_at = updated_at + interval '1 second'
    where partner_id = ${second} and id = ${stranger}`)
  const other = createCustomers({
    ...deps,
    db,
    log: createLog('silent'),
    screening: createScreening({ judgeTwo: twoOfStaff(decidesHits), ...deps, db }),
    gatesByDefault: 'open',
    ...noProofs,
    identifiers: 'unique',
  })
  let indexed = 0
  for (let idle = 0; idle < 3;) {
    const counts = await Promise.all([customers.indexNamesStep(), other.indexNamesStep()])
    indexed += counts[0] + counts[1]
    idle = counts[0] + counts[1] === 0 ? idle + 1 : 0
  }
  assert.equal(indexed, 121)
  assert.deepEqual(await Promise.all(partnerIds.map(tokensOf)), expected)
})

test('KYC that cannot be read does not stop the worker', async () => {
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
