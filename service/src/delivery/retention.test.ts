import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createWorkerHarness, createDeliveryFixture, type WorkerHarness } from '../../../test/support/worker-harness.ts'
import { createHooks, type Hooks } from '../../../test/support/webhooks.ts'
import { dayMs, firstIdOf, momentOfId, secondMs } from '../kernel/index.ts'
import { sql, weeksOf } from '../postgres/index.ts'
import type { SubscriptionKey } from './management/store-subscriptions.ts'
import { reconcile } from '../../../test/support/reconcile.ts'

let hooks: Hooks
let harness: WorkerHarness
let fixture: ReturnType<typeof createDeliveryFixture>
// Weeks are of all partners: each test has a database of its own.
beforeEach(async () => {
  hooks = await createHooks()
  harness = createWorkerHarness(hooks)
  fixture = createDeliveryFixture(hooks)
})
afterEach(() => hooks.close())

const tables = ['events.events', 'delivery.feed', 'delivery.deliveries', 'delivery.attempts']
const rowsOf = async (table: string) => {
  const { rows } = await hooks.db.pool.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}
const allRows = () => Promise.all(tables.map(rowsOf))
const retain = async () => {
  while ((await hooks.webhooks.retain(hooks.log)) > 0);
}
/** At the second attempt each: the first one is in the log, the second with the delivery. */
const deliverAll = async (key: SubscriptionKey) => {
  for (let claims = await harness.claim(key); claims.length > 0; claims = await harness.claim(key)) {
    for (const claim of claims) await harness.record(claim, claim.attemptCount === 0 ? { status: 500 } : {})
    hooks.clock.advance(10 * secondMs)
  }
}

test('weeks are there ahead of time, and made once, also by two at once', async () => {
  await Promise.all([retain(), retain()])
  const count = async () => (await weeksOf(hooks.db, 'delivery.feed')).length
  const atFirst = await count()
  hooks.clock.advance(21 * dayMs)
  await Promise.all([retain(), retain()])
  const weeks = await weeksOf(hooks.db, 'delivery.feed')
  assert.ok(weeks.length >= atFirst && weeks.length <= atFirst + 3)
  const last = weeks.at(-1)
  assert.ok(last && momentOfId(last.to).getTime() >= hooks.clock.now().getTime() + 56 * dayMs)
  weeks.slice(1).forEach((week, index) => assert.equal(week.from, weeks[index]?.to, 'no gap'))
})

test('after 30 days everything delivered is dropped, by weeks, and what is owed goes down with it', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  for (const reference of ['A', 'B', 'C']) await hooks.emit(partnerId, reference, 'Completed')
  await hooks.fanOut(partnerId)
  await deliverAll(key)
  await retain()
  assert.deepEqual(await allRows(), [3, 3, 3, 3])
  hooks.clock.advance(29 * dayMs)
  await retain()
  assert.deepEqual(await allRows(), [3, 3, 3, 3])
  // To the end of the week in which they were, and 30 days more.
  hooks.clock.advance(9 * dayMs)
  await Promise.all([retain(), retain()])
  assert.deepEqual(await allRows(), [0, 0, 0, 0])
  assert.deepEqual(await fixture.counts(partnerId), { owed: 0, delivered: 0, pending: 0, held: 0 })
})

test('no week goes that an endpoint is owed something of; delivered at last, it goes', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'first', 'second')
  await hooks.fanOut(partnerId)
  const [first] = await harness.claim(key)
  await harness.record(first)
  hooks.clock.advance(60 * dayMs)
  await retain()
  assert.deepEqual(await allRows(), [2, 2, 1, 0])
  await deliverAll(key)
  assert.deepEqual(await fixture.counts(partnerId), { owed: 2, delivered: 2, pending: 0, held: 0 })
  await retain()
  assert.deepEqual(await allRows(), [0, 0, 0, 0])
  assert.deepEqual(await fixture.counts(partnerId), { owed: 0, delivered: 0, pending: 0, held: 0 })
})

test('no week goes with events that are not fanned out, or that a recovery has before it', async () => {
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
  assert.deepEqual(await allRows(), [0, 0, 0, 0])
})

test('what was held for 30 days is dropped, and so is what a subscription is owed that was disabled as long', async () => {
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
  // What is pending is not held: it stays, and so does its event.
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

test('a soak: months of events, and the tables stay as small as one of them', async () => {
  const partnerId = await hooks.addPartner()
  const key = await fixture.subscribe(partnerId)
  const sizes: number[][] = []
  for (let day = 0; day < 120; day += 3) {
    hooks.clock.advance(3 * dayMs)
    // Events bear ids of the machine's time; they are set back to the day on which they are said to happen.
    await hooks.emit(partnerId, `R-${day}`, 'Completed')
    const id = firstIdOf(hooks.clock.now()).replace(/^(.{14})0000-0000/, '$17000-8000')
    await hooks.db.run(
      sql`update events.events set id = ${id} where partner_id = ${partnerId} and reference = ${`R-${day}`}`,
    )
    await hooks.db.run(sql`update events.pending set event_id = ${id} where partner_id = ${partnerId}`)
    await hooks.fanOut(partnerId)
    await deliverAll(key)
    await retain()
    sizes.push(await allRows())
    assert.equal((await fixture.counts(partnerId)).owed, (await allRows())[2])
  }
  // 30 days and what is left of a week hold 13 of them at most.
  for (const size of sizes) assert.ok(Math.max(...size) <= 13, String(size))
  assert.ok(sizes.slice(-10).every((size) => Math.min(...size) >= 10))
  for (const table of tables) {
    const weeks = await weeksOf(hooks.db, table)
    assert.ok(weeks.length <= 16, `${weeks.length} weeks of ${table}`)
    assert.equal(await rowsOf(`${table}_default`), 0)
  }
})
