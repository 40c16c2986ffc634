/** The filter by the state of the verification: the kept state follows the sealed KYC, the calendar and earlier versions. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noProofs } from '../../../../test/support/proofs.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { createCursors } from '../../kernel/api/index.ts'
import { createLog, createSealer, dayMs, hourMs, newId, randomBytes } from '../../kernel/index.ts'
import { createDatabase, type Database, sql } from '../../postgres/index.ts'
import { createScreening } from '../../screening/index.ts'
import { decidesHits, twoOfStaff } from '../../people/staff/index.ts'
import { createCustomers, type Customers } from './index.ts'

const start = new Date('2026-03-01T12:00:00.000Z')
const clock = createManualClock(start)
const deps = { clock, sealer: createSealer([randomBytes(32)]), cursors: createCursors(randomBytes(32)) }
let database: TestDatabase
let db: Database
let customers: Customers
const newCustomers = () =>
  createCustomers({
    ...deps,
    db,
    log: createLog('silent'),
    screening: createScreening({ judgeTwo: twoOfStaff(decidesHits), ...deps, db }),
    gatesByDefault: 'open',
    ...noProofs,
    identifiers: 'unique',
  })

before(async () => {
  database = await createTestDatabase()
  db = createDatabase({ url: database.url, connectionsMax: 8, log: createLog('silent') })
  customers = newCustomers()
})
after(async () => {
  await db?.close()
  await database?.drop()
})

async function newPartner(): Promise<string> {
  const id = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Partner', ${start})`)
  return id
}
const states = ['Complete', 'Incomplete', 'Invalid'] as const
/** The ids of each state, newest first. */
const byState = async (partnerId: string) =>
  Object.fromEntries(
    await Promise.all(
      states.map(async (verificationState) => {
        const { data } = await customers.list(partnerId, { verificationState })
        return [verificationState, data.map(({ id }) => id)] as const
      }),
    ),
  )
/** The step that a worker makes until none is left. */
async function judgeAll(): Promise<number> {
  let judged = 0
  for (let count = -1; count !== 0; judged += count) count = await customers.verifyStep()
  return judged
}

const person = (dateOfBirth: string) => ({
  fullName: 'Ada Lovelace',
  dateOfBirth,
  citizenshipCountryCode: 'GB',
  residenceAddress: '12 St James Square, London',
})

test('a customer is found by the state that its verification has, also after a change, and by no other partner', async () => {
  const [partnerId, stranger] = [await newPartner(), await newPartner()]
  const { id: complete } = await customers.create(partnerId, { kyc: person('1990-12-10') })
  const { id: incomplete } = await customers.create(partnerId, { email: 'ada@example.com' })
  const { id: invalid } = await customers.create(partnerId, { kyc: { ...person('1990-12-10'), website: 'no website' } })
  assert.deepEqual(await byState(partnerId), { Complete: [complete], Incomplete: [incomplete], Invalid: [invalid] })
  assert.deepEqual(await byState(stranger), { Complete: [], Incomplete: [], Invalid: [] })
  for (const id of [complete, incomplete, invalid]) {
    const { state } = await customers.verification(partnerId, id)
    assert.deepEqual((await byState(partnerId))[state], [id])
  }
  await customers.update(partnerId, invalid, { kyc: { website: 'example.com' } })
  await customers.update(partnerId, complete, { kyc: { fullName: null } })
  assert.deepEqual(await byState(partnerId), { Complete: [invalid], Incomplete: [incomplete, complete], Invalid: [] })
})

test('concurrent updates leave the state of the KYC that is stored', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { kyc: person('1990-12-10') })
  const websites = ['example.com', 'no website', 'example.org', 'none at all', 'example.net', ' also none ']
  await Promise.all([
    ...websites.map((website) => customers.update(partnerId, id, { kyc: { website } })),
    customers.verifyStep(),
  ])
  const { state } = await customers.verification(partnerId, id)
  assert.deepEqual((await byState(partnerId))[state], [id])
})

test('a minor becomes complete on the birthday, and the row tells no date but the next midnight', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { kyc: person('2008-03-03') })
  const { id: adult } = await customers.create(partnerId, { kyc: person('1990-12-10') })
  assert.deepEqual(await byState(partnerId), { Complete: [adult], Incomplete: [], Invalid: [id] })
  const dueAt = () =>
    db.rows<{ due: Date | null }>(sql`select verification_due_at as due from customers.customers
      where partner_id = ${partnerId} order by id`)
  assert.deepEqual(await dueAt(), [{ due: new Date('2026-03-02T00:00:00Z') }, { due: null }])
  assert.equal(await judgeAll(), 0, 'nothing is due today')
  clock.advance(12 * hourMs)
  assert.equal(await judgeAll(), 1)
  assert.deepEqual((await byState(partnerId))['Invalid'], [id])
  clock.advance(dayMs)
  assert.equal(await judgeAll(), 1)
  assert.deepEqual(await byState(partnerId), { Complete: [adult, id], Incomplete: [], Invalid: [] })
  assert.deepEqual(await dueAt(), [{ due: null }, { due: null }])
})

test('a very old customer is judged each day', async () => {
  const partnerId = await newPartner()
  const { id } = await customers.create(partnerId, { kyc: person('1905-03-04') })
  assert.deepEqual((await byState(partnerId))['Complete'], [id])
  clock.advance(dayMs)
  await judgeAll()
  assert.deepEqual((await byState(partnerId))['Invalid'], [id], 'older than 120 years')
})

test('the worker judges customers that an earlier version created or changed, in steps, also from two processes', async () => {
  await judgeAll()
  const partnerIds = [await newPartner(), await newPartner()]
  for (const partnerId of partnerIds)
    for (let n = 0; n < 120; n += 1)
      await customers.create(partnerId, { kyc: person(n < 3 ? '2020-01-01' : '1980-01-01') })
  const expected = await Promise.all(partnerIds.map(byState))
  const [first = '', second = ''] = partnerIds
  // As the earlier version leaves the rows of the first, and as it leaves a changed row of the second.
  await db.run(sql`update customers.customers
    set verification_state = null, verified_at = null, verification_due_at = null where partner_id = ${first}`)
  const changed = (await customers.list(second, { limit: '1' })).data[0]?.id ?? ''
  await db.run(sql`update customers.customers set updated_at = updated_at + interval '1 second', verification_state = 'Invalid'
    where partner_id = ${second} and id = ${changed}`)
  const other = newCustomers()
  let judged = 0
  for (let idle = 0; idle < 3;) {
    const counts = await Promise.all([customers.verifyStep(), other.verifyStep()])
    judged += counts[0] + counts[1]
    idle = counts[0] + counts[1] === 0 ? idle + 1 : 0
  }
  assert.equal(judged, 121)
  assert.deepEqual(await Promise.all(partnerIds.map(byState)), expected)
})

test('KYC that cannot be read has no state, and does not stop the worker', async () => {
  const partnerId = await newPartner()
  const broken = await customers.create(partnerId, { kyc: person('1990-12-10') })
  const intact = await customers.create(partnerId, { kyc: person('1990-12-10') })
  await db.run(sql`update customers.customers set kyc_sealed = '\\x0100'::bytea
    where partner_id = ${partnerId} and id = ${broken.id}`)
  await db.run(sql`update customers.customers set verified_at = null where partner_id = ${partnerId}`)
  assert.equal(await judgeAll(), 2)
  assert.deepEqual(await byState(partnerId), { Complete: [intact.id], Incomplete: [], Invalid: [] })
})
