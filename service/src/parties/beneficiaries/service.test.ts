import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { noProofs } from '../../../../test/support/proofs.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { createCursors, Refusal } from '../../kernel/api/index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createLog, createSealer, newId, randomBytes } from '../../kernel/index.ts'
import { createIdempotency } from '../../idempotency/index.ts'
import { createDatabase, type Database, sql } from '../../postgres/index.ts'
import { createScreening } from '../../screening/index.ts'
import { decidesHits, twoOfStaff } from '../../people/staff/index.ts'
import { createVerification } from '../payee-check/index.ts'
import { createCustomers, type Customers } from '../customers/index.ts'
import { type Beneficiaries, beneficiariesRoutes, createBeneficiaries } from './index.ts'

const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
const sealer = createSealer([randomBytes(32)])
const cursors = createCursors(randomBytes(32))
let database: TestDatabase
let db: Database
let customers: Customers
let beneficiaries: Beneficiaries
const verification = createVerification({ log: createLog('silent'), scheme: null, ownNames: async () => undefined })

before(async () => {
  database = await createTestDatabase()
  db = createDatabase({ url: database.url, connectionsMax: 5, log: createLog('silent') })
  const screening = createScreening({ judgeTwo: twoOfStaff(decidesHits), db, clock, sealer })
  customers = createCustomers({
    db,
    clock,
    sealer,
    cursors,
    log: createLog('silent'),
    screening,
    gatesByDefault: 'open',
    ...noProofs,
    identifiers: 'unique',
  })
  beneficiaries = createBeneficiaries({
    db,
    clock,
    cursors,
    customers,
    verification,
    refusedAddress: () => undefined,
    screening,
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

const euros = { name: 'Ada Lovelace', iban: 'DE89 3704 0044 0532 0130 00', currency: 'EUR' }

test('a beneficiary belongs to the partner, or to a customer given by guid or serviceId', async () => {
  const partnerId = await newPartner()
  const customer = await customers.create(partnerId, { email: 'ada@example.com' })
  const own = await beneficiaries.create(partnerId, { ...euros, alias: 'Ada', bic: 'COBADEFFXXX' })
  assert.equal(own.customerId, null)
  assert.deepEqual(await beneficiaries.get(partnerId, own.id.toUpperCase()), own)
  for (const customerId of [customer.id, customer.id.toUpperCase(), customer.serviceId])
    assert.equal((await beneficiaries.create(partnerId, { ...euros, customerId })).customerId, customer.id)
})

test('404 with a pointer when the customer is unknown or belongs to another partner', async () => {
  const partnerId = await newPartner()
  const { id, serviceId } = await customers.create(await newPartner(), { email: 'ada@example.com' })
  for (const customerId of [id, serviceId, newId()])
    await assert.rejects(beneficiaries.create(partnerId, { ...euros, customerId }), refused('not_found', '/customerId'))
  assert.equal((await beneficiaries.list(partnerId, {})).data.length, 0)
})

test('404 with the same words when the beneficiary is unknown, removed or belongs to another partner', async () => {
  const partnerId = await newPartner()
  const stranger = await newPartner()
  const kept = await beneficiaries.create(partnerId, euros)
  const removed = await beneficiaries.create(partnerId, euros)
  await beneficiaries.remove(partnerId, removed.id)
  const answers = new Set<string>()
  const collect = (error: unknown) => {
    assert(error instanceof Refusal)
    answers.add(`${error.code} ${error.detail} ${error.errors.length}`)
    return true
  }
  for (const [who, id] of [
    [stranger, kept.id],
    [partnerId, removed.id],
    [partnerId, newId()],
  ] as const) {
    await assert.rejects(beneficiaries.get(who, id), collect)
    await assert.rejects(beneficiaries.update(who, { id, name: 'Eve' }), collect)
    await assert.rejects(beneficiaries.remove(who, id), collect)
    assert.equal((await beneficiaries.payeesByIds(db, [{ partnerId: who, id }])).size, 0)
  }
  assert.deepEqual([...answers], ['not_found No such beneficiary. 0'])
  assert.deepEqual(await beneficiaries.get(partnerId, kept.id), kept)
  const row = await db.row(sql`
    select name, removed_at from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${removed.id}`)
  assert.deepEqual(row, { name: euros.name, removedAt: clock.now() })
})

test('an update changes alias, name or both, and no other field', async () => {
  const partnerId = await newPartner()
  const made = await beneficiaries.create(partnerId, euros)
  clock.advance(1000)
  const aliased = await beneficiaries.update(partnerId, { id: made.id, alias: 'Rent' })
  assert.deepEqual(aliased, { ...made, alias: 'Rent', updatedAt: clock.now() })
  const named = await beneficiaries.update(partnerId, { id: made.id, name: 'Augusta Ada' })
  assert.deepEqual(named, { ...aliased, name: 'Augusta Ada' })
  assert.deepEqual(await beneficiaries.get(partnerId, made.id), named)
  await assert.rejects(beneficiaries.update(partnerId, { id: made.id }), refused('validation_failed', ''))
})

test('one of two concurrent removals succeeds', async () => {
  const partnerId = await newPartner()
  const { id } = await beneficiaries.create(partnerId, euros)
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => beneficiaries.remove(partnerId, id)))
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('a list is newest first, filtered by customer and currency, and has no removed beneficiary', async () => {
  const partnerId = await newPartner()
  const customer = await customers.create(partnerId, { email: 'ada@example.com' })
  const own = await beneficiaries.create(partnerId, euros)
  const hers = await beneficiaries.create(partnerId, { ...euros, customerId: customer.id })
  const walletAddress = '0x52908400098527886e0f7030069857d2e4169ee7'
  const tokens = await beneficiaries.create(partnerId, { name: 'Wallet', currency: 'USDC', walletAddress })
  const gone = await beneficiaries.create(partnerId, euros)
  await beneficiaries.remove(partnerId, gone.id)
  const ids = async (query: Parameters<Beneficiaries['list']>[1]) =>
    (await beneficiaries.list(partnerId, query)).data.map(({ id }) => id)
  assert.deepEqual(await ids({}), [tokens.id, hers.id, own.id])
  assert.deepEqual(await ids({ customerId: customer.serviceId }), [hers.id])
  assert.deepEqual(await ids({ currency: 'EUR' }), [hers.id, own.id])
  assert.deepEqual(await ids({ currency: 'USDC', customerId: customer.id }), [])
  assert.deepEqual(await ids({ customerId: newId() }), [])
  const first = await beneficiaries.list(partnerId, { limit: '2' })
  assert.equal(first.hasMore, true)
  assert.deepEqual(await ids({ limit: '2', cursor: first.nextCursor ?? '' }), [own.id])
})

test('a response has the given fields and no null', async () => {
  const partnerId = await newPartner()
  const routes = beneficiariesRoutes(beneficiaries, createIdempotency({ db, clock, sealer }))
  const caller = { partnerId, serviceAccountId: newId(), name: 'test', permissions: [] }
  const call = { caller, requestId: newId(), ip: '192.0.2.1', params: {}, query: undefined }
  const { body } = await routes.createBeneficiary({ ...call, body: euros })
  const at = clock.now().toISOString()
  const expected = { id: body.id, name: euros.name, iban: 'DE89370400440532013000', country: 'DE', currency: 'EUR' }
  assert.deepEqual(body, { ...expected, createdAt: at, updatedAt: at })
  const removal = { ...call, params: { id: body.id }, body: undefined }
  assert.deepEqual(await routes.deleteBeneficiary(removal), { body: undefined })
  await assert.rejects(routes.deleteBeneficiary(removal), refused('not_found'))
})
