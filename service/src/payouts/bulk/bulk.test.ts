/** Bulks: a result for each payout, all or nothing, kills in the middle, two workers, wrong fields, repeated keys. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService()
})
after(() => service.close())
beforeEach(async () => {
  partner = await addPartner(service, 1_000_000_00n)
})

type Body = BodyOf<'createBulkPayout'>
const item = (fields: object = {}): Body['payouts'][number] => ({
  amount: rawNumber('10.00'),
  currency: 'EUR',
  beneficiaryId: partner.beneficiary.id,
  idempotencyKey: newId(),
  ...fields,
})
const items = (count: number) => Array.from({ length: count }, () => item())
const bulkOf = (mode: Body['mode'], payouts: Body['payouts'], idempotencyKey = newId()): Body => ({
  mode,
  idempotencyKey,
  payouts,
})
const create = (body: Body) => service.bulkPayouts.create(partner.caller, body, ip)
const work = async () => {
  while ((await service.bulkPayouts.step()) > 0);
}
const resultOf = (id: string) => service.bulkPayouts.get(partner.partnerId, id)
const itemsOf = (id: string) => service.bulkPayouts.items(partner.partnerId, id, undefined)
const made = async () => {
  const { reserved } = await balanceOf(service, partner.partnerId)
  const row = await service.db.row<{ count: bigint }>(
    sql`select count(*) as count from payouts.payouts where partner_id = ${partner.partnerId}`,
  )
  return { payouts: Number(row?.count), reserved }
}
const refusal =
  (code: string, ...pointers: readonly string[]) =>
  (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    assert.deepEqual(
      error.errors.map(({ pointer }) => pointer),
      pointers,
    )
    return true
  }

test('best effort: each payout is made or refused alone', async () => {
  const unknown = item({ beneficiaryId: newId() })
  const tooMuch = item({ amount: rawNumber('9999999.00') })
  const { bulk } = await create(bulkOf('BestEffort', [...items(298), unknown, tooMuch]))
  assert.deepEqual([bulk.status, bulk.accepted, bulk.refused], ['Processing', 0, 0])
  await work()
  const { status, accepted, refused, endedAt } = await resultOf(bulk.id)
  assert.deepEqual([status, accepted, refused, endedAt === null], ['Completed', 298, 2, false])
  const results = await itemsOf(bulk.id)
  assert.deepEqual(
    results.map(({ position }) => position),
    Array.from({ length: 300 }, (_, index) => index),
  )
  assert.deepEqual([results[298]?.problemCode, results[299]?.problemCode], ['not_found', 'insufficient_funds'])
  assert.equal(results[298]?.problemDetail, '/beneficiaryId: no such beneficiary')
  assert.deepEqual(await made(), { payouts: 298, reserved: 298_000n * 1n })
  const [first] = results
  const { row } = await service.transactions.get(partner.partnerId, first?.transactionReference ?? '')
  assert.equal(row.amount, 1000n)
})

test('all or nothing: one refusal, and no payout is made; the corrected bulk may use the same keys', async () => {
  const good = items(5)
  const { bulk } = await create(bulkOf('AllOrNothing', [...good, item({ beneficiaryId: newId() })]))
  await work()
  assert.equal((await resultOf(bulk.id)).status, 'Refused')
  assert.deepEqual(
    (await itemsOf(bulk.id)).map(({ status, problemCode }) => problemCode ?? status),
    ['NotMade', 'NotMade', 'NotMade', 'NotMade', 'NotMade', 'not_found'],
  )
  assert.deepEqual(await made(), { payouts: 0, reserved: 0n })
  const corrected = await create(bulkOf('AllOrNothing', good))
  await work()
  assert.equal((await resultOf(corrected.bulk.id)).accepted, 5)
  assert.deepEqual(await made(), { payouts: 5, reserved: 5000n })
})

test('all or nothing: the funds must suffice for all together', async () => {
  const { bulk } = await create(
    bulkOf('AllOrNothing', [item({ amount: rawNumber('600000.00') }), item({ amount: rawNumber('600000.00') })]),
  )
  await work()
  const results = await itemsOf(bulk.id)
  assert.ok(results.some(({ problemCode }) => problemCode === 'insufficient_funds'))
  assert.deepEqual(await made(), { payouts: 0, reserved: 0n })
})

test('a worker dies behind the payouts and before their results: the next one makes none twice', async () => {
  for (const mode of ['BestEffort', 'AllOrNothing'] as const) {
    partner = await addPartner(service, 1_000_000_00n)
    const payouts = items(10)
    const { bulk } = await create(bulkOf(mode, payouts))
    // What the dead worker had made.
    for (const body of payouts.slice(0, 5)) await service.payouts.create(partner.caller, body, ip)
    await work()
    assert.equal((await resultOf(bulk.id)).accepted, 10)
    assert.deepEqual(await made(), { payouts: 10, reserved: 10_000n })
  }
})

test('a worker that dies leaves its bulk to another one after its lease', async () => {
  const { bulk } = await create(bulkOf('BestEffort', items(3)))
  const held = { leaseId: newId(), until: new Date(service.clock.now().getTime() + minuteMs) }
  await service.db.run(sql`
    update payouts.bulks set lease_id = ${held.leaseId}, due_at = ${held.until}
    where partner_id = ${partner.partnerId} and id = ${bulk.id}`)
  await work()
  assert.equal((await resultOf(bulk.id)).status, 'Processing')
  service.clock.advance(2 * minuteMs)
  await work()
  assert.equal((await resultOf(bulk.id)).accepted, 3)
})

test('two workers at once, and single payouts under the same keys: each payout is made once', async () => {
  const shared = items(20)
  const bulks = await Promise.all([
    create(bulkOf('BestEffort', shared)),
    create(bulkOf('AllOrNothing', [...shared.slice(0, 10), ...items(10)])),
    create(bulkOf('BestEffort', items(300))),
  ])
  await Promise.all([work(), work(), work(), ...shared.map((body) => service.payouts.create(partner.caller, body, ip))])
  await work()
  for (const { bulk } of bulks) assert.equal((await resultOf(bulk.id)).status, 'Completed')
  assert.deepEqual(await made(), { payouts: 330, reserved: 330_000n })
})

test('a key that belongs to another payout is the refusal of that payout', async () => {
  const taken = item()
  await service.payouts.create(partner.caller, taken, ip)
  const { bulk } = await create(bulkOf('BestEffort', [{ ...taken, amount: rawNumber('11.00') }, item()]))
  await work()
  assert.deepEqual(
    (await itemsOf(bulk.id)).map(({ problemCode }) => problemCode),
    ['idempotency_key_reused', null],
  )
})

test('every wrong field is told with its pointer, and nothing is taken', async () => {
  const twice = item()
  const wrong = bulkOf('BestEffort', [item({ amount: rawNumber('1.001') }), twice, twice, item({ currency: 'XXX' })])
  await assert.rejects(
    create(wrong),
    refusal('validation_failed', '/payouts/0/amount', '/payouts/2/idempotencyKey', '/payouts/3/currency'),
  )
  await assert.rejects(
    create(bulkOf('BestEffort', [item({ currency: 'USDC' })])),
    refusal('currency_not_supported', '/payouts/0/currency'),
  )
  assert.equal((await service.bulkPayouts.list(partner.partnerId, {})).data.length, 0)
})

test('a repeated key answers the first answer, also twice at once; with another body it is refused', async () => {
  const body = bulkOf('BestEffort', items(2))
  const both = await Promise.all([create(body), create(body)])
  assert.equal(both[0].bulk.id, both[1].bulk.id)
  assert.deepEqual(both.map(({ replayed }) => replayed).toSorted(), [false, true])
  await work()
  const again = await create(body)
  assert.deepEqual([again.bulk.status, again.bulk.accepted, again.replayed], ['Processing', 0, true])
  await assert.rejects(create({ ...body, mode: 'AllOrNothing' }), refusal('idempotency_key_reused', '/idempotencyKey'))
  assert.deepEqual(await made(), { payouts: 2, reserved: 2000n })
})

test("another partner's bulk does not exist", async () => {
  const { bulk } = await create(bulkOf('BestEffort', items(1)))
  const other = await addPartner(service)
  await assert.rejects(service.bulkPayouts.get(other.partnerId, bulk.id), refusal('not_found'))
  await assert.rejects(service.bulkPayouts.items(other.partnerId, bulk.id, undefined), refusal('not_found'))
})

test('partners take turns: a bulk of another partner is made before the many of one', async () => {
  await work()
  const other = await addPartner(service, 1_000_00n)
  for (let count = 0; count < 6; count += 1) await create(bulkOf('BestEffort', items(1)))
  const late = await service.bulkPayouts.create(
    other.caller,
    bulkOf('BestEffort', [item({ beneficiaryId: other.beneficiary.id })]),
    ip,
  )
  await service.bulkPayouts.step()
  await service.bulkPayouts.step()
  const { status, accepted } = await service.bulkPayouts.get(other.partnerId, late.bulk.id)
  assert.deepEqual([status, accepted], ['Completed', 1])
  await work()
})

test('429 while the bulks of the partner have 10,000 payouts to make; a repeated key gets its answer', async () => {
  const first = bulkOf('BestEffort', items(1000))
  await create(first)
  for (let count = 0; count < 9; count += 1) await create(bulkOf('BestEffort', items(1000)))
  await assert.rejects(create(bulkOf('BestEffort', items(1))), refusal('rate_limited'))
  assert.equal((await create(first)).replayed, true)
  const other = await addPartner(service, 1_000_00n)
  await service.bulkPayouts.create(other.caller, bulkOf('BestEffort', items(1)), ip)
  await service.db.transaction((tx) =>
    tx.run(
      sql`update payouts.bulks set status = 'Refused', due_at = null, ended_at = created_at where due_at is not null`,
    ),
  )
})
