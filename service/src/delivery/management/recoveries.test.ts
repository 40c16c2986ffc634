import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { reconcile } from '../../../../test/support/reconcile.ts'
import { Refusal } from '../../api/index.ts'
import { after as later, dayMs, firstIdOf, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { sampleOf } from '../../events/index.ts'

let hooks: Awaited<ReturnType<typeof createHooks>>
before(async () => {
  hooks = await createHooks()
})
after(() => hooks?.close())
// Ids of events are of the system's time, which goes on while the clock of the tests stands.
beforeEach(() => hooks.clock.advance(minuteMs))

const refused = (code: string, pointer?: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code && (pointer === undefined || error.errors[0]?.pointer === pointer)
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
  return [done.examined, done.recovered]
}

/** owed, delivered, pending, held; the first is the sum of the others, always. */
async function counts({ partnerId, subscriptionId }: Key) {
  const rows = await reconcile(hooks.db, partnerId)
  const row = rows.find((each) => each.subscriptionId === subscriptionId)
  assert.ok(row)
  const { owed, delivered, pending, held } = row
  assert.equal(delivered + pending + held, owed)
  return [owed, delivered, pending, held].map(Number)
}

/** As after the last attempt. */
const hold = ({ partnerId, subscriptionId }: Key, rowsMax: number) =>
  hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()}, attempt_count = 12, failures = 12
    where partner_id = ${partnerId} and event_id = any(array(select event_id from delivery.queue
      where partner_id = ${partnerId} and subscription_id = ${subscriptionId} order by event_id limit ${rowsMax}))`)

/** As after a success. */
const deliver = async ({ partnerId, subscriptionId }: Key, rowsMax: number) => {
  await hooks.db.run(sql`
    insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, delivered_at)
    select partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, 1, created_at, created_at
    from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId}
    order by event_id limit ${rowsMax}`)
  await hooks.db.run(sql`
    delete from delivery.queue q where q.partner_id = ${partnerId} and q.event_id in (
      select event_id from delivery.deliveries where partner_id = ${partnerId} and subscription_id = ${subscriptionId})
      and q.subscription_id = ${subscriptionId}`)
}

test('nothing to recover: it is done at once', async () => {
  assert.deepEqual(await recover(await subscribed(await hooks.addPartner())), [0n, 0n])
})

test('what came before the subscription is made; what is pending stays, what is delivered stays, what is held is due', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a', 'b')
  await hooks.fanOut(partnerId)
  const key = await subscribed(partnerId)
  await hooks.emit(partnerId, 'R', 'c', 'd', 'e')
  await hooks.fanOut(partnerId)
  await deliver(key, 1)
  await hold(key, 1)
  assert.deepEqual(await counts(key), [3, 1, 1, 1])
  assert.deepEqual(await recover(key), [5n, 3n])
  assert.deepEqual(await counts(key), [5, 1, 4, 0])
  const { data } = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, {})
  assert.equal(new Set(data.map(({ eventId }) => eventId)).size, 5)
  assert.deepEqual(await recover(key), [5n, 0n])
})

test('only what the subscription wants now, and all of it where it wants all', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a')
  const type = 'partner.customer.deposit.completed'
  const now = hooks.clock.now()
  const data = sampleOf(type, { partnerId, partnerName: 'Test', now })
  await hooks.db.transaction(async (tx) => hooks.eventOutbox.append(tx, partnerId, type, now, data))
  await hooks.fanOut(partnerId)
  const one = await subscribed(partnerId, [type])
  const all = await subscribed(partnerId, ['*'])
  assert.deepEqual(await recover(one), [2n, 1n])
  assert.deepEqual(await recover(all), [2n, 2n])
  await hooks.webhooks.update(partnerId, one.subscriptionId, { events: [type, statusChanged] })
  assert.deepEqual(await recover(one), [2n, 1n])
})

test('from since to until, by the time of the event', async () => {
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

test('it waits for what is not fanned out yet', async () => {
  const partnerId = await hooks.addPartner()
  await hooks.emit(partnerId, 'R', 'a')
  // Surely before the subscription, whatever clocks differ by.
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

test('in steps, two workers at it beside fan-outs: each event is counted once and made once', async () => {
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
    // None where the partner is busy: whoever fans out comes again.
    while ((await hooks.fanOut(partnerId)) === 0);
  }
  await Promise.all([work(), work(), fan()])
  const done = await hooks.webhooks.recovery(partnerId, key.subscriptionId, id)
  // The late one came by itself, or by the recovery if that saw it first.
  assert.ok(done.examined >= BigInt(total) && done.examined <= BigInt(total + 1))
  assert.equal(done.recovered, BigInt(total))
  assert.deepEqual((await counts(key))[0], total + 1)
})

test('409 while one runs, even when several start at once; another may begin after it', async () => {
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

test('400 to a time that is no time to recover, 404 to what is not there', async () => {
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

test('a recovery of a removed subscription ends with it', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
  await hooks.webhooks.remove(partnerId, key.subscriptionId)
  while ((await hooks.webhooks.recoverStep()) > 0);
  while ((await hooks.webhooks.sweep()) > 0);
  const rows = await hooks.db.rows(sql`select id from delivery.subscriptions where partner_id = ${partnerId}`)
  assert.deepEqual(rows, [])
})

test('a hundred of a subscription are remembered', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribed(partnerId)
  for (let i = 0; i < 102; i += 1) {
    await hooks.webhooks.recover(partnerId, key.subscriptionId, { since: ago(hourMs) })
    while ((await hooks.webhooks.recoverStep()) > 0);
  }
  const rows = await hooks.db.rows(sql`select id from delivery.recoveries where partner_id = ${partnerId}`)
  assert.equal(rows.length, 100)
})
