/** Lists what waits for an approval: payouts alone, and a bulk as one row, in pages that cost the same whatever a bulk has. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import type { Caller } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { WaitingApproval } from '../index.ts'

let service: Service
let partner: TestPartner
let statements = 0
before(async () => {
  service = await createTestService({
    wrapDatabase: (db) => ({
      ...db,
      rows: (statement) => {
        statements += 1
        return db.rows(statement)
      },
    }),
  })
  partner = await addHolding()
})
after(() => service.close())

/** A partner whose payouts all wait. */
async function addHolding(): Promise<TestPartner> {
  const added = await addPartner(service, 1_000_000_00n)
  await service.db.transaction((tx) =>
    service.payoutControls.approvalRules.set(tx, {
      ...{ partnerId: added.partnerId, currency: 'EUR', aboveAmount: 0n, aboveDayAmount: null, aboveBulkAmount: 0n },
      ...{ perPersonAmount: null, beneficiaryHours: null, payeeMismatch: false, expiresHours: 24, needsPasskey: false },
    }),
  )
  return added
}

async function bulkOf(caller: Caller, count: number, of = partner): Promise<string> {
  const payouts = Array.from({ length: count }, () => ({
    ...{ amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: of.beneficiary.id, idempotencyKey: newId() },
  }))
  const { bulk } = await service.bulkPayouts.create(
    caller,
    { mode: 'BestEffort', idempotencyKey: newId(), payouts },
    ip,
  )
  while ((await service.bulkPayouts.step()) > 0);
  return bulk.id
}

const all = { made: 'any', afterId: null, rowsMax: 100 } as const
const shape = (row: WaitingApproval) =>
  row.kind === 'bulk'
    ? `bulk of ${row.payouts}, ${row.totals.map(({ amount }) => amount).join()}`
    : row.payout.reference
const read = async (page: Parameters<Service['payouts']['waitingApprovals']>[1], of = partner) =>
  service.payouts.waitingApprovals(of.partnerId, page)

test('nothing waits, then payouts and bulks newest first, each bulk once, without what was decided', async () => {
  assert.deepEqual(await read(all), [])
  const first = await pay(service, partner, '1.00', { reference: 'First' })
  const bulk = await bulkOf(partner.caller, 3)
  await pay(service, partner, '2.00', { reference: 'Last' })
  const found = await read(all)
  assert.deepEqual(found.map(shape), ['Last', 'bulk of 3, 3000', 'First'])
  assert.deepEqual(found[1]?.requestedNames, ['Test account'])
  assert.ok(found.every(({ expiresAt }) => expiresAt > service.clock.now()))
  const second: Caller = { ...partner.caller, serviceAccountId: newId(), name: 'Second person' }
  await service.payouts.approve(second, first.payout.id)
  const [item] = await service.bulkPayouts.items(partner.partnerId, bulk, undefined)
  await service.payouts.cancel(partner.partnerId, item?.payoutId ?? '')
  assert.deepEqual((await read(all)).map(shape), ['Last', 'bulk of 2, 2000'])
})

test('mine are those of others, made are my own, and pages continue behind any row', async () => {
  const own = await addHolding()
  const colleague: Caller = { ...own.caller, serviceAccountId: newId(), name: 'A colleague' }
  const expected: string[] = []
  for (let n = 0; n < 3; n += 1) {
    const { payout } = await pay(service, own, '1.00')
    const bulk = await bulkOf(n === 1 ? colleague : own.caller, 2, own)
    expected.unshift(bulk, payout.id)
  }
  const idsOf = async (made: (typeof all)['made'] | { readonly by: string } | { readonly notBy: string }) =>
    (await read({ ...all, made }, own)).map(({ id }) => id)
  assert.deepEqual(await idsOf('any'), expected)
  const me = own.caller.serviceAccountId
  assert.deepEqual(await idsOf({ notBy: me }), [expected[2]])
  assert.deepEqual(await idsOf({ by: me }), expected.toSpliced(2, 1))
  const paged: string[] = []
  for (let page = await read({ ...all, rowsMax: 2 }, own); page.length > 0;) {
    paged.push(...page.map(({ id }) => id))
    page = await read({ ...all, rowsMax: 2, afterId: paged.at(-1) ?? null }, own)
  }
  assert.deepEqual(paged, expected)
  assert.deepEqual(await read(all, await addPartner(service)), [], 'another partner reads none of them')
})

test('a page of large bulks takes as many statements as one of small bulks', async () => {
  const [few, many] = [await addHolding(), await addHolding()]
  await bulkOf(few.caller, 1, few)
  for (let n = 0; n < 4; n += 1) await bulkOf(many.caller, 500, many)
  await pay(service, few, '1.00')
  await pay(service, many, '1.00')
  const counts: number[] = []
  for (const each of [few, many]) {
    const before = statements
    const found = await read(all, each)
    counts.push(statements - before)
    assert.equal(found.length, each === few ? 2 : 5)
  }
  assert.deepEqual(counts, [3, 3])
})
