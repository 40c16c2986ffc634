import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { until } from '../../../../test/support/until.ts'
import { createHooks, reconciledCounts, statusChanged } from '../../../../test/support/webhooks.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { after as later, dayMs, firstIdOf, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { sampleEvent } from '../../events/index.ts'
const hooks = untilEnd(await createHooks())
// Event ids use the system time, which advances while the clock of the tests does not.
beforeEach(() => hooks.clock.advance(minuteMs))
const ago = (ms: number) => later(hooks.clock.now(), -ms).toISOString()

async function subscribed(partnerId: string, events: readonly string[] = [statusChanged]) {
  const { id } = await hooks.webhooks.create(partnerId, { url: 'https://example.com/hook', events: [...events] })
  return { partnerId, subscriptionId: id }
}
type Key = Awaited<ReturnType<typeof subscribed>>

async function recover({ partnerId, subscriptionId }: Key, since = ago(hourMs)) {
  const { id } = await hooks.webhooks.recover(partnerId, subscriptionId, { since })
  while ((await hooks.webhooks.recoverStep()) > 0);
  const done = await hooks.webhooks.recovery(partnerId, subscriptionId, id)
  assert.equal(done.status, 'Completed')
  return { examined: Number(done.examined), recovered: Number(done.recovered) }
}

const countsOf = (key: Key) => reconciledCounts(hooks, key)

/** Sets the state after the last attempt. */
const hold = ({ partnerId, subscriptionId }: Key, rowsMax: number) =>
  hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()}, attempt_count = 12, failures = 12
    where partner_id = ${partnerId} and event_id = any(array(select event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} order by event_id limit ${rowsMax}))`)

/** Sets the state after a success. */
const deliver = async ({ partnerId, subscriptionId }: Key, rowsMax: number, tx: Tx = hooks.db) => {
  await tx.run(sql`
    insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, delivered_at)
    select partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, 1, created_at, created_at
    from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
    order by event_id limit ${rowsMax}`)
  await tx.run(sql`
    delete from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId} and event_id in (
      select event_id from delivery.deliveries where partner_id = ${partnerId} and subscription_id = ${subscriptionId})`)
}

test('a recovery without events completes at once', async () => {
  assert.deepEqual(await recover(await subscribed(await hooks.addPartner())), { examined: 0, recovered: 0 })
})

test('a recovery creates missing deliveries and makes held deliveries due, and other deliveries are unchanged', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a', 'b')
  await hooks.fanOut(partnerId)
  const key = await subscribed(partnerId)
  await hooks.emit(partnerId, 'R', 'c', 'd', 'e')
  await hooks.fanOut(partnerId)
  await deliver(key, 1)
  await hold(key, 1)
  assert.deepEqual(await countsOf(key), { owed: 3, delivered: 1, pending: 1, held: 1 })
  assert.deepEqual(await recover(key), { examined: 5, recovered: 3 })
  assert.deepEqual(await countsOf(key), { owed: 5, delivered: 1, pending: 4, held: 0 })
  const { data } = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, {})
  assert.equal(new Set(data.map(({ eventId }) => eventId)).size, 5)
  assert.deepEqual(await recover(key), { examined: 5, recovered: 0 })
})

test('a recovery creates deliveries of the current event types of the subscription', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a')
  const type = 'partner.customer.deposit.completed'
  const now = hooks.clock.now()
  const data = sampleEvent(type, { partnerId, partnerName: 'Test', now })
  await hooks.db.transaction(async (tx) => hooks.eventOutbox.append(tx, partnerId, type, now, data))
  await hooks.fanOut(partnerId)
  const one = await subscribed(partnerId, [type])
  const all = await subscribed(partnerId, ['*'])
  assert.deepEqual(await recover(one), { examined: 2, recovered: 1 })
  assert.deepEqual(await recover(all), { examined: 2, recovered: 2 })
  await hooks.webhooks.update(partnerId, one.subscriptionId, { events: [type, statusChanged] })
  assert.deepEqual(await recover(one), { examined: 2, recovered: 1 })
})

test('a recovery includes since and excludes until, by the time of the event', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  const now = hooks.clock.now()
  for (const [index, hours] of [3, 2, 1].entries()) {
    const eventId = firstIdOf(later(now, -hours * hourMs))
    await hooks.db.run(sql`
      insert into events.events (partner_id, id, type, reference, data, occurred_at)
      values (${partnerId}, ${eventId}, ${statusChanged}, ${`R-${hours}`}, '{}', ${later(now, -hours * hourMs)})`)
    await hooks.db.run(sql`
      insert into delivery.feed (partner_id, sequence, event_id) values (${partnerId}, ${index + 1}, ${eventId})`)
  }
  const { id } = await hooks.webhooks.recover(partnerId, key.subscriptionId, {
    since: ago(2 * hourMs),
    until: ago(hourMs),
  })
  while ((await hooks.webhooks.recoverStep()) > 0);
  const done = await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)
  assert.deepEqual([done.status, done.examined, done.recovered], ['Completed', 1n, 1n])
  const { data } = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, {})
  assert.deepEqual(
    data.map(({ reference }) => reference),
    ['R-2'],
  )
})

test('a recovery waits for pending events of its range', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a')
  // More than the tolerated difference of clocks, so that the event is before the subscription.
  hooks.clock.advance(10 * minuteMs)
  const key = await subscribed(partnerId)
  const { id } = await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
  await hooks.webhooks.recoverStep()
  const { status } = await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)
  assert.equal(status, 'Running')
  await hooks.fanOut(partnerId)
  while ((await hooks.webhooks.recoverStep()) > 0);
  const done = await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)
  assert.deepEqual([done.status, done.examined, done.recovered], ['Completed', 1n, 1n])
})

test('two workers and a concurrent fan-out examine each event and create each delivery exactly once', async () => {
  const partnerId = await hooks.addPartner()
  const total = 1300
  for (let at = 0; at < total; at += 130)
    await hooks.emit(partnerId, newId(), ...Array.from({ length: 130 }, (_, index) => `s${index}`))
  while ((await hooks.fanOut(partnerId)) > 0);
  hooks.clock.advance(minuteMs)
  const key = await subscribed(partnerId)
  await hooks.emit(partnerId, 'late', 'x')
  const { id } = await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
  const work = async () => {
    while ((await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)).status === 'Running')
      await hooks.webhooks.recoverStep()
  }
  const fan = async () => {
    // A fan-out takes nothing while a step locks the partner, so it is repeated.
    while ((await hooks.fanOut(partnerId)) === 0);
  }
  await Promise.all([work(), work(), fan()])
  const done = await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)
  // The last delivery comes from the fan-out, or from the recovery if that was first.
  assert.ok(done.examined >= BigInt(total) && done.examined <= BigInt(total + 1))
  assert.equal(done.recovered, BigInt(total))
  assert.equal((await countsOf(key)).owed, total + 1)
})

/** Events that are in the queue and recorded as delivered. */
const leftoversOf = ({ partnerId, subscriptionId }: Key) =>
  hooks.db.rows(sql`
    select event_id from delivery.queue join delivery.deliveries using (partner_id, subscription_id, event_id)
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)

async function withPending(count: number) {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  await hooks.emit(partnerId, newId(), ...Array.from({ length: count }, (_, index) => `s${index}`))
  while ((await hooks.fanOut(partnerId)) > 0);
  hooks.clock.advance(minuteMs)
  const { id } = await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
  return { key, recovery: () => hooks.webhooks.recovery(partnerId, key.subscriptionId, id) }
}

test('a delivery that is recorded between the read and the insert of a recovery step is not due again', async () => {
  const { key, recovery } = await withPending(3)
  let step: Promise<number> | undefined
  await hooks.db.transaction(async (tx) => {
    await deliver(key, 2, tx)
    step = hooks.webhooks.recoverStep()
    await until('the insert waits for the result that is being recorded', async () => {
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%insert into delivery.queue%'`
      return (await hooks.db.rows(waiting)).length === 1
    })
  })
  await step
  assert.deepEqual(await leftoversOf(key), [])
  assert.deepEqual(await countsOf(key), { owed: 3, delivered: 2, pending: 1, held: 0 })
  const { examined, recovered } = await recovery()
  assert.deepEqual([examined, recovered], [3n, 0n])
})

test('a recovery step and the recording of results never both handle an event', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { key, recovery } = await withPending(100)
    await Promise.all([hooks.db.transaction((tx) => deliver(key, 60, tx)), hooks.webhooks.recoverStep()])
    while ((await hooks.webhooks.recoverStep()) > 0);
    assert.deepEqual(await leftoversOf(key), [])
    assert.deepEqual(await countsOf(key), { owed: 100, delivered: 60, pending: 40, held: 0 })
    assert.equal((await recovery()).recovered, 0n)
  }
})

test('the sweep finds delivered events that are still in the queue, and removes them from the queue', async () => {
  const { key } = await withPending(2500)
  const other = (await withPending(3)).key
  // The rows that an earlier version left: `owed` counts both.
  for (const { partnerId, subscriptionId } of [key, other]) {
    const copied = await hooks.db.run(sql`
      insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
        attempt_count, created_at, delivered_at)
      select partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, 1, created_at, created_at
      from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
      order by event_id desc limit 2`)
    await hooks.db.run(sql`
      update delivery.endpoint_queues set owed = owed + ${copied}
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)
  }
  assert.deepEqual(await countsOf(key), { owed: 2502, delivered: 2, pending: 2500, held: 0 })
  // One sweep examines a part of the queue, and a later one continues behind it.
  await until('the sweeps have examined the whole queue', async () => {
    await hooks.webhooks.sweep(hooks.log)
    return (await leftoversOf(key)).length === 0 && (await leftoversOf(other)).length === 0
  })
  assert.deepEqual(await countsOf(key), { owed: 2500, delivered: 2, pending: 2498, held: 0 })
  assert.deepEqual(await countsOf(other), { owed: 3, delivered: 2, pending: 1, held: 0 })
})

test('409 while a recovery runs, also for concurrent starts, and another can start afterwards', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  const starts = Array.from({ length: 6 }, () =>
    hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) }),
  )
  const results = await Promise.allSettled(starts)
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const result of results)
    if (result.status === 'rejected') assert.ok(refused('recovery_in_progress')(result.reason))
  while ((await hooks.webhooks.recoverStep()) > 0);
  await recover(key)
  const { data } = await hooks.webhooks.recoveries(partnerId, key.subscriptionId, {})
  assert.equal(data.length, 2)
})

test('400 for an invalid range, 404 for an unknown subscription or recovery', async () => {
  const partnerId = await hooks.addPartner()
  const { subscriptionId } = await subscribed(partnerId)
  const start = (since: string, until?: string) =>
    hooks.webhooks.recover(partnerId, subscriptionId, { since, ...(until === undefined ? {} : { until }) })
  await assert.rejects(start(ago(30 * dayMs + 1)), refused('validation_failed', '/since'))
  await assert.rejects(start(ago(0)), refused('validation_failed', '/since'))
  await assert.rejects(start(ago(hourMs), ago(hourMs)), refused('validation_failed', '/since'))
  await assert.rejects(start(ago(hourMs), ago(-1)), refused('validation_failed', '/until'))
  const other = await subscribed(await hooks.addPartner())
  const { id } = await hooks.webhooks.recover(other.partnerId, other.subscriptionId, { since: ago(hourMs) })
  await assert.rejects(hooks.webhooks.recovery(partnerId, subscriptionId, id), refused('not_found'))
  await assert.rejects(hooks.webhooks.recovery(partnerId, other.subscriptionId, id), refused('not_found'))
  await assert.rejects(
    hooks.webhooks.recover(partnerId, other.subscriptionId, { since: ago(hourMs) }),
    refused('not_found'),
  )
})

test('a recovery is deleted with its subscription', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
  await hooks.webhooks.remove(partnerId, key.subscriptionId)
  while ((await hooks.webhooks.recoverStep()) > 0);
  while ((await hooks.webhooks.sweep(hooks.log)) > 0);
  const rows = await hooks.db.rows(sql`select id from delivery.subscriptions where partner_id = ${partnerId}`)
  assert.deepEqual(rows, [])
})

test('the newest hundred recoveries of a subscription are kept', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  for (let i = 0; i < 102; i += 1) {
    await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
    while ((await hooks.webhooks.recoverStep()) > 0);
  }
  const rows = await hooks.db.rows(sql`select id from delivery.recoveries where partner_id = ${partnerId}`)
  assert.equal(rows.length, 100)
})
