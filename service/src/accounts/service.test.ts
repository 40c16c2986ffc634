import assert from 'node:assert/strict'
import { createFactQueue } from '../inbox/index.ts'
import { after, test } from 'node:test'
import { noProofs } from '../../../test/support/proofs.ts'
import { decimalText } from '@partner-payments/wire'
import { isValidIBAN } from 'ibantools'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createCursors, Refusal } from '../kernel/api/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { createLog, createSealer, newId, randomBytes } from '../kernel/index.ts'
import { createAudit } from '../audit/index.ts'
import { createEventOutbox } from '../events/index.ts'
import { createIdempotency } from '../idempotency/index.ts'
import { createLedger, singleEntry } from '../ledger/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { createScreening } from '../screening/index.ts'
import { requireDecider, checkStaffDeciders } from '../people/staff/index.ts'
import { createCustomers } from '../parties/customers/index.ts'
import { createTransactions } from '../transactions/index.ts'
import { accountsRoutes, createAccounts } from './index.ts'
import { blockSize, defaultIssuers, type Issuer } from './rules.ts'

const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
const ledger = createLedger({ clock, segregates: false, holds: async () => [] })
const cursors = createCursors(randomBytes(32))

const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 12, log: createLog('silent') }))
const keys = { sealer: createSealer([randomBytes(32)]), cursors }
const screening = createScreening({
  requireDecider: (tx, by) => requireDecider(tx, 'screening_hit', by),
  judgeTwo: (tx, author, approver) => checkStaffDeciders(tx, 'screening_hit', author, approver),
  ...{ db, clock, facts: createFactQueue({ clock }), ...keys },
})
const customers = createCustomers({
  db,
  clock,
  ...keys,
  log: createLog('silent'),
  screening,
  gatesByDefault: 'open',
  ...noProofs,
  identifiers: 'unique',
})
const audit = createAudit({ db, clock, ...keys })
const idempotency = createIdempotency({ db, clock, ...keys, audit })
const eventOutbox = createEventOutbox()
const transactions = createTransactions({ db, clock, cursors, eventOutbox, customers, audit, clockDifferenceMsMax: 0 })
after(() => database?.drop())

const noPools = { poolCountries: [], poolLevels: { freeMin: 0, daysMin: 0 } }
const accountsFor = (issuers: readonly Issuer[]) =>
  createAccounts({ db, clock, log: createLog('silent'), cursors, customers, ledger, transactions, issuers, ...noPools })

async function newPartner(): Promise<string> {
  const id = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Partner', ${clock.now()})`)
  return id
}
const newCustomer = async (partnerId: string) => (await customers.create(partnerId, { email: 'ada@example.com' })).id

function refused(code: string) {
  return (error: unknown) => {
    assert(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    return true
  }
}

/** All rows of the module that belong to a partner. */
async function stored(partnerId: string): Promise<string> {
  const rows = await Promise.all([
    db.rows(sql`select * from accounts.iban_blocks where partner_id = ${partnerId} order by country, block`),
    db.rows(sql`select * from accounts.customer_accounts where partner_id = ${partnerId} order by customer_id`),
    db.rows(sql`select * from accounts.ibans where partner_id = ${partnerId} order by iban`),
  ])
  return JSON.stringify(rows)
}

test('50 concurrent calls for customers of several partners issue each IBAN once and give equal calls the same response', async () => {
  const accounts = accountsFor(defaultIssuers)
  const owners: { readonly partnerId: string; readonly customerId: string }[] = []
  for (let at = 0; at < 3; at += 1) {
    const partnerId = await newPartner()
    for (let n = 0; n < (at === 0 ? 4 : 3); n += 1) owners.push({ partnerId, customerId: await newCustomer(partnerId) })
  }
  assert.equal(owners.length, 10)
  const calls = Array.from({ length: 50 }, (_, at) => owners[at % 10]).filter((owner) => owner !== undefined)
  const answers = await Promise.all(calls.map(({ partnerId, customerId }) => accounts.create(partnerId, customerId)))
  assert.equal(answers.length, 50)
  answers.forEach((answer, at) => assert.deepEqual(answer, answers[at % 10]))
  const all = answers.slice(0, 10).flatMap(({ ibans }) => ibans.map(({ iban }) => iban))
  assert.equal(all.length, 30)
  assert.equal(new Set(all).size, 30)
  for (const [at, owner] of owners.entries())
    for (const { iban, country } of answers[at]?.ibans ?? []) {
      assert(isValidIBAN(iban) && iban.startsWith(country), iban)
      const [row, ...others] = await db.rows(
        sql`select partner_id, customer_id from accounts.ibans where iban = ${iban}`,
      )
      assert.deepEqual([row, others], [owner, []])
    }
  const blocks = await db.rows<{ country: string; block: number }>(sql`
    select country, block from accounts.iban_blocks`)
  assert.equal(new Set(blocks.map(({ country, block }) => `${country} ${block}`)).size, blocks.length)
  // Concurrent calls of a partner without a block take one block together, not one each.
  assert.equal(blocks.length, 9)
})

test('503 when a pool has no number left, and the refused call writes no row', async () => {
  const france: Issuer = { country: 'FR', bankCode: '9999900001' }
  const spain: Issuer = { country: 'ES', bankCode: '99990001', last: 3 }
  const accounts = accountsFor([france, spain])
  const partnerId = await newPartner()
  const owners = await Promise.all(Array.from({ length: 8 }, () => newCustomer(partnerId)))
  const outcomes = await Promise.allSettled(owners.map((customerId) => accounts.create(partnerId, customerId)))
  const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  for (const outcome of outcomes) if (outcome.status === 'rejected') refused('iban_pool_exhausted')(outcome.reason)
  assert.equal(made.length, 3)
  assert.equal(new Set(made.flatMap(({ ibans }) => ibans.map(({ iban }) => iban))).size, 6)
  const numbers = await db.rows(sql`
    select country, next_number from accounts.iban_blocks where partner_id = ${partnerId} order by country`)
  // The refused calls returned their French numbers.
  assert.deepEqual(numbers, [
    { country: 'ES', nextNumber: 3 },
    { country: 'FR', nextNumber: 3 },
  ])
  // The call of another partner is refused and leaves no row.
  const late = await newPartner()
  const customerId = await newCustomer(late)
  await assert.rejects(accounts.create(late, customerId), refused('iban_pool_exhausted'))
  assert.equal(await stored(late), '[[],[],[]]')
  // With more numbers assigned, the same pool continues.
  const grown = accountsFor([france, { ...spain, last: blockSize + 1 }])
  assert.equal((await grown.create(late, customerId)).ibans.length, 2)
  const refusedBefore = owners.filter((_, at) => outcomes[at]?.status === 'rejected')
  assert.equal(refusedBefore.length, 5)
  for (const owner of refusedBefore) assert.equal((await grown.create(partnerId, owner)).ibans.length, 2)
})

test('after the last number of its block, a partner takes the next block of the pool', async () => {
  const issuer: Issuer = { country: 'BE', bankCode: '999' }
  const accounts = accountsFor([issuer])
  const [one, other] = [await newPartner(), await newPartner()]
  const first = await accounts.create(one, await newCustomer(one))
  await accounts.create(other, await newCustomer(other))
  await db.run(sql`
    update accounts.iban_blocks set next_number = ${blockSize - 2} where partner_id = ${one} and country = 'BE'`)
  const owners = await Promise.all(Array.from({ length: 6 }, () => newCustomer(one)))
  const made = await Promise.all(owners.map((customerId) => accounts.create(one, customerId)))
  const ibans = [first, ...made].flatMap((account) => account.ibans.map(({ iban }) => iban))
  assert.equal(new Set(ibans).size, 7)
  const blocks = await db.rows(sql`
    select block, next_number from accounts.iban_blocks where partner_id = ${one} and country = 'BE' order by block`)
  assert.deepEqual(blocks, [
    { block: 0, nextNumber: blockSize },
    { block: 2, nextNumber: 4 },
  ])
})

test('a customer gets the IBAN of a country configured later, and keeps the IBAN of a country no longer configured', async () => {
  const [de, gb, lt] = defaultIssuers as readonly [Issuer, Issuer, Issuer]
  const partnerId = await newPartner()
  const customerId = await newCustomer(partnerId)
  const first = await accountsFor([de]).create(partnerId, customerId)
  assert.equal(first.ibans.length, 1)
  const grown = await accountsFor([de, lt]).create(partnerId, customerId)
  assert.deepEqual(grown.ibans[0], first.ibans[0])
  assert.deepEqual(
    grown.ibans.map(({ country }) => country),
    ['DE', 'LT'],
  )
  const moved = await accountsFor([lt, gb]).create(partnerId, customerId)
  assert.deepEqual(
    moved.ibans.map(({ country }) => country),
    ['LT', 'GB', 'DE'],
  )
  const withoutBic = { ...first.ibans[0], bic: null }
  assert.deepEqual(moved.ibans.slice(-1), [withoutBic])
  // A new bank code does not change issued IBANs.
  const rebanked = await accountsFor([{ ...de, bankCode: '99900002' }]).create(partnerId, customerId)
  assert.deepEqual(rebanked.ibans[0], withoutBic)
})

test('concurrent calls issue the IBAN of a new country exactly once', async () => {
  const [de, gb, lt] = defaultIssuers as readonly [Issuer, Issuer, Issuer]
  const partnerId = await newPartner()
  const customerId = await newCustomer(partnerId)
  await accountsFor([de]).create(partnerId, customerId)
  const grown = accountsFor([de, gb, lt])
  const answers = await Promise.all(Array.from({ length: 8 }, () => grown.create(partnerId, customerId)))
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.equal(answers[0]?.ibans.length, 3)
})

test('a partner has an exact balance per currency, and none before the first movement', async () => {
  const routes = accountsRoutes(accountsFor(defaultIssuers), idempotency)
  const partnerId = await newPartner()
  const caller = { partnerId, serviceAccountId: newId(), name: 'test', permissions: [] }
  const call = { caller, params: {}, requestId: newId(), ip: '192.0.2.1', query: {}, body: undefined }
  assert.deepEqual((await routes.listAccounts(call)).body, { data: [], nextCursor: null, hasMore: false })
  const movement = { partnerId, partyId: partnerId, reference: 'r-1' }
  await db.transaction(async (tx) => {
    const settlement = 'settlement.bank' as const
    const [incoming, outgoing] = [
      { ...movement, debit: settlement, credit: 'balance' },
      { ...movement, debit: 'balance', credit: settlement },
    ] as const
    await ledger.enter(tx, singleEntry('bank', { ...incoming, currency: 'EUR', amount: 100_001n }))
    await ledger.enter(tx, singleEntry('bank', { ...incoming, currency: 'USDC', amount: 1n }))
    await ledger.enter(tx, singleEntry('waits', { ...outgoing, currency: 'EUR', amount: 5n }))
  })
  const { body } = await routes.listAccounts(call)
  const shown = body.data.map(({ currency, posted, reserved, available, asOf }) => [
    currency,
    ...[posted, reserved, available].map(decimalText),
    asOf,
  ])
  const at = clock.now().toISOString()
  assert.deepEqual(shown, [
    ['EUR', '1000.01', '0.05', '999.96', at],
    ['USDC', '0.000001', '0.000000', '0.000001', at],
  ])
})

test('without an issuer, nothing is issued, and issued IBANs are kept', async () => {
  const partnerId = await newPartner()
  const [issued, fresh] = [await newCustomer(partnerId), await newCustomer(partnerId)]
  const before = await accountsFor(defaultIssuers).create(partnerId, issued)
  const none = accountsFor([])
  assert.deepEqual(
    (await none.create(partnerId, issued)).ibans.map(({ iban }) => iban).toSorted(),
    before.ibans.map(({ iban }) => iban).toSorted(),
  )
  await assert.rejects(none.create(partnerId, fresh), refused('iban_issuer_not_configured'))
  await assert.rejects(none.create(partnerId, newId()), refused('not_found'))
})

test('after a change of range, numbers begin at its first one, and none is issued again', async () => {
  const issuer: Issuer = { country: 'LU', bankCode: '999' }
  const partnerId = await newPartner()
  const issueIn = async (range: Pick<Issuer, 'first' | 'last'>) => {
    const account = await accountsFor([{ ...issuer, ...range }]).create(partnerId, await newCustomer(partnerId))
    return account.ibans[0].iban.slice(7)
  }
  const number = (value: number) => String(value).padStart(13, '0')
  assert.equal(await issueIn({ first: 5001, last: 7000 }), number(5001))
  assert.equal(await issueIn({ first: 1, last: 7000 }), number(5002))
  assert.equal(await issueIn({ first: 6001 }), number(6001))
  assert.equal(await issueIn({ first: 5001, last: 7000 }), number(5003))
  await assert.rejects(issueIn({ first: 1, last: 5000 }), refused('iban_pool_exhausted'))
})

test('the service does not start with a wrong configuration of issuers', () => {
  assert.throws(() => accountsFor([{ country: 'NO', bankCode: '1234' }]), { name: 'AssertionFailure' })
})
