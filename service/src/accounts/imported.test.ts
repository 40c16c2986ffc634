/**
 * Pools of imported IBANs on a real database: invalid files, races for the last IBANs, pools of partners, and IBANs
 * that are never assigned again.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPartner, createTestService, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { ibansFrom, importIbans } from '../../../test/support/ibans.ts'
import { refused } from '../../../test/support/refusals.ts'
import { createLog, dayMs, hourMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { createImportedPools, type PoolLevel } from './imported.ts'
import { IbanFileProblem } from './index.ts'

const settings = { IBAN_ISSUERS: 'LT:10000', IBAN_POOLS: 'DE', IBAN_POOL_FREE_MIN: '3', IBAN_POOL_DAYS_MIN: '10' }
let service: Service
let partner: TestPartner
beforeEach(async () => {
  service = await createTestService({ settings, connectionsMax: 20 })
  partner = await addPartner(service)
})
afterEach(() => service.close())

const customersOf = (count: number, { partnerId }: TestPartner = partner) =>
  Promise.all(
    Array.from({ length: count }, async () => (await service.customers.create(partnerId, { email: 'a@b.cd' })).id),
  )
/** Opens an account and returns its German IBAN. */
async function open(customerId: string, { partnerId }: TestPartner = partner, on: Service = service): Promise<string> {
  const { ibans } = await on.accounts.create(partnerId, customerId)
  return ibans.find(({ country }) => country === 'DE')?.iban ?? ''
}
const openOne = async (by: TestPartner = partner) => open((await customersOf(1, by))[0] ?? '', by)
const exhausted = refused('iban_pool_exhausted', /No IBAN is left in DE/)
const countsOf = async () =>
  Object.fromEntries(
    (await service.accounts.pools.list(service.db)).map(({ name, total, free, given, quarantined, withdrawn }) => [
      name,
      { total, free, given, quarantined, withdrawn },
    ]),
  )

test('an imported file fills a pool, with a header, BICs, groups of four, empty lines or quotes', async () => {
  const [one = '', two = '', three = ''] = ibansFrom(1, 3)
  const grouped = two.replaceAll(/(.{4})/g, '$1 ').trim()
  const lines = ['IBAN,BIC', `${one},INGDDEFFXXX`, '', `"${grouped}";"INGDDEFF"`, three]
  const imported = await importIbans(service, 'ing', lines)
  assert.deepEqual(imported, {
    ...{ pool: 'ing', country: 'DE', lines: 3, imported: 3, bad: 0, isRepetition: false },
    badLines: [],
  })
  const [customerId = ''] = await customersOf(1)
  const { ibans } = await service.accounts.create(partner.partnerId, customerId)
  assert.deepEqual(
    ibans.map(({ country, bic }) => [country, bic]),
    [
      ['LT', null],
      ['DE', 'INGDDEFFXXX'],
    ],
  )
  const again = await service.accounts.create(partner.partnerId, customerId)
  assert.deepEqual(again.ibans, ibans, 'an account that is there takes no other IBAN')
})

test('each invalid line is reported with its number and reason, and the whole file is refused', async () => {
  const [one = '', two = '', three = '', four = ''] = ibansFrom(1, 4)
  await importIbans(service, 'first', [three])
  const [issued = ''] = ibansFrom(70, 1, { country: 'LT', bankCode: '10000' })
  await importIbans(service, 'given', [four])
  await openOne()
  await openOne()
  await service.db.run(sql`delete from accounts.imported_ibans where iban = ${four}`)
  const lines = [
    ...['iban', one, `${one.slice(0, 2)}00${one.slice(4)}`, 'DE1234', 'hello', 'ZZ12345678901234'],
    ...[
      'GB29NWBK60161331926819',
      `${two},NOBIC`,
      `${two},INGDDEFF,x`,
      one,
      three,
      four,
      issued,
      'de89370400440532013000',
    ],
  ]
  const expected = [
    [3, 'check_digits'],
    [4, 'structure'],
    [5, 'not_an_iban'],
    [6, 'unknown_country'],
    [7, 'wrong_country'],
    [8, 'bic'],
    [9, 'too_many_cells'],
    [10, 'double_in_file'],
    [11, 'double_in_database'],
    [12, 'double_in_database'],
    [13, 'wrong_country'],
    [14, 'not_an_iban'],
  ]
  await assert.rejects(importIbans(service, 'second', lines), (error: unknown) => {
    assert.ok(error instanceof IbanFileProblem)
    assert.equal(error.bad, expected.length)
    return true
  })
  assert.equal((await countsOf()).second, undefined)
  const imported = await importIbans(service, 'second', lines, { skipsBad: true })
  assert.deepEqual(
    imported.badLines.map(({ line, reason }) => [line, reason]).toSorted(([a = 0], [b = 0]) => Number(a) - Number(b)),
    expected,
  )
  assert.deepEqual([imported.imported, imported.bad, imported.lines], [1, 12, 13])
  assert.equal(await openOne(), one)
})

test('an IBAN whose bank code the service issues itself is refused', async () => {
  const { badLines } = await importIbans(service, 'lt', ibansFrom(1, 1, { country: 'LT', bankCode: '10000' }), {
    skipsBad: true,
  })
  assert.deepEqual(
    badLines.map(({ reason }) => reason),
    ['issued_by_range'],
  )
})

test('a second import of the same file imports nothing and reports a repetition; another file with the same IBANs is refused', async () => {
  const lines = ibansFrom(1, 10)
  await importIbans(service, 'ing', lines)
  const again = await importIbans(service, 'ing', lines)
  assert.deepEqual([again.isRepetition, again.imported, again.bad], [true, 0, 0])
  await assert.rejects(importIbans(service, 'ing', lines.toReversed()), IbanFileProblem)
  await assert.rejects(importIbans(service, 'other', lines), IbanFileProblem)
  assert.equal((await countsOf()).ing?.total, 10)
})

test('an IBAN that repeats one of another page of the file is reported with the line of the first', async () => {
  const ibans = ibansFrom(1, 5_002)
  const { badLines, imported } = await importIbans(service, 'ing', [...ibans, ibans[0] ?? '', ibans[5_001] ?? ''], {
    skipsBad: true,
  })
  assert.equal(imported, 5_002)
  assert.deepEqual(
    badLines.map(({ line, reason, detail }) => [line, reason, detail]),
    [
      [5_003, 'double_in_file', 'Line 1 has the same IBAN.'],
      [5_004, 'double_in_file', 'Line 5002 has the same IBAN.'],
    ],
  )
})

test('two concurrent imports of a file fill the pool once', async () => {
  const lines = ibansFrom(1, 200)
  const made = await Promise.all([importIbans(service, 'ing', lines), importIbans(service, 'ing', lines)])
  assert.deepEqual(
    made.map(({ imported }) => imported).toSorted((a, b) => a - b),
    [0, 200],
  )
  const rivals = await Promise.allSettled([
    importIbans(service, 'one', ibansFrom(500, 50)),
    importIbans(service, 'two', ibansFrom(500, 50)),
  ])
  assert.deepEqual(rivals.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

test('51 concurrent openings in two processes with a pool of 50 assign 50 IBANs, and the refused one writes nothing', async () => {
  const ibans = ibansFrom(1, 50)
  await importIbans(service, 'ing', ibans)
  const other = await createTestService({ url: service.url, settings, connectionsMax: 20 })
  const owners = await customersOf(51)
  const outcomes = await Promise.allSettled(
    owners.map((customerId, at) => open(customerId, partner, at % 2 === 0 ? service : other)),
  )
  await other.close()
  const given = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  assert.deepEqual(given.toSorted(), ibans.toSorted())
  const [refused] = outcomes.flatMap((outcome, at) =>
    outcome.status === 'rejected' ? [{ reason: outcome.reason as unknown, owner: owners[at] ?? '' }] : [],
  )
  assert.ok(exhausted(refused?.reason))
  const { partnerId } = partner
  const rows = await service.db.rows(sql`
    select 1 from accounts.ibans where partner_id = ${partnerId} and customer_id = ${refused?.owner}
    union all
    select 1 from accounts.customer_accounts where partner_id = ${partnerId} and customer_id = ${refused?.owner}`)
  assert.equal(rows.length, 0, 'neither the account nor its IBAN of the other country')
  assert.deepEqual((await countsOf()).ing, { total: 50, free: 0, given: 50, quarantined: 0, withdrawn: 0 })
  // The partner retries when the operator has imported more.
  await importIbans(service, 'more', ibansFrom(100, 1))
  assert.deepEqual([await open(refused?.owner ?? '')], ibansFrom(100, 1))
})

test('concurrent calls for one customer assign one IBAN', async () => {
  await importIbans(service, 'ing', ibansFrom(1, 10))
  const [customerId = ''] = await customersOf(1)
  const given = await Promise.all(Array.from({ length: 10 }, () => open(customerId)))
  assert.equal(new Set(given).size, 1)
  assert.equal((await countsOf()).ing?.given, 1)
})

test('the pool of a partner is used before the shared pool, and never for another partner', async () => {
  const { partnerId } = partner
  await importIbans(service, 'all', ibansFrom(1, 2))
  await importIbans(service, 'own', ibansFrom(50, 1), { partnerId })
  const other = await addPartner(service)
  assert.deepEqual([await openOne(other)], ibansFrom(1, 1))
  assert.deepEqual([await openOne()], ibansFrom(50, 1))
  assert.deepEqual([await openOne()], ibansFrom(2, 1))
  await importIbans(service, 'own', ibansFrom(60, 1), { partnerId })
  await assert.rejects(openOne(other), exhausted)
  const about = { partnerId: other.partnerId }
  await assert.rejects(importIbans(service, 'own', ibansFrom(70, 1), about), refused('validation_failed', /belongs to/))
  await assert.rejects(importIbans(service, 'all', ibansFrom(70, 1), about), refused('validation_failed', /is shared/))
  const dollars = { partnerId, currency: 'USD' }
  await assert.rejects(importIbans(service, 'own', ibansFrom(70, 1), dollars), refused('validation_failed', /has the/))
})

test('the IBAN of a closed or erased account is quarantined, and never assigned or imported again', async () => {
  const { partnerId } = partner
  await importIbans(service, 'ing', ibansFrom(1, 2))
  const [closed = '', erased = '', late = ''] = await customersOf(3)
  const given = [await open(closed), await open(erased)]
  const { db, accounts, clock } = service
  await db.transaction(async (tx) => {
    const account = { customerRef: closed }
    await accounts.changeState(tx, { partnerId, account, state: 'Closed', reason: 'Other', note: '', staff: 'Sam' })
    await accounts.close(tx, partnerId, erased, clock.now())
    await accounts.erase(tx, partnerId, erased)
  })
  assert.deepEqual((await countsOf()).ing, { total: 2, free: 0, given: 0, quarantined: 2, withdrawn: 0 })
  await assert.rejects(open(late), exhausted)
  const { badLines } = await importIbans(service, 'again', given, { skipsBad: true })
  assert.deepEqual(
    badLines.map(({ reason }) => reason),
    ['double_in_database', 'double_in_database'],
  )
  assert.equal(await accounts.isOurs(db, given[1] ?? ''), true)
  assert.equal(await accounts.isOurs(db, ibansFrom(9_000, 1)[0] ?? ''), false)
})

test('withdrawn IBANs are not assigned, also during concurrent openings', async () => {
  await importIbans(service, 'ing', ibansFrom(1, 30))
  const [first = ''] = ibansFrom(1, 1)
  const { db, accounts } = service
  const withdraw = (iban?: string, partnerId?: string) =>
    db.transaction((tx) => accounts.pools.withdraw(tx, { pool: 'ing', iban, partnerId }))
  assert.equal(await withdraw(first), 1)
  await assert.rejects(withdraw(first), refused('not_found', /No such free IBAN/))
  await assert.rejects(withdraw(undefined, partner.partnerId), refused('validation_failed', /is shared/))
  const owners = await customersOf(15)
  const [withdrawn, ...outcomes] = await Promise.allSettled([withdraw(), ...owners.map((id) => open(id))])
  assert.equal(withdrawn.status, 'fulfilled')
  const given = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value as string] : []))
  for (const outcome of outcomes) if (outcome.status === 'rejected') exhausted(outcome.reason)
  assert.equal(new Set(given).size, given.length)
  assert.ok(!given.includes(first))
  const counts = { total: 30, free: 0, given: given.length, quarantined: 0, withdrawn: 30 - given.length }
  assert.deepEqual((await countsOf()).ing, counts)
  await importIbans(service, 'ing', ibansFrom(100, 1))
  assert.deepEqual([await openOne()], ibansFrom(100, 1))
})

test('a pool is low if it has too few free IBANs or days left, and a withdrawn pool is never low', async () => {
  const { accounts, clock, db } = service
  let seen: readonly PoolLevel[] = []
  const look = async () => {
    await accounts.pools.lookStep((levels) => (seen = levels))
    return seen.map(({ free, daysLeft, isLow }) => [free, daysLeft, isLow])
  }
  assert.deepEqual(await look(), [])
  await importIbans(service, 'ing', ibansFrom(1, 20))
  assert.deepEqual(await look(), [[20, null, false]])
  clock.advance(2 * dayMs)
  for (let opened = 0; opened < 4; opened += 1) await openOne()
  // Four in two days: sixteen last for eight days.
  assert.deepEqual(await look(), [[16, 8, true]])
  clock.advance(38 * dayMs)
  assert.deepEqual(await look(), [[16, null, false]])
  for (let opened = 0; opened < 14; opened += 1) await openOne()
  // 14 in 30 days.
  assert.deepEqual(await look(), [[2, 4, true]])
  const [view] = await accounts.pools.list(db)
  assert.deepEqual([view?.daysLeft, view?.isLow, view?.partnerId], [4, true, null])
  await db.transaction((tx) => accounts.pools.withdraw(tx, { pool: 'ing', iban: undefined, partnerId: undefined }))
  assert.deepEqual(await look(), [])
})

test('a low pool is logged once an hour', async () => {
  const lines: { readonly msg: string; readonly pool: string; readonly free: number }[] = []
  const { db, clock } = service
  const pools = createImportedPools({
    ...{ db, clock, issuers: [], poolCountries: ['DE'], poolLevels: { freeMin: 3, daysMin: 10 } },
    log: createLog('warn', { write: (line: string) => lines.push(JSON.parse(line) as never) } as never),
  })
  await importIbans(service, 'ing', ibansFrom(1, 2))
  await pools.lookStep()
  await pools.lookStep()
  clock.advance(hourMs)
  await pools.lookStep()
  const said = ['IBAN pool is low', 'ing', 2]
  assert.deepEqual(
    lines.map(({ msg, pool, free }) => [msg, pool, free]),
    [said, said],
  )
})

test('each statement of an import and an opening runs on one shard or is marked as a scan of all shards', async () => {
  const sharded = await createTestService({ settings, sharded: true })
  const by = await addPartner(sharded)
  await importIbans(sharded, 'all', ibansFrom(1, 3))
  await importIbans(sharded, 'own', ibansFrom(50, 1), { partnerId: by.partnerId })
  assert.deepEqual([await open(by.customer.id, by, sharded)], ibansFrom(50, 1))
  const { id } = await sharded.customers.create(by.partnerId, { email: 'a@b.cd' })
  assert.deepEqual([await open(id, by, sharded)], ibansFrom(1, 1))
  await sharded.db.transaction((tx) => sharded.accounts.close(tx, by.partnerId, id, sharded.clock.now()))
  await sharded.accounts.pools.lookStep()
  assert.equal((await sharded.accounts.pools.list(sharded.db)).length, 2)
  await sharded.close()
})
