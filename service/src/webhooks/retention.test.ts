import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createWorkerHarness, createDeliveryFixture, type WorkerHarness } from '../../../test/support/worker-harness.ts'
import { createHooks, type Hooks, reconciledCounts } from '../../../test/support/webhooks.ts'
import { after as later, dayMs, firstIdOf, idTime, secondMs } from '../kernel/index.ts'
import { sql, listWeeks } from '../postgres/index.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'
import { reconcile } from '../../../test/support/reconcile.ts'

let hooks: Hooks
let harness: WorkerHarness
let fixture: ReturnType<typeof createDeliveryFixture>
// Weeks hold the data of all partners, so each test has a database of its own.
beforeEach(async () => {
  hooks = await createHooks()
  harness = createWorkerHarness(hooks)
  fixture = createDeliveryFixture(hooks)
})
afterEach(() => hooks.close())

const tables = {
  events: 'events.events',
  feed: 'delivery.feed',
  deliveries: 'delivery.deliveries',
  attempts: 'delivery.attempts',
}
const rowsOf = async (table: string) => {
  const { rows } = await hooks.db.pool.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}
const rowCounts = async () => ({
  events: await rowsOf(tables.events),
  feed: await rowsOf(tables.feed),
  deliveries: await rowsOf(tables.deliveries),
  attempts: await rowsOf(tables.attempts),
})
const noRows = { events: 0, feed: 0, deliveries: 0, attempts: 0 }
const retain = async () => {
  while ((await hooks.webhooks.retain(hooks.log)) > 0);
}
/** Delivers each at its second attempt: the log has the first one, the delivery the second one. */
const deliverAll = async (key: SubscriptionKey) => {
  for (let claims = await harness.claim(key); claims.length > 0; claims = await harness.claim(key)) {
    for (const claim of claims) await harness.record(claim, claim.attemptCount === 0 ? { status: 500 } : {})
    hooks.clock.advance(10 * secondMs)
  }
}

test('weeks are created ahead of time and exactly once, also by two concurrent processes', async () => {
  await Promise.all([retain(), retain()])
  const count = async () => (await listWeeks(hooks.db, 'delivery.feed')).length
  const atFirst = await count()
  hooks.clock.advance(21 * dayMs)
  await Promise.all([retain(), retain()])
  const weeks = await listWeeks(hooks.db, 'delivery.feed')
  assert.ok(weeks.length >= atFirst && weeks.length <= atFirst + 3)
  const last = weeks.at(-1)
  assert.ok(last && idTime(last.to).getTime() >= hooks.clock.now().getTime() + 56 * dayMs)
  weeks.slice(1).forEach((week, index) => assert.equal(week.from, weeks[index]?.to, 'no gap'))
})

test('delivered events are dropped by weeks after 30 days, and `owed` decreases with them', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  for (const reference of ['A', 'B', 'C']) await hooks.emit(partnerId, reference, 'Completed')
  await hooks.fanOut(partnerId)
  await deliverAll(key)
  await retain()
  assert.deepEqual(await rowCounts(), { events: 3, feed: 3, deliveries: 3, attempts: 3 })
  hooks.clock.advance(29 * dayMs)
  await retain()
  assert.deepEqual(await rowCounts(), { events: 3, feed: 3, deliveries: 3, attempts: 3 })
  // 30 days after the end of their week.
  hooks.clock.advance(9 * dayMs)
  await Promise.all([retain(), retain()])
  assert.deepEqual(await rowCounts(), noRows)
  assert.deepEqual(await reconciledCounts(hooks, key), { owed: 0, delivered: 0, pending: 0, held: 0 })
})

test('a week with a pending delivery is kept until it is delivered', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'first', 'second')
  await hooks.fanOut(partnerId)
  const [first] = await harness.claim(key)
  await harness.record(first)
  hooks.clock.advance(60 * dayMs)
  await retain()
  assert.deepEqual(await rowCounts(), { events: 2, feed: 2, deliveries: 1, attempts: 0 })
  await deliverAll(key)
  assert.deepEqual(await reconciledCounts(hooks, key), { owed: 2, delivered: 2, pending: 0, held: 0 })
  await retain()
  assert.deepEqual(await rowCounts(), noRows)
  assert.deepEqual(await reconciledCounts(hooks, key), { owed: 0, delivered: 0, pending: 0, held: 0 })
})

test('a week with pending events, or in the range of a running recovery, is kept', async () => {
  const partnerId = await hooks.addPartner()
  const { subscriptionId } = await fixture.subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'Completed')
  hooks.clock.advance(60 * dayMs)
  await retain()
  assert.equal(await rowsOf('events.events'), 1)
  await hooks.fanOut(partnerId)
  await deliverAll({ partnerId, subscriptionId })
  const now = hooks.clock.now()
  await hooks.db.run(sql`
    insert into delivery.recoveries (partner_id, id, subscription_id, since, until, status, after_sequence, examined,
      recovered, created_at, updated_at)
    values (${partnerId}, ${subscriptionId}, ${subscriptionId}, ${new Date(0)}, ${now}, 'Running', 0, 0, 0,
      ${now}, ${now})`)
  await retain()
  assert.equal(await rowsOf('events.events'), 1)
  await hooks.db.run(sql`update delivery.recoveries set status = 'Completed' where partner_id = ${partnerId}`)
  await retain()
  assert.deepEqual(await rowCounts(), noRows)
})

test('deliveries held for 30 days are dropped, including those of a subscription disabled for as long', async () => {
  const partnerId = await hooks.addPartner()
  const [held, disabled] = [await fixture.subscribe(partnerId), await fixture.subscribe(partnerId)]
  for (const reference of ['A', 'B', 'C']) await hooks.emit(partnerId, reference, 'Completed')
  await hooks.fanOut(partnerId)
  await hooks.webhooks.update(partnerId, disabled.subscriptionId, { status: 'Disabled' })
  await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()}
    where partner_id = ${partnerId} and subscription_id = ${held.subscriptionId} and reference <> 'C'`)
  hooks.clock.advance(30 * dayMs - 1)
  await retain()
  assert.equal(await rowsOf('delivery.queue'), 6)
  hooks.clock.advance(2)
  await retain()
  // The pending delivery stays, and its event as well.
  assert.equal(await rowsOf('delivery.queue'), 1)
  const sums = await reconcile(hooks.db, partnerId)
  assert.deepEqual(sums.map((row) => [row.owed, row.pending, row.held]).toSorted(), [
    [0n, 0n, 0n],
    [1n, 1n, 0n],
  ])
  hooks.clock.advance(30 * dayMs)
  await retain()
  assert.equal(await rowsOf('events.events'), 3)
})

test('deliveries in the default partition are dropped after 30 days, and `owed` decreases with them', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'Completed')
  await hooks.fanOut(partnerId)
  await deliverAll(key)
  // Later than the weeks that are made ahead of time.
  const eventId = firstIdOf(later(hooks.clock.now(), 90 * dayMs))
  await hooks.db.run(sql`update delivery.deliveries set event_id = ${eventId} where partner_id = ${partnerId}`)
  assert.equal(await rowsOf('delivery.deliveries_default'), 1)
  hooks.clock.advance(121 * dayMs)
  await retain()
  assert.equal(await rowsOf('delivery.deliveries_default'), 0)
  assert.deepEqual(await reconciledCounts(hooks, key), { owed: 0, delivered: 0, pending: 0, held: 0 })
})

test('after months of events, the tables are as small as after one month', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  const sizes: number[][] = []
  for (let day = 0; day < 120; day += 3) {
    hooks.clock.advance(3 * dayMs)
    // Event ids use the system time, so they are set to the day of the event.
    await hooks.emit(partnerId, `R-${day}`, 'Completed')
    const id = firstIdOf(hooks.clock.now()).replace(/^(.{14})0000-0000/, '$17000-8000')
    await hooks.db.run(
      sql`update events.events set id = ${id} where partner_id = ${partnerId} and reference = ${`R-${day}`}`,
    )
    await hooks.db.run(sql`update events.pending set event_id = ${id} where partner_id = ${partnerId}`)
    await hooks.fanOut(partnerId)
    await deliverAll(key)
    await retain()
    sizes.push(Object.values(await rowCounts()))
    assert.equal((await reconciledCounts(hooks, key)).owed, (await rowCounts()).deliveries)
  }
  // 30 days and the rest of a week have at most 13 events.
  for (const size of sizes) assert.ok(Math.max(...size) <= 13, String(size))
  assert.ok(sizes.slice(-10).every((size) => Math.min(...size) >= 10))
  for (const table of Object.values(tables)) {
    const weeks = await listWeeks(hooks.db, table)
    assert.ok(weeks.length <= 16, `${weeks.length} weeks of ${table}`)
    assert.equal(await rowsOf(`${table}_default`), 0)
  }
})
