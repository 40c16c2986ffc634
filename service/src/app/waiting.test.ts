/** Work that waits for a person is found with its reason and its age, until it no longer waits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner, pay, stepMsDefault } from '../../../test/support/composition.ts'
import { addHolder, decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Unreachable } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { dayMs, hourMs, minuteMs, newId, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../banks/settlement/index.ts'
import type { QueueItemKey } from '../people/staff/index.ts'
let isSilent = false
const lost = () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer'))
const service = await useModules({
  now: new Date('2026-01-08T09:00:00Z'),
  wrapConnector: (bank) => ({
    ...bank,
    instruct: (given, options) => (isSilent ? lost() : bank.instruct(given, options)),
    find: (keys, options) => (isSilent ? lost() : bank.find(keys, options)),
  }),
})
const partner = await addPartner(service, 100_000_00n)
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

/** Returns why an entry waits, by the list and by the query for this entry, which must agree. */
async function whyOf(subject: string, partnerId = partner.partnerId, kind: QueueItemKey['kind'] = 'payout') {
  const looked = (await service.waiting.look()).filter((thing) => thing.subject === subject)
  const asked = await service.waiting.of([{ partnerId, kind, subject }])
  assert.deepEqual(
    asked.map(({ why, since }) => [why, since]),
    looked.map(({ why, since }) => [why, since]),
  )
  return looked.map(({ why, detail }) => `${why} ${detail}`)
}

async function notified(): Promise<void> {
  for (let step = 0; step < 4; step += 1) {
    await processBankNotifications(service.settlement)
    service.clock.advance(stepMsDefault)
  }
}

test('a payout with an unknown outcome is listed until the bank has answered; a payout in progress is not listed', async () => {
  const { payout } = await pay(service, partner, '10.00')
  isSilent = true
  await submitDuePayouts(service.settlement)
  assert.deepEqual(await whyOf(payout.id), [], 'the first minute')
  service.clock.advance(2 * minuteMs)
  await submitDuePayouts(service.settlement)
  assert.deepEqual(await whyOf(payout.id), ['payoutUnknown Processing'])
  const [thing] = await service.waiting.of([{ partnerId: partner.partnerId, kind: 'payout', subject: payout.id }])
  assert.equal(thing?.since?.getTime(), payout.createdAt.getTime())
  isSilent = false
  service.clock.advance(5 * minuteMs)
  await submitDuePayouts(service.settlement)
  assert.deepEqual(await whyOf(payout.id), [])
})

test('a payout that its connector holds until a later day is not listed, and is listed as stuck an hour after that day', async () => {
  const { payout } = await pay(service, partner, '10.00')
  const opens = new Date(service.clock.now().getTime() + dayMs)
  await service.db.run(sql`update payouts.payouts set status = 'Processing', send_attempts = 1, due_at = ${opens},
    updated_at = ${service.clock.now()} where partner_id = ${partner.partnerId} and id = ${payout.id}`)
  service.clock.advance(12 * hourMs)
  assert.deepEqual(await whyOf(payout.id), [])
  service.clock.advance(13 * hourMs + minuteMs)
  assert.deepEqual(await whyOf(payout.id), ['payoutStands Processing'])
  await service.db
    .run(sql`update payouts.payouts set status = 'Pending', send_attempts = 0, due_at = ${service.clock.now()}
    where partner_id = ${partner.partnerId} and id = ${payout.id}`)
  await submitDuePayouts(service.settlement)
  assert.deepEqual(await whyOf(payout.id), [])
})

test('an unsent recall is listed, and a sent one is listed again if the bank does not answer within the time limit of the scheme', async () => {
  const { payout } = await pay(service, partner, '10.00')
  await submitDuePayouts(service.settlement)
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  await service.recalls.create(partner.caller, payout.id, { reason: 'FRAD' })
  assert.deepEqual(await whyOf(payout.id), [])
  service.clock.advance(11 * minuteMs)
  assert.deepEqual(await whyOf(payout.id), ['recallUnsent sandbox'])
  await sendDueRecalls(service.settlement, service.bank)
  assert.deepEqual(await whyOf(payout.id), [])
  service.clock.advance(31 * dayMs)
  assert.deepEqual(await whyOf(payout.id), ['recallOverdue sandbox'])
  assert.ok((await service.recalls.expireStep()) > 0)
  assert.deepEqual(await whyOf(payout.id), ['recallOverdue sandbox'], 'an expired one too')
  service.clock.advance(31 * dayMs)
  assert.deepEqual(await whyOf(payout.id), [], 'a month later the bank is no longer asked')
})

test('hits and the payments that they hold are listed until the decision', async () => {
  const holder = await addHolder(service, listedName)
  const float = { debit: 'settlement.sandbox', currency: 'EUR', amount: 100_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, holder.partnerId, float))
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await screenAll(service)
  const { payout } = await pay(service, holder, '10.00')
  await submitDuePayouts(service.settlement)
  const hits = (await service.screening.openHits(undefined, 10)).filter(
    ({ partnerId }) => partnerId === holder.partnerId,
  )
  assert.ok(hits.length > 0)
  const listed = await service.waiting.look()
  for (const { id, source, score } of hits) {
    assert.deepEqual(await whyOf(id, holder.partnerId, 'hit'), [`hit ${source}`])
    assert.equal(listed.find(({ subject }) => subject === id)?.score, score)
  }
  assert.deepEqual(listed.find(({ subject }) => subject === payout.id)?.money, { amount: 10_00n, currency: 'EUR' })
  assert.deepEqual(await whyOf(payout.id, holder.partnerId), ['payoutHeld Pending'])
  await decideAll(service, holder.partnerId, 'clear')
  service.clock.advance(31 * secondMs)
  await submitDuePayouts(service.settlement)
  for (const { id } of hits) assert.deepEqual(await whyOf(id, holder.partnerId, 'hit'), [])
  assert.deepEqual(await whyOf(payout.id, holder.partnerId), [])
})

test('a connector is listed when its payouts are held back, when its calls fail, and when its messages are late', async () => {
  const why = () => whyOf('sandbox', operatorPartnerId, 'connector')
  const { connectorHealth } = service
  await notified()
  assert.deepEqual(await why(), [])
  connectorHealth.breaker('sandbox', { inFlight: 3, isOpen: true })
  assert.deepEqual(await why(), ['connectorFails heldBack'])
  connectorHealth.breaker('sandbox', { inFlight: 0, isOpen: false })
  for (let call = 0; call < 5; call += 1) connectorHealth.failed('sandbox', new Error('connection refused'))
  assert.deepEqual(await why(), ['connectorFails failing'])
  const failing = (await service.waiting.connectors()).find(({ id }) => id === 'sandbox')
  assert.deepEqual([failing?.state.failures, failing?.state.problem], [5, 'connection refused'])
  connectorHealth.answered('sandbox')
  assert.deepEqual(await why(), [])
  await pay(service, partner, '10.00')
  service.clock.advance(6 * minuteMs)
  assert.deepEqual(await why(), ['connectorFails payout'])
  await submitDuePayouts(service.settlement)
  service.clock.advance(6 * minuteMs)
  assert.deepEqual(await why(), ['connectorFails notification'])
  await notified()
  assert.deepEqual(await why(), [])
})

test('the list shows the oldest stuck payouts of each partner, and a query for one partner finds no payout of another', async () => {
  const [busy, calm] = [await addPartner(service, 1_000_00n), await addPartner(service, 1_000_00n)]
  const first = (await pay(service, busy, '1.00')).payout
  for (let n = 0; n < 24; n += 1) await pay(service, busy, '1.00')
  const other = (await pay(service, calm, '1.00')).payout
  service.clock.advance(6 * minuteMs)
  const found = (await service.waiting.look()).filter(({ why }) => why === 'payoutStands')
  const of = (partnerId: string) => found.filter((thing) => thing.partnerId === partnerId).map(({ subject }) => subject)
  assert.equal(of(busy.partnerId).length, 20)
  assert.equal(of(busy.partnerId)[0], first.id)
  assert.deepEqual(of(calm.partnerId), [other.id])
  const strange = [{ partnerId: calm.partnerId, kind: 'payout', subject: first.id }] as const
  assert.deepEqual(await service.waiting.of(strange), [])
  assert.deepEqual(await service.waiting.of([{ partnerId: calm.partnerId, kind: 'pool', subject: newId() }]), [])
})

test('a change is listed until it is decided or expires, and a review until it is done', async () => {
  const [ada, grace] = [newId(), newId()].map((id, index) => ({ id, fullName: `Person ${index}` })) as [
    { id: string; fullName: string },
    { id: string; fullName: string },
  ]
  const { changes } = service.staff
  const propose = () => service.db.transaction((tx) => changes.propose(tx, ada, { command: 'limit set', options: {} }))
  const [rejected, forgotten] = [await propose(), await propose()]
  const why = (id: string) => whyOf(id, operatorPartnerId, 'change')
  assert.deepEqual(await why(rejected.id), ['changeWaits limit set'])
  await service.db.transaction((tx) => changes.reject(tx, rejected.id, grace, 'Too high'))
  assert.deepEqual(await why(rejected.id), [])
  service.clock.advance(73 * hourMs)
  assert.deepEqual(await why(forgotten.id), [])

  const { partnerId, customer } = partner
  const review = (months: number) =>
    service.db.transaction((tx) =>
      service.customers.reviews.set(tx, { partnerId, customerRef: customer.id, risk: 'high', staff: 'Sam', months }),
    )
  await review(0)
  assert.deepEqual(await whyOf(customer.id, partnerId, 'review'), ['reviewOverdue high'])
  await review(6)
  assert.deepEqual(await whyOf(customer.id, partnerId, 'review'), [])
})
