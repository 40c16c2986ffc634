import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  createWorkerHarness,
  createDeliveryFixture,
  type WorkerHarness,
  textOf,
} from '../../../../test/support/worker-harness.ts'
import { createHooks, type Hooks } from '../../../../test/support/webhooks.ts'
import type { Page } from '../../kernel/api/index.ts'
import { sql } from '../../postgres/index.ts'
import { type AttemptResult } from './schedule.ts'
import type { Attempt } from './attempt.ts'
import { type SubscriptionKey } from '../management/store-subscriptions.ts'

let hooks: Hooks
let harness: WorkerHarness
let fixture: ReturnType<typeof createDeliveryFixture>
before(async () => {
  hooks = await createHooks()
  harness = createWorkerHarness(hooks)
  fixture = createDeliveryFixture(hooks)
})
after(() => hooks.close())

const { subscribe, claim, record, list, endpointQueueOf, counts } = {
  subscribe: (...given: Parameters<typeof fixture.subscribe>) => fixture.subscribe(...given),
  claim: (key: SubscriptionKey, by = harness) => by.claim(key),
  record: (one: Attempt | undefined, more: Partial<AttemptResult> = {}, by = harness) => by.record(one, more),
  list: (key: SubscriptionKey) => fixture.list(key),
  endpointQueueOf: (key: SubscriptionKey) => fixture.endpointQueueOf(key),
  counts: (partnerId: string) => fixture.counts(partnerId),
}
const statuses = (page: Page<{ readonly status: string }>) => page.data.map((row) => row.status)

test('410 disables the subscription and holds its deliveries, also of later events; enabling delivers them', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  for (const reference of ['A', 'B', 'C']) await hooks.emit(partnerId, reference, 'Completed')
  await hooks.fanOut(partnerId)
  const [a, b, c] = await claim(key)
  assert.equal(await record(a, { status: 410 }), 'gone')
  assert.equal((await hooks.webhooks.get(partnerId, key.subscriptionId)).status, 'Disabled')
  assert.deepEqual(statuses(await list(key)), ['Held', 'Held', 'Held'])
  assert.deepEqual(await claim(key), [])
  // Results of attempts that were in flight are recorded.
  assert.equal(await record(b), 'delivered')
  assert.equal(await record(c, { status: 500 }), 'failed')
  await hooks.emit(partnerId, 'D', 'Completed')
  await hooks.fanOut(partnerId)
  hooks.clock.advance(10_000_000)
  assert.deepEqual(await claim(key), [])
  const { dueAt, leaseId } = await endpointQueueOf(key)
  assert.deepEqual([dueAt, leaseId], [null, null])
  assert.deepEqual(await counts(partnerId), { owed: 4, delivered: 1, pending: 0, held: 3 })
  const held = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, { status: 'Held' })
  assert.deepEqual(
    held.data.map((row) => [row.reference, row.nextAttemptAt]),
    [
      ['D', null],
      ['C', null],
      ['A', null],
    ],
  )

  await hooks.webhooks.update(partnerId, key.subscriptionId, { status: 'Enabled' })
  const seen: string[] = []
  for (let due = await claim(key); due.length > 0; due = await claim(key)) {
    // Slow start: one attempt in flight, then two.
    assert.equal(due.length, 1 + Number(seen.length === 1))
    for (const one of due) {
      seen.push(textOf(one, 'reference'))
      await record(one)
    }
  }
  assert.deepEqual(seen, ['A', 'C', 'D'])
  assert.deepEqual(await counts(partnerId), { owed: 4, delivered: 4, pending: 0, held: 0 })
})

test('410 from a URL that the partner has replaced does not disable the subscription', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'Completed')
  await hooks.fanOut(partnerId)
  const [one] = await claim(key)
  await hooks.webhooks.update(partnerId, key.subscriptionId, { url: 'https://example.org/' })
  await record(one, { status: 410 })
  assert.equal((await hooks.webhooks.get(partnerId, key.subscriptionId)).status, 'Enabled')
})

test('429 with Retry-After pauses the whole endpoint, and does not count in the retry schedule', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  for (let i = 0; i < 12; i += 1) await hooks.emit(partnerId, `R-${i}`, 'Completed')
  await hooks.fanOut(partnerId)
  const [first, ...others] = await claim(key)
  assert.equal(await record(first, { status: 429, retryAfter: '600' }), 'rested')
  for (const one of others) await record(one)
  assert.deepEqual(await claim(key), [])
  // No worker holds it during the rest.
  const { dueAt, leaseId, pausedUntil } = await endpointQueueOf(key)
  assert.deepEqual([dueAt, leaseId], [pausedUntil, null])
  hooks.clock.advance(599_000)
  assert.deepEqual(await claim(key), [])
  hooks.clock.advance(1_001)
  assert.equal((await claim(key)).length, 3)
  const rested = await hooks.db.row(sql`
    select attempt_count, failures from delivery.queue where partner_id = ${partnerId} and attempt_count > 0`)
  assert.deepEqual(rested, { attemptCount: 1, failures: 0 })
})

test('a result that cannot be recorded pauses its endpoint; the other results of the batch are recorded', async () => {
  const partnerId = await hooks.addPartner()
  const [failing, sound] = [await subscribe(partnerId), await subscribe(partnerId)]
  await hooks.emit(partnerId, 'A', 'Completed')
  await hooks.fanOut(partnerId)
  const [one] = await claim(failing)
  const [two] = await claim(sound)
  const outcomes = await Promise.allSettled([record(one, { responseBody: 'a\u0000' }), record(two)])
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'fulfilled'],
  )
  assert.deepEqual(await claim(failing), [])
  hooks.clock.advance(29_000)
  assert.deepEqual(await claim(failing), [])
  hooks.clock.advance(1_001)
  const [again] = await claim(failing)
  assert.equal(again?.eventId, one?.eventId)
  assert.equal(await record(again), 'delivered')
})

test('an open breaker lets one probe through, also from the next holder; a slow start follows', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  for (let i = 0; i < 30; i += 1) await hooks.emit(partnerId, `R-${i}`, 'Completed')
  await hooks.fanOut(partnerId)
  // Attempts that were in flight when it opened end as well.
  for (let claims = await claim(key); claims.length > 0; claims = await claim(key))
    for (const one of claims) await record(one, { status: 500 })
  const { leaseId, probeMs, pausedUntil } = await endpointQueueOf(key)
  assert.deepEqual([leaseId, probeMs], [null, 30_000])
  assert.ok(pausedUntil && pausedUntil > hooks.clock.now())
  hooks.clock.advance(36_001)
  const next = createWorkerHarness(hooks)
  const [probe, ...none] = await claim(key, next)
  assert.deepEqual(none, [])
  await record(probe, { status: 500 }, next)
  assert.equal((await endpointQueueOf(key)).probeMs, 60_000)
  hooks.clock.advance(72_001)
  const [second] = await claim(key, next)
  await record(second, {}, next)
  assert.equal((await claim(key, next)).length, 2)
  assert.equal((await endpointQueueOf(key)).slowStart, 2)
  await next.close()
})

test('five days of failures: two alerts, then the subscription is disabled with a third, each in the transaction of its result', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'Completed')
  await hooks.fanOut(partnerId)
  for (let hour = 0; hour < 200; hour += 1) {
    for (const one of await claim(key)) await record(one, { status: 500 })
    hooks.clock.advance(3_600_000)
  }
  const alerts = await hooks.db.rows<{ kind: string; lastError: string }>(sql`
    select data->>'alert' as kind, data->>'lastError' as last_error from mail.messages
    where partner_id = ${partnerId} order by id`)
  assert.deepEqual(
    alerts.map((row) => `${row.kind}: ${row.lastError}`),
    ['Failing24h: HTTP 500', 'Failing72h: HTTP 500', 'DisabledFailing: HTTP 500'],
  )
  const row = await hooks.db.row(sql`
    select status, disabled_reason from delivery.subscriptions where partner_id = ${partnerId}`)
  assert.deepEqual(row, { status: 'Disabled', disabledReason: 'Failing' })
  // Probes do not count in the retry schedule, so the delivery was not held for its attempts.
  assert.deepEqual(await counts(partnerId), { owed: 1, delivered: 0, pending: 0, held: 1 })
  await hooks.webhooks.update(partnerId, key.subscriptionId, { status: 'Enabled' })
  const [one] = await claim(key)
  assert.equal(await record(one), 'delivered')
})

test('with a sharded database every statement is about one partner, and everything is delivered', async () => {
  const sharded = await createHooks({ url: hooks.url, key: hooks.key, sharded: true })
  const { db, webhooks } = sharded
  const partners = [await hooks.addPartner(), await hooks.addPartner(), await hooks.addPartner()]
  const keys = await Promise.all(partners.map((partnerId) => subscribe(partnerId)))
  for (const partnerId of partners) await sharded.emit(partnerId, 'A', 'one', 'two')
  const worker = createWorkerHarness(sharded)
  for (const partnerId of partners) await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], 10))
  for (let turn = 0; turn < 2; turn += 1)
    for (const key of keys) await Promise.all((await worker.claim(key)).map((one) => worker.record(one)))
  await worker.close()
  for (const partnerId of partners)
    assert.deepEqual(await counts(partnerId), { owed: 2, delivered: 2, pending: 0, held: 0 })
  // Fails if a plan is not restricted to one partner.
  await sharded.close()
})
