/** Endpoint queues, and ordered subscriptions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  createDeliveryFixture,
  createWorkerHarness,
  dataField,
  type WorkerHarness,
} from '../../../../test/support/worker-harness.ts'
import { createHooks } from '../../../../test/support/webhooks.ts'
import type { Page } from '../../kernel/api/index.ts'
import { sql } from '../../postgres/index.ts'
import type { AttemptResult } from './schedule.ts'
import type { Attempt } from './endpoint-queue.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import { until } from '../../../../test/support/until.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { deliveryLimitsDefault } from '../limits.ts'

suite('endpoint queues', async () => {
  const hooks = untilEnd(await createHooks())
  const harness = createWorkerHarness(hooks)
  const { subscribe, list, endpointQueueOf, counts } = createDeliveryFixture(hooks)
  const claim = (key: SubscriptionKey, by = harness) => by.claim(key)
  const record = (one: Attempt | undefined, more: Partial<AttemptResult> = {}, by = harness) => by.record(one, more)
  const statuses = (page: Page<{ readonly status: string }>) => page.data.map((row) => row.status)

  test('410 disables the subscription and holds its present and later deliveries, and enabling delivers them', async () => {
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
        seen.push(dataField(one, 'reference'))
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

  test('a result that cannot be recorded pauses its endpoint, and the other results of the batch are recorded', async () => {
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

  test('an open breaker lets one probe through, also from the next worker, and a slow start follows', async () => {
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

  test('five days of failures cause two alerts, then a third that disables the subscription, each in the transaction of its result', async () => {
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

  test('on a sharded database every statement concerns one partner, and every event is delivered', async () => {
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
})

suite('ordered subscriptions', async () => {
  const hooks = untilEnd(await createHooks({ retryDelaysMs: [1000, 1000] }))
  const harness = createWorkerHarness(hooks)
  const fixture = createDeliveryFixture(hooks)

  const named = (claims: readonly Attempt[]) => claims.map((claim) => dataField(claim, 'status'))

  async function ordered(): Promise<SubscriptionKey> {
    const key = await fixture.subscribe(await hooks.addPartner())
    await hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: true })
    return key
  }

  /** The rows of the endpoint queue, by whether they are in the index by reference. */
  async function markedOf({ partnerId, subscriptionId }: SubscriptionKey): Promise<Readonly<Record<string, number>>> {
    const rows = await hooks.db.rows<{ ordered: boolean; count: bigint }>(sql`
    select ordered, count(*) as count from delivery.queue
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId} group by ordered`)
    return Object.fromEntries(rows.map(({ ordered: isMarked, count }) => [isMarked ? 'marked' : 'not', Number(count)]))
  }

  /** Delivers everything. No two attempts are in flight. */
  async function drain(worker: WorkerHarness, key: SubscriptionKey): Promise<readonly string[]> {
    const seen: string[] = []
    for (let claims = await worker.claim(key); claims.length > 0; claims = await worker.claim(key)) {
      assert.equal(claims.length, 1)
      seen.push(...named(claims))
      await worker.record(claims[0])
    }
    return seen
  }

  test('a delivery waits while an earlier delivery of its reference is pending, and other references do not wait', async () => {
    const key = await ordered()
    await hooks.emit(key.partnerId, 'A', 'a1', 'a2', 'a3')
    await hooks.emit(key.partnerId, 'B', 'b1', 'b2')
    await hooks.fanOut(key.partnerId)
    const [a1, b1, ...none] = await harness.claim(key)
    assert.deepEqual([named([a1, b1] as Attempt[]), none], [['a1', 'b1'], []])
    await harness.record(a1, { status: 500 })
    await harness.record(b1)
    const [b2, ...more] = await harness.claim(key)
    assert.deepEqual([named([b2] as Attempt[]), more], [['b2'], []])
    await harness.record(b2)
    assert.deepEqual(await harness.claim(key), [])
    hooks.clock.advance(1300)
    const [again, ...others] = await harness.claim(key)
    assert.deepEqual([named([again] as Attempt[]), others], [['a1'], []])
    await harness.record(again)
    assert.deepEqual(await drain(harness, key), ['a2', 'a3'])
  })

  test('a held delivery blocks its reference, also for the next worker, until it is due again', async () => {
    const key = await ordered()
    await hooks.emit(key.partnerId, 'A', 'a1', 'a2')
    await hooks.emit(key.partnerId, 'B', 'b1')
    await hooks.fanOut(key.partnerId)
    const [first, b1] = await harness.claim(key)
    await harness.record(b1)
    await harness.record(first, { status: 500 })
    for (let failure = 0; failure < 2; failure += 1) {
      hooks.clock.advance(1300)
      const [a1] = await harness.claim(key)
      await harness.record(a1, { status: 500 })
    }
    assert.deepEqual(await fixture.counts(key.partnerId), { owed: 3, delivered: 1, pending: 1, held: 1 })
    assert.deepEqual(await harness.claim(key), [])
    const next = createWorkerHarness(hooks)
    hooks.clock.advance(2 * deliveryLimitsDefault.leaseMs)
    assert.deepEqual(await next.claim(key), [])
    await hooks.emit(key.partnerId, 'A', 'a3')
    await hooks.emit(key.partnerId, 'B', 'b2')
    await hooks.fanOut(key.partnerId)
    const [b2, ...none] = await next.claim(key)
    assert.deepEqual([named([b2] as Attempt[]), none], [['b2'], []])
    await next.record(b2)
    await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Enabled' })
    assert.deepEqual(await drain(next, key), ['a1', 'a2', 'a3'])
    await next.close()
  })

  test('after a restart each reference continues where it stopped', async () => {
    const key = await ordered()
    const statuses = Array.from({ length: 30 }, (_, index) => `${index}`)
    for (const reference of ['A', 'B', 'C']) await hooks.emit(key.partnerId, reference, ...statuses)
    await hooks.fanOut(key.partnerId)
    const seen: Record<string, string[]> = { A: [], B: [], C: [] }
    let worker = createWorkerHarness(hooks)
    for (let turn = 0; (await fixture.counts(key.partnerId)).delivered !== 90; turn += 1) {
      const claims = await worker.claim(key)
      for (const claim of claims) {
        const own = seen[dataField(claim, 'reference')]
        if (own?.at(-1) !== dataField(claim, 'status')) own?.push(dataField(claim, 'status'))
        // One turn in five fails. One in seven is not recorded, because its worker dies.
        if (turn % 7 === 6) continue
        await worker.record(claim, { status: turn % 5 === 4 ? 500 : 200 })
      }
      if (turn % 7 === 6) {
        hooks.clock.advance(2 * deliveryLimitsDefault.leaseMs)
        worker = createWorkerHarness(hooks)
      } else if (claims.length === 0) {
        await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Enabled' })
        hooks.clock.advance(60_000)
      }
    }
    assert.deepEqual(seen, { A: statuses, B: statuses, C: statuses })
    await worker.close()
  })

  test('a switch to ordered takes effect at once: rows that were read before are read again', async () => {
    const key = await fixture.subscribe(await hooks.addPartner())
    await hooks.emit(key.partnerId, 'A', 'a1', 'a2')
    await hooks.fanOut(key.partnerId)
    const [a1] = await harness.claim(key)
    await hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: true })
    await hooks.emit(key.partnerId, 'B', 'b1')
    await hooks.fanOut(key.partnerId)
    const [b1] = await harness.claim(key)
    assert.deepEqual(await markedOf(key), { marked: 3 })
    await harness.record(b1)
    await harness.record(a1, { status: 500 })
    assert.deepEqual(await harness.claim(key), [])
  })

  test('thousands of rows are marked as ordered in steps, and after a restart the marking completes before any attempt', async () => {
    const key = await fixture.subscribe(await hooks.addPartner())
    const crowd = 4500
    await hooks.emit(key.partnerId, 'A', 'a1', ...Array.from({ length: crowd }, () => 'more'), 'a2')
    await hooks.emit(key.partnerId, 'B', 'b1')
    while ((await hooks.fanOut(key.partnerId, 10_000)) > 0);
    const first = createWorkerHarness(hooks)
    const [a1] = await first.claim(key)
    await first.record(a1, { status: 500 })
    await hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: true })
    // The worker dies after one step of the marking.
    await first.step()
    const { marked = 0, not = 0 } = await markedOf(key)
    assert.ok(marked > 0 && not > 0, `${marked} marked, ${not} not`)
    hooks.clock.advance(2 * deliveryLimitsDefault.leaseMs)
    const next = createWorkerHarness(hooks)
    await hooks.db.run(sql`
    update delivery.queue set due_at = '2100-01-01' where subscription_id = ${key.subscriptionId} and attempt_count = 1`)
    assert.deepEqual(named(await next.claim(key)), ['b1'])
    assert.deepEqual(await markedOf(key), { marked: crowd + 3 })
    await next.close()
  })

  test('after a switch back and forth the rows added in between are also marked', async () => {
    const key = await ordered()
    const set = (isOrdered: boolean) => hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: isOrdered })
    await hooks.emit(key.partnerId, 'A', 'a1')
    await hooks.fanOut(key.partnerId)
    const [a1] = await harness.claim(key)
    await harness.record(a1, { status: 500 })
    await set(false)
    await hooks.emit(key.partnerId, 'A', 'a2')
    await hooks.fanOut(key.partnerId)
    assert.deepEqual(await markedOf(key), { marked: 1, not: 1 })
    await set(true)
    await hooks.emit(key.partnerId, 'A', 'a3')
    await hooks.fanOut(key.partnerId)
    assert.deepEqual(await harness.claim(key), [])
    assert.deepEqual(await markedOf(key), { marked: 3 })
    hooks.clock.advance(1300)
    assert.deepEqual(await drain(harness, key), ['a1', 'a2', 'a3'])
  })

  test('a switch to ordered waits for a fan-out that has read the subscription before', async () => {
    const key = await fixture.subscribe(await hooks.addPartner())
    await hooks.emit(key.partnerId, 'A', 'a1', 'a2')
    let isDone = false
    const isWaiting = async () => {
      const row = await hooks.db.row(sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' limit 1`)
      return row !== undefined
    }
    const { update } = await hooks.db.transaction(async (tx) => {
      await hooks.webhooks.fanOut(tx, [key.partnerId], 1000)
      const switched = hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: true })
      void switched.finally(() => (isDone = true))
      await until('the switch waits or ends', async () => isDone || (await isWaiting()))
      if (isDone) await harness.claim(key)
      return { update: switched }
    })
    await update
    await harness.claim(key)
    assert.deepEqual(await markedOf(key), { marked: 2 })
  })

  test('a second switch during the marking of the first marks the rows again', async () => {
    const key = await fixture.subscribe(await hooks.addPartner())
    await hooks.emit(key.partnerId, 'A', ...Array.from({ length: 3000 }, () => 'more'))
    await hooks.fanOut(key.partnerId, 10_000)
    const set = (isOrdered: boolean) => hooks.webhooks.update(key.partnerId, key.subscriptionId, { ordered: isOrdered })
    await set(true)
    const worker = createWorkerHarness(hooks, 0)
    await worker.step()
    const { marked = 0, not = 0 } = await markedOf(key)
    assert.ok(marked > 0 && not > 0, `${marked} marked, ${not} not`)
    await set(false)
    await hooks.db.run(sql`update delivery.queue set ordered = false where subscription_id = ${key.subscriptionId}`)
    await set(true)
    await worker.claim(key)
    assert.deepEqual(await markedOf(key), { marked: 3000 })
    await worker.close()
  })

  test('a redelivery also keeps the order of its reference', async () => {
    const key = await ordered()
    await hooks.emit(key.partnerId, 'A', 'a1')
    await hooks.fanOut(key.partnerId)
    await drain(harness, key)
    const { data } = await fixture.list(key)
    await hooks.webhooks.redeliver(key.partnerId, key.subscriptionId, data[0]?.eventId ?? '')
    assert.deepEqual(await markedOf(key), { marked: 1 })
    const [a1] = await harness.claim(key)
    await harness.record(a1, { status: 500 })
    await hooks.emit(key.partnerId, 'A', 'a2')
    await hooks.fanOut(key.partnerId)
    assert.deepEqual(await harness.claim(key), [])
    hooks.clock.advance(1300)
    assert.deepEqual(await drain(harness, key), ['a1', 'a2'])
  })
})
