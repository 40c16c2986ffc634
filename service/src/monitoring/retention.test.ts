/** Erasure of what rules have found: after the retention, and with the payments of an erased customer. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { dayMs, minuteMs, nilId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { readRule } from './rules.ts'

let service: Service
beforeEach(async () => {
  service = await createTestService()
})
afterEach(() => service.close())

const yearMs = 366 * dayMs

/** A partner with an alert of two settled payments of its customer, which leave nothing in the balance. */
async function addAlerted(): Promise<TestPartner> {
  const { db, monitoring, clock } = service
  const partner = await addPartner(service, 3_00n)
  const given = {
    name: 'A rule',
    currency: 'EUR',
    partners: [partner.partnerId],
    kind: 'velocity',
    direction: 'Outward',
  }
  const draft = readRule(JSON.stringify({ ...given, hours: 24, count: 2 }))
  const { id } = await db.transaction((tx) => monitoring.set(tx, { draft, staff: 'Ada' }))
  await monitoring.backtest({ id, from: '2026-01-01', until: '2026-01-01', staff: 'Ada' })
  for (const staff of ['Ada', 'Joan']) await db.transaction((tx) => monitoring.turnOn(tx, { id, staff }))
  for (const amount of ['1.00', '2.00']) await pay(service, partner, amount)
  for (let round = 0; round < 6; round += 1) {
    await submitDuePayouts(service.settlement)
    while ((await processBankNotifications(service.settlement)) > 0);
    clock.advance(minuteMs)
  }
  while ((await monitoring.step()) > 0);
  assert.deepEqual(await evidenceOf(partner), [2, 2])
  return partner
}
/** The count that each hit of the partner tells. */
async function evidenceOf({ partnerId }: TestPartner) {
  const [alert] = await service.monitoring.alerts(service.db, partnerId, nilId, 10)
  const hits = await service.monitoring.hits(service.db, partnerId, alert?.id ?? '', nilId, 10)
  return hits.map(({ evidence, reference }) => {
    const { count } = JSON.parse(evidence) as { readonly count?: number }
    assert.equal(reference === '', count === undefined)
    return count
  })
}
async function work(): Promise<void> {
  const { erasures, keptRecords } = service.personalData
  while ((await erasures.step()) > 0 || (await keptRecords.step()) > 0);
}

test('an alert tells nothing of its transactions once the retention is over, and stays', async () => {
  const partner = await addAlerted()
  await work()
  service.clock.advance(4 * yearMs)
  await work()
  assert.deepEqual(await evidenceOf(partner), [2, 2])
  // The job reads no transaction of the future of the machine: one that joins the open alert now is written here.
  await service.db.run(
    sql`update monitoring.hits set found_at = ${service.clock.now()} where partner_id = ${partner.partnerId}`,
  )
  service.clock.advance(2 * yearMs)
  await work()
  assert.deepEqual(await evidenceOf(partner), [2, 2], 'counted from the last transaction')
  service.clock.advance(4 * yearMs)
  await work()
  assert.deepEqual(await evidenceOf(partner), [undefined, undefined])
})

test('what was found of a customer goes with its payments, and that of another one stays', async () => {
  const [partner, other] = [await addAlerted(), await addAlerted()]
  const { partnerId, customer } = partner
  await service.personalData.erasures.erase(partnerId, customer.id, true)
  while ((await service.personalData.erasures.step()) > 0);
  assert.deepEqual(await evidenceOf(partner), [2, 2], 'the law keeps the payments')
  service.clock.advance(6 * yearMs)
  while ((await service.personalData.erasures.step()) > 0);
  assert.deepEqual(
    [await evidenceOf(partner), await evidenceOf(other)],
    [
      [undefined, undefined],
      [2, 2],
    ],
  )
})
