/** The history of deliveries, and the feed. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventNames, isRawNumber } from '@partner-payments/wire'
import { createWorkerHarness } from '../../../../test/support/worker-harness.ts'
import { createHooks, reconciledCounts, statusChanged } from '../../../../test/support/webhooks.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { hourMs, after as later, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { sampleEvent } from '../../events/index.ts'

suite('history', async () => {
  const hooks = untilEnd(await createHooks())
  const harness = createWorkerHarness(hooks)

  async function subscribed(more: object = {}) {
    const partnerId = await hooks.addPartner()
    const { id } = await hooks.webhooks.create(partnerId, { url: 'https://example.com/', events: ['*'], ...more })
    return { partnerId, subscriptionId: id }
  }
  type Key = Awaited<ReturnType<typeof subscribed>>

  const list = ({ partnerId, subscriptionId }: Key, query: object = {}) =>
    hooks.webhooks.deliveries(partnerId, subscriptionId, query)
  const get = ({ partnerId, subscriptionId }: Key, eventId: string) =>
    hooks.webhooks.delivery(partnerId, subscriptionId, eventId)
  const redeliver = ({ partnerId, subscriptionId }: Key, eventId: string) =>
    hooks.webhooks.redeliver(partnerId, subscriptionId, eventId)
  const references = (page: { readonly data: readonly { readonly reference: string }[] }) =>
    page.data.map(({ reference }) => reference)

  async function emitAndFanOut(key: Key, ...names: readonly string[]) {
    for (const name of names) await hooks.emit(key.partnerId, name, 'x')
    await hooks.fanOut(key.partnerId)
  }

  const countsOf = (key: Key) => reconciledCounts(hooks, key)

  async function beginAttempts(key: Key, expected: number) {
    const attempts = await harness.claim(key)
    assert.equal(attempts.length, expected)
    return attempts
  }

  test('queued and delivered rows are one list, newest first, in pages, with their attempts', async () => {
    const key = await subscribed()
    assert.deepEqual((await list(key)).data, [])
    await emitAndFanOut(key, 'A', 'B', 'C', 'D', 'E')
    const claims = await beginAttempts(key, 5)
    for (const index of [0, 2, 4]) await harness.record(claims[index])
    await harness.record(claims[1], { status: 500, responseBody: 'later' })
    const pages = []
    let query = {}
    for (let more = true; more;) {
      const page = await list(key, { limit: '2', ...query })
      pages.push(references(page))
      more = page.hasMore
      query = { cursor: page.nextCursor ?? '' }
    }
    assert.deepEqual(pages, [['E', 'D'], ['C', 'B'], ['A']])
    const all = (await list(key)).data
    assert.deepEqual(
      all.map(({ status, attemptCount, attempts }) => [status, attemptCount, attempts.length]),
      [
        ['Delivered', 1, 1],
        ['Pending', 0, 0],
        ['Delivered', 1, 1],
        ['Pending', 1, 1],
        ['Delivered', 1, 1],
      ],
    )
    assert.deepEqual([all[3]?.attempts[0]?.status, all[3]?.attempts[0]?.responseBody], [500, 'later'])
    assert.ok(all[0]?.deliveredAt && all[0].nextAttemptAt === null && all[1]?.nextAttemptAt)
  })

  test('the list filters by status, type, reference and time, and by all of them together', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A', 'B')
    const type = 'partner.customer.deposit.completed'
    const now = hooks.clock.now()
    const data = sampleEvent(type, { partnerId: key.partnerId, partnerName: 'Test', now })
    await hooks.db.transaction(async (tx) => hooks.eventOutbox.append(tx, key.partnerId, type, now, data))
    await hooks.fanOut(key.partnerId)
    const claims = await beginAttempts(key, 3)
    await harness.record(claims[0])
    assert.deepEqual(references(await list(key, { status: 'Delivered' })), ['A'])
    assert.deepEqual(references(await list(key, { status: 'Pending' })), [data.reference, 'B'])
    assert.deepEqual(references(await list(key, { status: 'Held' })), [])
    assert.deepEqual(references(await list(key, { eventType: type })), [data.reference])
    assert.deepEqual(references(await list(key, { eventType: 'nope' })), [])
    assert.deepEqual(references(await list(key, { reference: 'B' })), ['B'])
    const [hourAgo, hourOn] = [later(new Date(), -hourMs).toISOString(), later(new Date(), hourMs).toISOString()]
    assert.equal((await list(key, { from: hourAgo, to: hourOn })).data.length, 3)
    assert.equal((await list(key, { from: hourOn })).data.length, 0)
    assert.equal((await list(key, { to: hourAgo })).data.length, 0)
    assert.deepEqual(
      references(
        await list(key, { status: 'Pending', eventType: statusChanged, reference: 'B', from: hourAgo, to: hourOn }),
      ),
      ['B'],
    )
    await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Disabled' })
    assert.deepEqual(references(await list(key, { status: 'Held' })), [data.reference, 'B'])
    assert.deepEqual(references(await list(key, { status: 'Pending' })), [])
  })

  test('a page of a sparse filter examines a limited number of rows, and the next page continues there', async () => {
    const key = await subscribed()
    const total = 24_000
    const ids = Array.from({ length: total }, () => newId())
    await hooks.db.run(sql`
    insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, delivered_at)
    select ${key.partnerId}::uuid, ${key.subscriptionId}::uuid, event_id, position, event_id, ${statusChanged},
      case when position in (1, 15000, 24000) then 'rare' else 'usual' end, 1, ${hooks.clock.now()}::timestamptz,
      ${hooks.clock.now()}::timestamptz
    from unnest(${ids}::uuid[]) with ordinality as input (event_id, position)`)
    const found: string[] = []
    let pages = 0
    let query = {}
    for (let more = true; more; pages += 1) {
      const page = await list(key, { reference: 'rare', limit: '2', ...query })
      found.push(...page.data.map(({ eventId }) => eventId))
      more = page.hasMore
      query = { cursor: page.nextCursor ?? '' }
    }
    assert.deepEqual(found, [ids[23_999], ids[14_999], ids[0]])
    assert.ok(pages >= 3 && pages <= 4, `${pages} pages`)
  })

  test('a delivery is read by its event id; 404 for an unknown id and another subscription or partner', async () => {
    const key = await subscribed()
    const other = await subscribed()
    await emitAndFanOut(key, 'A')
    const [row] = (await list(key)).data
    assert.ok(row)
    assert.deepEqual(await get(key, row.eventId), row)
    assert.deepEqual(await get(key, row.eventId.toUpperCase()), row)
    const unknownIds = [
      newId(),
      'ffffffff-ffff-7fff-bfff-ffffffffffff',
      '00000000-0000-0000-0000-000000000000',
      '0190b0a0-0000-8000-8000-000000000000',
    ]
    for (const eventId of unknownIds) {
      await assert.rejects(get(key, eventId), refused('not_found'))
      await assert.rejects(redeliver(key, eventId), refused('not_found'))
    }
    await assert.rejects(get(other, row.eventId), refused('not_found'))
    await assert.rejects(redeliver(other, row.eventId), refused('not_found'))
    await assert.rejects(redeliver({ ...key, partnerId: other.partnerId }, row.eventId), refused('not_found'))
  })

  test('a redelivery keeps the event id, continues the attempts and counts exactly once in `owed`', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A')
    const [first] = await beginAttempts(key, 1)
    await harness.record(first)
    assert.deepEqual(await countsOf(key), { owed: 1, delivered: 1, pending: 0, held: 0 })
    const again = await redeliver(key, first?.eventId ?? '')
    assert.deepEqual([again.status, again.attemptCount, again.attempts.length], ['Pending', 1, 1])
    assert.deepEqual(await countsOf(key), { owed: 1, delivered: 0, pending: 1, held: 0 })
    const [second] = await beginAttempts(key, 1)
    assert.deepEqual([second?.eventId, second?.data], [first?.eventId, first?.data])
    await harness.record(second)
    const done = await get(key, first?.eventId ?? '')
    assert.deepEqual(
      [done.status, done.attemptCount, done.attempts.map(({ attempt }) => attempt)],
      ['Delivered', 2, [1, 2]],
    )
    assert.deepEqual(await countsOf(key), { owed: 1, delivered: 1, pending: 0, held: 0 })
  })

  test('redelivery restarts a held delivery, expedites a waiting delivery and does not disturb an attempt in flight', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'held')
    const [held] = await beginAttempts(key, 1)
    await harness.record(held, { status: 500 })
    await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()}, due_at = null
    where partner_id = ${key.partnerId}`)
    await redeliver(key, held?.eventId ?? '')
    const [started] = await beginAttempts(key, 1)
    assert.equal(started?.eventId, held?.eventId)
    await harness.record(started, { status: 500 })
    assert.deepEqual(await beginAttempts(key, 0), [])
    await redeliver(key, held?.eventId ?? '')
    const [hurried] = await beginAttempts(key, 1)
    // Two redeliveries during the attempt start no second attempt, and its result is recorded.
    await Promise.all([redeliver(key, held?.eventId ?? ''), redeliver(key, held?.eventId ?? '')])
    await beginAttempts(key, 0)
    assert.equal(await harness.record(hurried), 'delivered')
    assert.deepEqual(await countsOf(key), { owed: 1, delivered: 1, pending: 0, held: 0 })
  })

  test('concurrent redeliveries count once per delivery in `owed`', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A', 'B', 'C')
    const claims = await beginAttempts(key, 3)
    await Promise.all(claims.map((claim) => harness.record(claim)))
    const ids = claims.map(({ eventId }) => eventId)
    await Promise.all(Array.from({ length: 10 }, (_, index) => redeliver(key, ids[index % 3] ?? '')))
    assert.deepEqual(await countsOf(key), { owed: 3, delivered: 0, pending: 3, held: 0 })
    const again = await beginAttempts(key, 3)
    assert.deepEqual(again.map(({ eventId }) => eventId).toSorted(), ids.toSorted())
    await Promise.all([...again.map((claim) => harness.record(claim)), ...ids.map((id) => redeliver(key, id))])
    assert.equal((await countsOf(key)).owed, 3)
  })

  test('the newest twenty attempts are shown', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A')
    let [claim] = await beginAttempts(key, 1)
    for (let i = 0; i < 24; i += 1) {
      await harness.record(claim)
      await redeliver(key, claim?.eventId ?? '')
      ;[claim] = await beginAttempts(key, 1)
    }
    const { attempts, attemptCount } = await get(key, claim?.eventId ?? '')
    assert.equal(attemptCount, 24)
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      Array.from({ length: 20 }, (_, index) => index + 5),
    )
  })

  test('enabling makes waiting and held deliveries due, with slow start', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A', 'B', 'C')
    const claims = await beginAttempts(key, 3)
    for (const claim of claims) await harness.record(claim, { status: 500 })
    const disabled = await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Disabled' })
    assert.deepEqual([disabled.disabledReason, disabled.disabledAt], ['Partner', hooks.clock.now()])
    await emitAndFanOut(key, 'D')
    await beginAttempts(key, 0)
    assert.deepEqual(await countsOf(key), { owed: 4, delivered: 0, pending: 0, held: 4 })
    const enabled = await hooks.webhooks.enable(key.partnerId, key.subscriptionId)
    assert.deepEqual([enabled.status, enabled.disabledReason, enabled.disabledAt], ['Enabled', null, null])
    assert.deepEqual(await countsOf(key), { owed: 4, delivered: 0, pending: 4, held: 0 })
    const [one] = await beginAttempts(key, 1)
    await harness.record(one)
    assert.equal((await harness.claim(key)).length, 2)
  })

  test('statistics have the counts, the oldest pending time and the attempts of 24 hours', async () => {
    const key = await subscribed()
    const read = () => hooks.webhooks.statistics(key.partnerId, key.subscriptionId)
    const empty = await read()
    assert.deepEqual(empty, {
      owed: 0,
      delivered: 0,
      pending: 0,
      held: 0,
      capped: false,
      oldestPendingAt: null,
      failingSince: null,
      breaker: 'Closed',
      last24Hours: { attempts: 0, successes: 0, failures: 0, latencyMs: { p50: null, p95: null, p99: null } },
    })
    await emitAndFanOut(key, 'A', 'B', 'C', 'D')
    const claims = await beginAttempts(key, 4)
    await harness.record(claims[0], { durationMs: 10 })
    await harness.record(claims[1], { durationMs: 20 })
    await harness.record(claims[2], { durationMs: 400, status: 500 })
    await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()} where partner_id = ${key.partnerId}
      and reference = 'C'`)
    const { oldestPendingAt, failingSince, ...rest } = await read()
    assert.ok(oldestPendingAt !== null && failingSince !== null)
    assert.deepEqual(rest, {
      owed: 4,
      delivered: 2,
      pending: 1,
      held: 1,
      capped: false,
      breaker: 'Closed',
      last24Hours: { attempts: 3, successes: 2, failures: 1, latencyMs: { p50: 20, p95: 400, p99: 400 } },
    })
    hooks.clock.advance(25 * hourMs)
    assert.equal((await read()).last24Hours.attempts, 0)
    hooks.clock.advance(minuteMs)
    const stranger = await subscribed()
    await assert.rejects(hooks.webhooks.statistics(stranger.partnerId, key.subscriptionId), refused('not_found'))
  })

  test('a delivery of an early version shows and counts its attempt from the attempt log', async () => {
    const key = await subscribed()
    await emitAndFanOut(key, 'A')
    const [claim] = await beginAttempts(key, 1)
    await harness.record(claim, { durationMs: 7 })
    const [row] = (await list(key)).data
    assert.deepEqual(
      row?.attempts.map(({ attempt, durationMs }) => [attempt, durationMs]),
      [[1, 7]],
    )
    const { partnerId, subscriptionId } = key
    await hooks.db.run(sql`
    insert into delivery.attempts (partner_id, subscription_id, event_id, attempt, started_at, duration_ms, status)
    select partner_id, subscription_id, event_id, 1, started_at, 8, status from delivery.deliveries
    where partner_id = ${partnerId}`)
    await hooks.db.run(sql`update delivery.deliveries set started_at = null where partner_id = ${partnerId}`)
    const shown = async () =>
      (await list(key)).data[0]?.attempts.map(({ attempt, durationMs }) => [attempt, durationMs])
    assert.deepEqual(await shown(), [[1, 8]])
    assert.equal((await hooks.webhooks.statistics(partnerId, subscriptionId)).last24Hours.attempts, 1)
    await redeliver(key, row?.eventId ?? '')
    const [again] = await beginAttempts(key, 1)
    await harness.record(again, { durationMs: 9 })
    assert.deepEqual(await shown(), [
      [1, 8],
      [2, 9],
    ])
    assert.equal((await hooks.webhooks.statistics(partnerId, subscriptionId)).last24Hours.attempts, 2)
  })
})

suite('feed', async () => {
  const hooks = untilEnd(await createHooks())

  async function emitAndFanOut(partnerId: string, ...statuses: readonly string[]) {
    await hooks.emit(partnerId, newId(), ...statuses)
    await hooks.fanOut(partnerId)
  }
  const statusesOf = (page: { readonly data: readonly { readonly data: Record<string, unknown> }[] }) =>
    page.data.map(({ data }) => data.status)

  test('an empty feed has a cursor, and later events come after it', async () => {
    const partnerId = await hooks.addPartner()
    const empty = await hooks.webhooks.events(partnerId, {})
    assert.deepEqual([empty.data, empty.hasMore], [[], false])
    await emitAndFanOut(partnerId, 'a', 'b')
    const page = await hooks.webhooks.events(partnerId, { after: empty.nextCursor })
    assert.deepEqual(statusesOf(page), ['a', 'b'])
    assert.deepEqual(
      page.data.map(({ sequence }) => sequence),
      [1n, 2n],
    )
    const end = await hooks.webhooks.events(partnerId, { after: page.nextCursor })
    assert.deepEqual([end.data, end.hasMore, end.nextCursor], [[], false, page.nextCursor])
  })

  test('pages are oldest first, with the data as it was stored', async () => {
    const partnerId = await hooks.addPartner()
    await emitAndFanOut(partnerId, 'a', 'b', 'c')
    const first = await hooks.webhooks.events(partnerId, { limit: '2' })
    assert.deepEqual([statusesOf(first), first.hasMore], [['a', 'b'], true])
    const second = await hooks.webhooks.events(partnerId, { limit: '2', after: first.nextCursor })
    assert.deepEqual([statusesOf(second), second.hasMore], [['c'], false])
    const rows = await hooks.db.rows<{ id: string; data: string }>(sql`
    select id, data from events.events where partner_id = ${partnerId} order by id`)
    const events = [...first.data, ...second.data]
    assert.deepEqual(
      events.map((event) => [event.id, JSON.stringify(event.data)]),
      rows.map(({ id, data }) => [id, data]),
    )
    assert.ok(!isRawNumber(events[0]?.data.reference))
  })

  test('concurrent readers get each event once, in order, during writes and fan-outs', async () => {
    const partnerId = await hooks.addPartner()
    const total = 60
    let made = 0
    const write = async () => {
      for (let i = 0; i < total / 3; i += 1) {
        await hooks.emit(partnerId, newId(), 'x')
        made += 1
      }
    }
    const fan = async () => {
      do await hooks.fanOut(partnerId, 3)
      while (made < total)
      while ((await hooks.fanOut(partnerId)) > 0);
    }
    const read = async () => {
      const seen: bigint[] = []
      let cursor: string | undefined
      while (seen.length < total) {
        const page = await hooks.webhooks.events(partnerId, {
          limit: '7',
          ...(cursor === undefined ? {} : { after: cursor }),
        })
        seen.push(...page.data.map(({ sequence }) => sequence))
        cursor = page.nextCursor
      }
      return seen
    }
    const [one, two] = await Promise.all([read(), read(), write(), write(), write(), fan(), fan()])
    const expected = Array.from({ length: total }, (_, index) => BigInt(index + 1))
    assert.deepEqual(one, expected)
    assert.deepEqual(two, expected)
  })

  test('a page has only the requested types, and its cursor skips the other events', async () => {
    const partnerId = await hooks.addPartner()
    await emitAndFanOut(partnerId, 'a')
    const none = await hooks.webhooks.events(partnerId, { types: 'partner.customer.deposit.completed' })
    assert.deepEqual([none.data, none.hasMore], [[], false])
    await emitAndFanOut(partnerId, 'b')
    const page = await hooks.webhooks.events(partnerId, { types: statusChanged, after: none.nextCursor })
    assert.deepEqual(statusesOf(page), ['b'])
    const both = await hooks.webhooks.events(partnerId, { types: eventNames.join(',') })
    assert.deepEqual(statusesOf(both), ['a', 'b'])
    await assert.rejects(
      hooks.webhooks.events(partnerId, { types: `${statusChanged},nope` }),
      refused('validation_failed', '/query/types'),
    )
  })

  test('with a subscription, each event has the event id of its delivery', async () => {
    const partnerId = await hooks.addPartner()
    await emitAndFanOut(partnerId, 'before')
    const { id } = await hooks.webhooks.create(partnerId, { url: 'https://example.com/', events: [statusChanged] })
    await emitAndFanOut(partnerId, 'after')
    const { data } = await hooks.webhooks.events(partnerId, { subscriptionId: id })
    const deliveries = await hooks.webhooks.deliveries(partnerId, id, {})
    assert.deepEqual(
      deliveries.data.map(({ eventId }) => eventId),
      [data[1]?.eventId],
    )
    // The event before the subscription has the event id that its recovered delivery gets. Event ids use the system time,
    // which advances while the clock of the test does not.
    hooks.clock.advance(Date.now() + minuteMs - hooks.clock.now().getTime())
    await hooks.webhooks.recover(partnerId, id, { since: new Date(hooks.clock.now().getTime() - hourMs).toISOString() })
    while ((await hooks.webhooks.recoverStep()) > 0);
    const all = await hooks.webhooks.deliveries(partnerId, id, {})
    assert.deepEqual(
      all.data.map(({ eventId }) => eventId).toReversed(),
      data.map(({ eventId }) => eventId),
    )
    await assert.rejects(
      hooks.webhooks.events(await hooks.addPartner(), { subscriptionId: id }),
      refused('not_found', '/query/subscriptionId'),
    )
  })

  test('a forged or foreign cursor is refused, and a cursor before the oldest event is expired', async () => {
    const [partnerId, other] = [await hooks.addPartner(), await hooks.addPartner()]
    await emitAndFanOut(partnerId, 'a', 'b', 'c')
    const { nextCursor } = await hooks.webhooks.events(partnerId, { limit: '1' })
    const wrong = refused('validation_failed', '/query/after')
    await assert.rejects(hooks.webhooks.events(other, { after: nextCursor }), wrong)
    await assert.rejects(hooks.webhooks.events(partnerId, { after: `${nextCursor}AA` }), wrong)
    await assert.rejects(hooks.webhooks.events(partnerId, { after: 'x' }), wrong)
    // Retention deletes the oldest events.
    await hooks.db.run(sql`delete from delivery.feed where partner_id = ${partnerId} and sequence <= 2`)
    await assert.rejects(hooks.webhooks.events(partnerId, { after: nextCursor }), refused('cursor_expired'))
    const rest = await hooks.webhooks.events(partnerId, {})
    assert.deepEqual(statusesOf(rest), ['c'])
    await hooks.db.run(sql`delete from delivery.feed where partner_id = ${partnerId}`)
    await assert.rejects(hooks.webhooks.events(partnerId, { after: nextCursor }), refused('cursor_expired'))
    const end = await hooks.webhooks.events(partnerId, { after: rest.nextCursor })
    assert.deepEqual([end.data, end.nextCursor], [[], rest.nextCursor])
    const start = await hooks.webhooks.events(partnerId, {})
    assert.equal(start.nextCursor, rest.nextCursor)
  })

  test('`order=newest` lists the newest events first and ends at the oldest', async () => {
    const partnerId = await hooks.addPartner()
    const empty = await hooks.webhooks.events(partnerId, { order: 'newest' })
    assert.deepEqual([empty.data, empty.hasMore], [[], false])
    await emitAndFanOut(partnerId, 'a', 'b', 'c')
    const first = await hooks.webhooks.events(partnerId, { order: 'newest', limit: '2' })
    assert.deepEqual([statusesOf(first), first.hasMore], [['c', 'b'], true])
    await emitAndFanOut(partnerId, 'd')
    const second = await hooks.webhooks.events(partnerId, { order: 'newest', limit: '2', after: first.nextCursor })
    assert.deepEqual([statusesOf(second), second.hasMore], [['a'], false])
    const end = await hooks.webhooks.events(partnerId, { order: 'newest', after: second.nextCursor })
    assert.deepEqual([end.data, end.hasMore], [[], false])
    await assert.rejects(
      hooks.webhooks.events(partnerId, { after: first.nextCursor }),
      refused('validation_failed', '/query/after'),
    )
  })

  test('the events of a reference are found in both orders, among events of other references', async () => {
    const partnerId = await hooks.addPartner()
    const reference = newId()
    await emitAndFanOut(partnerId, 'other')
    await hooks.emit(partnerId, reference, 'a', 'b')
    await hooks.fanOut(partnerId)
    await emitAndFanOut(partnerId, 'another')
    assert.deepEqual(statusesOf(await hooks.webhooks.events(partnerId, { reference })), ['a', 'b'])
    assert.deepEqual(statusesOf(await hooks.webhooks.events(partnerId, { reference, order: 'newest' })), ['b', 'a'])
    assert.deepEqual(statusesOf(await hooks.webhooks.events(partnerId, { reference: 'none' })), [])
  })

  test('an event lists its deliveries, and another partner cannot find it', async () => {
    const partnerId = await hooks.addPartner()
    const subscription = await hooks.webhooks.create(partnerId, {
      url: 'https://example.com/',
      events: [statusChanged],
    })
    await emitAndFanOut(partnerId, 'a')
    const { data } = await hooks.webhooks.events(partnerId, { subscriptionId: subscription.id })
    const { sequence: _sequence, eventId = '', ...rest } = data[0] ?? { id: '', sequence: 0n }
    const found = await hooks.webhooks.event(partnerId, String(data[0]?.id))
    assert.deepEqual(found, { ...rest, deliveries: [{ subscriptionId: subscription.id, eventId }] })
    assert.equal((await hooks.webhooks.delivery(partnerId, subscription.id, eventId)).eventId, eventId)
    await assert.rejects(hooks.webhooks.event(await hooks.addPartner(), found.id), refused('not_found'))
    await assert.rejects(hooks.webhooks.event(partnerId, newId()), refused('not_found'))
  })
})
