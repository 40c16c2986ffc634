/** Deliveries of the queue. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createDeliveryFixture, createWorkerHarness, dataField } from '../../../../test/support/worker-harness.ts'
import { createHooks, type Hooks, statusChanged } from '../../../../test/support/webhooks.ts'
import type { Page } from '../../kernel/api/index.ts'
import { after as later, createLog, hourMs, newId, randomBytes } from '../../kernel/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import type { AttemptResult } from './schedule.ts'
import type { Attempt } from './endpoint-queue.ts'
import { reconcile } from '../../../../test/support/reconcile.ts'
import { deliveryLimitsDefault, retryDelaysMsDefault } from '../limits.ts'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'

suite('deliveries', async () => {
  const hooks = untilEnd(await createHooks())
  const harness = createWorkerHarness(hooks)
  const { subscribe, list, endpointQueueOf, counts } = createDeliveryFixture(hooks)
  const claim = (key: SubscriptionKey, by = harness) => by.claim(key)
  const record = (one: Attempt | undefined, more: Partial<AttemptResult> = {}, by = harness) => by.record(one, more)
  const statuses = (page: Page<{ readonly status: string }>) => page.data.map((row) => row.status)

  test('each subscription to an event gets one delivery, with the exact data and its own id', async () => {
    const partnerId = await hooks.addPartner()
    const [a, b, elsewhere] = [
      await subscribe(partnerId),
      await subscribe(partnerId, [statusChanged, 'invoice.paid']),
      await subscribe(partnerId, ['partner.customer.deposit.created', 'invoice.paid']),
    ]
    const stranger = await subscribe(await hooks.addPartner())
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    assert.equal(await hooks.fanOut(partnerId), 1)
    assert.equal(await hooks.fanOut(partnerId), 0)
    const [[one], [two]] = [await claim(a), await claim(b)]
    assert.ok(one && two)
    assert.notEqual(one.eventId, two.eventId)
    const event = await hooks.db.row<{ data: string }>(
      sql`select data from events.events where partner_id = ${partnerId}`,
    )
    assert.equal(one.data, event?.data)
    assert.equal(two.data, event?.data)
    assert.deepEqual([await claim(elsewhere), await claim(stranger)], [[], []])
  })

  test('fan-out also processes the events of a partner without subscriptions', async () => {
    const partnerId = await hooks.addPartner()
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    assert.equal(await hooks.fanOut(partnerId), 1)
    assert.ok(
      !(await hooks.webhooks.partnersToFanOut(newId().replace(/^.{8}/, '00000000'), 1000)).partnerIds.includes(
        partnerId,
      ),
    )
  })

  test('a fan-out that rolls back leaves its events pending', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    const failure = new Error('the process dies')
    await assert.rejects(
      hooks.db.transaction(async (tx) => {
        await hooks.webhooks.fanOut(tx, [partnerId], 10)
        throw failure
      }),
      failure,
    )
    assert.deepEqual(await claim(key), [])
    assert.equal(await hooks.fanOut(partnerId), 1)
    assert.equal((await claim(key)).length, 1)
  })

  test('ten concurrent fan-outs: each event is delivered once, in order', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`)
    await hooks.emit(partnerId, 'REF-1', ...names)
    let took = 0
    while (took < 40)
      took += (await Promise.all(Array.from({ length: 10 }, () => hooks.fanOut(partnerId, 7)))).reduce((a, b) => a + b)
    const seen: string[] = []
    for (;;) {
      const [one, ...others] = await claim(key)
      if (one === undefined) break
      assert.deepEqual(others, [])
      seen.push(dataField(one, 'status'))
      await record(one)
    }
    assert.deepEqual(seen, names)
    assert.deepEqual(await counts(partnerId), { owed: 40, delivered: 40, pending: 0, held: 0 })
  })

  test('deliveries of one reference are sent one at a time and in order, and references are independent', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'A', 'a1', 'a2', 'a3')
    await hooks.emit(partnerId, 'B', 'b1')
    await hooks.fanOut(partnerId)
    const [a1, b1, ...none] = await claim(key)
    assert.deepEqual(
      [a1, b1].map((one) => one && dataField(one, 'status')),
      ['a1', 'b1'],
    )
    assert.deepEqual(none, [])
    assert.deepEqual(await claim(key), [])
    await record(a1)
    const [a2] = await claim(key)
    assert.equal(a2 && dataField(a2, 'status'), 'a2')
    // A failed attempt lets the later deliveries pass.
    await record(a2, { status: 500 })
    const [a3] = await claim(key)
    assert.equal(a3 && dataField(a3, 'status'), 'a3')
  })

  test('a row that fan-out adds during a read does not overtake the earlier rows of that read', async () => {
    const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = await createHooks({
      url: hooks.url,
      aroundEventOutbox: (eventOutbox) => ({
        ...eventOutbox,
        byIds: async (...given) => {
          reached.resolve()
          await opened.promise
          return eventOutbox.byIds(...given)
        },
      }),
    })
    try {
      const partnerId = await slow.addPartner()
      const key = await createDeliveryFixture(slow).subscribe(partnerId)
      await slow.emit(partnerId, 'REF-1', 'first')
      await slow.fanOut(partnerId)
      const worker = createWorkerHarness(slow)
      // The worker has read the first row, and reads its payload.
      const stepping = worker.step()
      await reached.promise
      await slow.emit(partnerId, 'REF-1', 'second')
      const { deliveries } = await slow.db.transaction((tx) =>
        slow.webhooks.fanOut(tx, [partnerId], 10, worker.workerId),
      )
      worker.addNewDeliveries(deliveries)
      assert.equal(worker.inFlight(), 0)
      opened.resolve()
      await stepping
      const [first, ...others] = await worker.claim(key)
      assert.deepEqual([first && dataField(first, 'status'), others], ['first', []])
      await worker.record(first)
      const [second] = await worker.claim(key)
      assert.equal(second && dataField(second, 'status'), 'second')
      await worker.record(second)
      await worker.close()
    } finally {
      await slow.close()
    }
  })

  test('a delivery is attempted twelve times by the schedule and then held, and enabling makes it due again', async () => {
    // With a breaker that stays closed: one failing delivery would open it.
    const patient = await createHooks({
      url: hooks.url,
      key: hooks.key,
      now: hooks.clock.now(),
      limits: { breakerFailures: 1000, breakerAttemptsMin: 1000 },
    })
    const own = createWorkerHarness(patient)
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    await hooks.fanOut(partnerId)
    const ids = new Set<string>()
    for (const delayMs of retryDelaysMsDefault) {
      const [one] = await own.claim(key)
      assert.ok(one)
      ids.add(one.eventId)
      await record(one, { status: 500, responseBody: 'no' }, own)
      assert.deepEqual(await own.claim(key), [])
      patient.clock.advance(delayMs - 1)
      assert.deepEqual(await own.claim(key), [])
      patient.clock.advance(delayMs * 0.2 + 2)
    }
    const [last] = await own.claim(key)
    await record(last, { error: 'refused' }, own)
    patient.clock.advance(1_000_000_000)
    assert.deepEqual(await own.claim(key), [])
    const [held] = (await list(key)).data
    assert.deepEqual([held?.status, held?.attemptCount, held?.nextAttemptAt], ['Held', 12, null])
    assert.deepEqual(
      held?.attempts.map((attempt) => attempt.attempt),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    )
    assert.deepEqual(await counts(partnerId), { owed: 1, delivered: 0, pending: 0, held: 1 })

    await patient.webhooks.update(partnerId, key.subscriptionId, { status: 'Enabled' })
    const [again] = await own.claim(key)
    assert.ok(again)
    assert.deepEqual([...ids, again.eventId], [again.eventId, again.eventId])
    // It starts over at the first step of the schedule.
    await record(again, { status: 503 }, own)
    assert.deepEqual(statuses(await list(key)), ['Pending'])
    patient.clock.advance(6001)
    const [final] = await own.claim(key)
    assert.equal(await record(final, {}, own), 'delivered')
    assert.deepEqual(await counts(partnerId), { owed: 1, delivered: 1, pending: 0, held: 0 })
    await own.close()
    await patient.close()
  })

  test('a worker dies before it records a result: the delivery is attempted again under the same id', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'REF-1', 'first', 'second')
    await hooks.fanOut(partnerId)
    const frozen = createWorkerHarness(hooks)
    const [abandoned] = await frozen.claim(key)
    assert.ok(abandoned)
    hooks.clock.advance(deliveryLimitsDefault.leaseMs - 1)
    assert.deepEqual(await claim(key), [])
    hooks.clock.advance(2)
    const [again, ...others] = await claim(key)
    assert.deepEqual([again?.eventId, again?.data, others], [abandoned.eventId, abandoned.data, []])
    // The first worker continues. The fence stops it, and the attempt in flight is not disturbed.
    assert.equal(await record(abandoned, {}, frozen), 'stale')
    assert.deepEqual(await frozen.claim(key), [])
    assert.deepEqual(await claim(key), [])
    assert.equal(await record(again, { status: 500 }), 'failed')
    const first = (await list(key)).data.at(-1)
    assert.deepEqual([first?.status, first?.attemptCount, first?.attempts.length], ['Pending', 1, 1])
  })

  test('a result is recorded after the end of the lease if no other worker has claimed the endpoint queue', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    await hooks.fanOut(partnerId)
    const [slow] = await claim(key)
    hooks.clock.advance(deliveryLimitsDefault.leaseMs * 2)
    assert.equal(await record(slow), 'delivered')
  })

  test('a delivery that is returned to the queue is due at once, and no attempt is counted', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'REF-1', 'Completed')
    await hooks.fanOut(partnerId)
    const leaving = createWorkerHarness(hooks)
    const [one] = await leaving.claim(key)
    assert.ok(one)
    leaving.stop()
    leaving.returnToQueue(one)
    await leaving.close()
    const [two] = await claim(key)
    assert.equal(two?.eventId, one.eventId)
    await record(two)
    assert.equal((await list(key)).data[0]?.attemptCount, 1)
  })

  test('the limit of attempts in flight to an endpoint holds for all workers together, and other endpoints do not wait', async () => {
    const partnerId = await hooks.addPartner()
    const [busy, quiet] = [await subscribe(partnerId), await subscribe(partnerId, ['partner.customer.deposit.created'])]
    for (let i = 0; i < 30; i += 1) await hooks.emit(partnerId, `R-${i}`, 'Completed')
    await hooks.fanOut(partnerId)
    const workers = Array.from({ length: 6 }, () => createWorkerHarness(hooks))
    const claimsOf = await Promise.all(workers.map((worker) => worker.claim(busy)))
    const owner = workers[claimsOf.findIndex((claims) => claims.length > 0)]
    const claims = claimsOf.flat()
    assert.equal(claims.length, deliveryLimitsDefault.inFlightPerEndpointMax)
    assert.equal(new Set(claims.map((one) => one.deliveryId)).size, claims.length)
    assert.ok(owner)
    assert.deepEqual(await owner.claim(busy), [])
    // A held endpoint queue is not due, although twenty deliveries wait.
    assert.ok((await endpointQueueOf(busy)).dueAt?.getTime() ?? 0 > hooks.clock.now().getTime())
    assert.deepEqual(await owner.claim(quiet), [])
    await record(claims[0], {}, owner)
    assert.equal((await owner.claim(busy)).length, 1)
  })

  test('the deliveries of a deleted subscription are dropped in batches, and its row is dropped last', async () => {
    const partnerId = await hooks.addPartner()
    const [gone, stays] = [await subscribe(partnerId), await subscribe(partnerId)]
    await hooks.emit(partnerId, 'A', 'Completed')
    await hooks.emit(partnerId, 'B', 'Completed')
    await hooks.fanOut(partnerId)
    const [one, two] = await claim(gone)
    await record(one)
    await hooks.webhooks.remove(partnerId, gone.subscriptionId)
    assert.equal(await record(two), 'stale')
    assert.deepEqual(await claim(gone), [])
    while ((await hooks.webhooks.sweep(hooks.log)) > 0);
    const rows = async (subscriptionId: string) =>
      hooks.db.row<{ count: bigint }>(sql`
      select (select count(*) from delivery.queue where partner_id = ${partnerId} and subscription_id = ${subscriptionId})
        + (select count(*) from delivery.subscriptions where partner_id = ${partnerId} and id = ${subscriptionId}) as count`)
    assert.equal((await rows(gone.subscriptionId))?.count, 0n)
    assert.equal((await rows(stays.subscriptionId))?.count, 3n)
    assert.equal((await claim(stays)).length, 2)
  })

  test('the sweep wakes an endpoint queue that has pending rows and is never due', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    await hooks.emit(partnerId, 'A', 'Completed')
    await hooks.fanOut(partnerId)
    assert.equal(await hooks.webhooks.sweep(hooks.log), 0)
    await hooks.db.run(sql`update delivery.endpoint_queues set due_at = null where partner_id = ${partnerId}`)
    assert.deepEqual(await claim(key), [])
    assert.equal(await hooks.webhooks.sweep(hooks.log), 1)
    assert.equal((await claim(key)).length, 1)
  })

  test('the sweep shortens only leases and rests that were written before the clock was set back', async () => {
    const partnerId = await hooks.addPartner()
    const keys = [await subscribe(partnerId), await subscribe(partnerId)]
    await hooks.emit(partnerId, 'A', 'Completed')
    await hooks.fanOut(partnerId)
    const [now, hours] = [hooks.clock.now(), 6 * hourMs]
    const until = (leaseMs: number, restMs: number) =>
      hooks.db.run(sql`
      update delivery.endpoint_queues set lease_id = ${newId()}, lease_until = ${later(now, leaseMs)},
        due_at = ${later(now, leaseMs)}, paused_until = ${later(now, restMs)} where partner_id = ${partnerId}`)
    await until(deliveryLimitsDefault.leaseMs, deliveryLimitsDefault.retryAfterMsMax)
    assert.equal(await hooks.webhooks.sweep(hooks.log), 0)
    await until(hours, hours)
    assert.equal(await hooks.webhooks.sweep(hooks.log), 2)
    for (const key of keys) assert.deepEqual(await claim(key), [], 'the holder of the lease may still be alive')
    hooks.clock.advance(deliveryLimitsDefault.leaseMs)
    for (const key of keys) assert.equal((await claim(key)).length, 1)
  })

  test('deliveries are listed newest first, in pages, with their attempts', async () => {
    const partnerId = await hooks.addPartner()
    const key = await subscribe(partnerId)
    assert.deepEqual((await list(key)).data, [])
    await hooks.emit(partnerId, 'R', 's1', 's2', 's3')
    await hooks.fanOut(partnerId)
    const [one] = await claim(key)
    await record(one, { status: 500, responseBody: 'later', error: 'cut off', address: '127.0.0.1' })
    const first = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, { limit: '2' })
    const second = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, {
      limit: '2',
      cursor: first.nextCursor ?? '',
    })
    assert.deepEqual([first.data.length, second.data.length, first.hasMore, second.hasMore], [2, 1, true, false])
    const [oldest] = second.data
    assert.equal(oldest?.eventId, one?.eventId)
    const [attempt] = oldest?.attempts ?? []
    assert.deepEqual(
      [attempt?.attempt, attempt?.status, attempt?.error, attempt?.responseBody],
      [1, 500, 'cut off', 'later'],
    )
    const delivered = await hooks.webhooks.deliveries(partnerId, key.subscriptionId, { status: 'Delivered' })
    assert.deepEqual(delivered.data, [])
  })

  test('concurrent claims, results, fan-outs, disabling and deleting do not deadlock, and the counters agree with the rows', async () => {
    const partnerId = await hooks.addPartner()
    const keys = [await subscribe(partnerId), await subscribe(partnerId), await subscribe(partnerId)]
    const doomed = await subscribe(partnerId)
    const statusesToSend = [200, 500, 200, 429, 200]
    let turn = 0
    const work = async () => {
      const own = createWorkerHarness(hooks)
      for (let i = 0; i < 12; i += 1) {
        await hooks.emit(partnerId, newId(), 'x', 'y')
        await hooks.fanOut(partnerId, 3)
        for (const key of [...keys, doomed])
          for (const one of await own.claim(key))
            await record(one, { status: statusesToSend[(turn += 1) % 5] ?? 200 }, own)
      }
      await own.close()
    }
    const toggle = async () => {
      for (const status of ['Disabled', 'Enabled', 'Disabled', 'Enabled'] as const)
        for (const { subscriptionId } of keys) await hooks.webhooks.update(partnerId, subscriptionId, { status })
      await hooks.webhooks.remove(partnerId, doomed.subscriptionId)
      await hooks.webhooks.sweep(hooks.log)
    }
    await Promise.all([work(), work(), work(), toggle()])
    while ((await hooks.fanOut(partnerId)) > 0);
    const rows = await hooks.db.transaction((tx) => reconcile(tx, partnerId))
    assert.equal(rows.length, 3)
    for (const row of rows) {
      assert.ok(row.delivered > 0n)
      assert.equal(row.delivered + row.pending + row.held, row.owed)
    }
  })
})

suite('a long queue', async () => {
  const partners = 2
  const futureRowsPerEndpointQueue = 50_000
  /** The number of attempts that may be in flight to one endpoint. */
  const events = 10
  const readMax = 1_000

  const key = randomBytes(32)
  const { url, drop } = await createTestDatabase()
  const watch = untilEnd(createDatabase({ url, connectionsMax: 1, log: createLog('silent') }))
  after(() => drop())

  /** The rows and index entries of the queue that PostgreSQL read for `work`. A connection reports its counts when it ends. */
  async function readOfQueue<T>(work: (hooks: Hooks) => Promise<T>, sharded = false): Promise<readonly [number, T]> {
    const readCount = async () => {
      const row = await watch.row<{ count: bigint }>(sql`
      select (t.seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relid = t.relid))::bigint as count
      from pg_stat_user_tables t where t.relid = 'delivery.queue'::regclass`)
      return Number(row?.count)
    }
    const before = await readCount()
    const hooks = await createHooks({ url, key, sharded })
    const result = await work(hooks)
    await hooks.close()
    await until('connections have ended', async () => {
      const row = await watch.row<{ count: bigint }>(sql`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`)
      return row?.count === 0n
    })
    return [(await readCount()) - before, result]
  }

  /** Inserts rows that are due in the distant future. */
  const insertFutureRows = ({ db, clock }: Hooks, { partnerId, subscriptionId }: SubscriptionKey, count: number) =>
    db.run(sql`
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, status,
      due_at, attempt_count, failures, held_at, created_at)
    select ${partnerId}::uuid, ${subscriptionId}::uuid, md5(${subscriptionId}::text || n)::uuid, 1000000 + n,
      md5('wire' || n)::uuid, 'transaction.status.changed', 'R-' || n, 'Pending', ${new Date('2100-01-01')}::timestamptz,
      0, 0, null, ${clock.now()}::timestamptz
    from generate_series(1, ${count}::integer) as n`)

  async function grow(hooks: Hooks): Promise<readonly SubscriptionKey[]> {
    const fixture = createDeliveryFixture(hooks)
    const keys: SubscriptionKey[] = []
    for (let i = 0; i < partners; i += 1) {
      const partnerId = await hooks.addPartner()
      keys.push(await fixture.subscribe(partnerId), await fixture.subscribe(partnerId))
    }
    for (const one of keys) await insertFutureRows(hooks, one, 100)
    await hooks.db.run(sql`delete from delivery.queue where sequence > 0`)
    await hooks.db.pool.query('analyze delivery.queue')
    for (const one of keys) await insertFutureRows(hooks, one, futureRowsPerEndpointQueue)
    for (const partnerId of new Set(keys.map((one) => one.partnerId))) {
      for (let i = 0; i < events; i += 1) await hooks.emit(partnerId, `E-${i}`)
      await hooks.fanOut(partnerId)
    }
    return keys
  }

  test('only the primary key of the queue begins with the partner, apart from partial indexes', async () => {
    const rows = await watch.rows<{ name: string }>(sql`
    select i.indexrelid::regclass::text as name from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = 'delivery.queue'::regclass and i.indpred is null and a.attname = 'partner_id'`)
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['delivery.queue_pkey'],
      'PostgreSQL may prefer another index to the primary key, and read all rows of an endpoint queue',
    )
  })

  const server = await watch.row<{ version: number }>(
    sql`select current_setting('server_version_num')::integer as version`,
  )
  const beforeList =
    Number(server?.version) < 170_000 &&
    'before 17 PostgreSQL reads the whole queue of a partner while its statistics are of an empty table'

  for (const sharded of [false, true]) {
    const title = `recording results reads the rows by their keys, ${sharded ? 'partner by partner' : 'partners together'}`
    test(title, { skip: sharded && beforeList }, async () => {
      const [, keys] = await readOfQueue(grow)
      const [read, outcomes] = await readOfQueue(async (hooks) => {
        const harness = createWorkerHarness(hooks)
        const claims: Attempt[] = []
        for (const one of keys) claims.push(...(await harness.claim(one)))
        const recorded = claims.map((claim, n) => harness.record(claim, n % 4 === 0 ? { status: 500 } : {}))
        return Promise.all(recorded)
      }, sharded)
      const count = (outcome: string) => outcomes.filter((one) => one === outcome).length
      assert.deepEqual([count('delivered'), count('failed')], [30, 10])
      // Mostly for the prefetch. A join with the whole queue would read at least 200,000 rows.
      assert.ok(read < readMax, `${read} rows and index entries were read for ${outcomes.length} attempts`)
    })
  }
})
