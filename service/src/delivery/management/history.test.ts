import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createWorkerHarness, type WorkerHarness } from '../../../../test/support/worker-harness.ts'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { reconcile } from '../../../../test/support/reconcile.ts'
import { Refusal } from '../../api/index.ts'
import { after as later, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { sampleOf } from '../../events/index.ts'

type Hooks = Awaited<ReturnType<typeof createHooks>>
let hooks: Hooks
let harness: WorkerHarness
before(async () => {
  hooks = await createHooks()
  harness = createWorkerHarness(hooks)
})
after(() => hooks?.close())

const refused = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code

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

async function told(key: Key, ...names: readonly string[]) {
  for (const name of names) await hooks.emit(key.partnerId, name, 'x')
  await hooks.fanOut(key.partnerId)
}

async function reconciled(key: Key) {
  const rows = await reconcile(hooks.db, key.partnerId)
  const row = rows.find((each) => each.subscriptionId === key.subscriptionId)
  assert.ok(row)
  assert.equal(row.delivered + row.pending + row.held, row.owed)
  return [row.owed, row.delivered, row.pending, row.held].map(Number)
}

async function begun(key: Key, times: number) {
  const claims = await harness.claim(key)
  assert.equal(claims.length, times)
  return claims
}

test('queue and delivered are one list, newest first, in pages, each with its attempts', async () => {
  const key = await subscribed()
  assert.deepEqual((await list(key)).data, [])
  await told(key, 'A', 'B', 'C', 'D', 'E')
  const claims = await begun(key, 5)
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

test('by status, type, reference and time, and all at once', async () => {
  const key = await subscribed()
  await told(key, 'A', 'B')
  const type = 'partner.customer.deposit.completed'
  const now = hooks.clock.now()
  const data = sampleOf(type, { partnerId: key.partnerId, partnerName: 'Test', now })
  await hooks.db.transaction(async (tx) => hooks.eventOutbox.append(tx, key.partnerId, type, now, data))
  await hooks.fanOut(key.partnerId)
  const claims = await begun(key, 3)
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

test('a filter that finds little among very many looks at a bounded part, and goes on from there', async () => {
  const key = await subscribed()
  const total = 24_000
  const ids = Array.from({ length: total }, () => newId())
  await hooks.db.run(sql`
    insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, delivered_at)
    select ${key.partnerId}::uuid, ${key.subscriptionId}::uuid, i, n, i, ${statusChanged},
      case when n in (1, 15000, 24000) then 'rare' else 'usual' end, 1, ${hooks.clock.now()}::timestamptz,
      ${hooks.clock.now()}::timestamptz
    from unnest(${ids}::uuid[]) with ordinality as w (i, n)`)
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

test('one is read by its eventId; unknown, malformed in time, of another subscription or partner are 404', async () => {
  const key = await subscribed()
  const other = await subscribed()
  await told(key, 'A')
  const [row] = (await list(key)).data
  assert.ok(row)
  assert.deepEqual(await get(key, row.eventId), row)
  assert.deepEqual(await get(key, row.eventId.toUpperCase()), row)
  const strange = [
    newId(),
    'ffffffff-ffff-7fff-bfff-ffffffffffff',
    '00000000-0000-0000-0000-000000000000',
    '0190b0a0-0000-8000-8000-000000000000',
  ]
  for (const eventId of strange) {
    await assert.rejects(get(key, eventId), refused('not_found'))
    await assert.rejects(redeliver(key, eventId), refused('not_found'))
  }
  await assert.rejects(get(other, row.eventId), refused('not_found'))
  await assert.rejects(redeliver(other, row.eventId), refused('not_found'))
  await assert.rejects(redeliver({ ...key, partnerId: other.partnerId }, row.eventId), refused('not_found'))
})

test('a delivered one is redelivered under its id, its attempts go on, and it is owed once', async () => {
  const key = await subscribed()
  await told(key, 'A')
  const [first] = await begun(key, 1)
  await harness.record(first)
  assert.deepEqual(await reconciled(key), [1, 1, 0, 0])
  const again = await redeliver(key, first?.eventId ?? '')
  assert.deepEqual([again.status, again.attemptCount, again.attempts.length], ['Pending', 1, 1])
  assert.deepEqual(await reconciled(key), [1, 0, 1, 0])
  const [second] = await begun(key, 1)
  assert.deepEqual([second?.eventId, second?.data], [first?.eventId, first?.data])
  await harness.record(second)
  const done = await get(key, first?.eventId ?? '')
  assert.deepEqual(
    [done.status, done.attemptCount, done.attempts.map(({ attempt }) => attempt)],
    ['Delivered', 2, [1, 2]],
  )
  assert.deepEqual(await reconciled(key), [1, 1, 0, 0])
})

test('a held one starts over, one that waits goes now, one that is under way stays as its attempt leaves it', async () => {
  const key = await subscribed()
  await told(key, 'held')
  const [held] = await begun(key, 1)
  await harness.record(held, { status: 500 })
  await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()}, due_at = null
    where partner_id = ${key.partnerId}`)
  await redeliver(key, held?.eventId ?? '')
  const [started] = await begun(key, 1)
  assert.equal(started?.eventId, held?.eventId)
  await harness.record(started, { status: 500 })
  assert.deepEqual(await begun(key, 0), [])
  await redeliver(key, held?.eventId ?? '')
  const [hurried] = await begun(key, 1)
  // Twice while it is under way: nothing is begun beside it, and what it says is recorded.
  await Promise.all([redeliver(key, held?.eventId ?? ''), redeliver(key, held?.eventId ?? '')])
  await begun(key, 0)
  assert.equal(await harness.record(hurried), 'delivered')
  assert.deepEqual(await reconciled(key), [1, 1, 0, 0])
})

test('redelivered ten times at once while others come and go: owed once each', async () => {
  const key = await subscribed()
  await told(key, 'A', 'B', 'C')
  const claims = await begun(key, 3)
  await Promise.all(claims.map((claim) => harness.record(claim)))
  const ids = claims.map(({ eventId }) => eventId)
  await Promise.all(Array.from({ length: 10 }, (_, index) => redeliver(key, ids[index % 3] ?? '')))
  assert.deepEqual(await reconciled(key), [3, 0, 3, 0])
  const again = await begun(key, 3)
  assert.deepEqual(again.map(({ eventId }) => eventId).toSorted(), ids.toSorted())
  await Promise.all([...again.map((claim) => harness.record(claim)), ...ids.map((id) => redeliver(key, id))])
  const [owed] = await reconciled(key)
  assert.equal(owed, 3)
})

test('the newest twenty attempts are shown', async () => {
  const key = await subscribed()
  await told(key, 'A')
  let [claim] = await begun(key, 1)
  for (let i = 0; i < 24; i += 1) {
    await harness.record(claim)
    await redeliver(key, claim?.eventId ?? '')
    ;[claim] = await begun(key, 1)
  }
  const { attempts, attemptCount } = await get(key, claim?.eventId ?? '')
  assert.equal(attemptCount, 24)
  assert.deepEqual(
    attempts.map(({ attempt }) => attempt),
    Array.from({ length: 20 }, (_, index) => index + 5),
  )
})

test('enabling makes due what waits and what is held, and few at once begin', async () => {
  const key = await subscribed()
  await told(key, 'A', 'B', 'C')
  const claims = await begun(key, 3)
  for (const claim of claims) await harness.record(claim, { status: 500 })
  const disabled = await hooks.webhooks.update(key.partnerId, key.subscriptionId, { status: 'Disabled' })
  assert.deepEqual([disabled.disabledReason, disabled.disabledAt], ['Partner', hooks.clock.now()])
  await told(key, 'D')
  await begun(key, 0)
  assert.deepEqual(await reconciled(key), [4, 0, 0, 4])
  const enabled = await hooks.webhooks.enable(key.partnerId, key.subscriptionId)
  assert.deepEqual([enabled.status, enabled.disabledReason, enabled.disabledAt], ['Enabled', null, null])
  assert.deepEqual(await reconciled(key), [4, 0, 4, 0])
  const [one] = await begun(key, 1)
  await harness.record(one)
  assert.equal((await harness.claim(key)).length, 2)
})

test('statistics: the sums, the oldest, and what the attempts of a day came to', async () => {
  const key = await subscribed()
  const read = () => hooks.webhooks.statistics(key.partnerId, key.subscriptionId)
  const empty = await read()
  assert.deepEqual(empty, {
    ...{ owed: 0, delivered: 0, pending: 0, held: 0, capped: false, oldestPendingAt: null, failingSince: null },
    breaker: 'Closed',
    last24Hours: { attempts: 0, successes: 0, failures: 0, latencyMs: { p50: null, p95: null, p99: null } },
  })
  await told(key, 'A', 'B', 'C', 'D')
  const claims = await begun(key, 4)
  await harness.record(claims[0], { durationMs: 10 })
  await harness.record(claims[1], { durationMs: 20 })
  await harness.record(claims[2], { durationMs: 400, status: 500 })
  await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()} where partner_id = ${key.partnerId}
      and reference = 'C'`)
  const { oldestPendingAt, failingSince, ...rest } = await read()
  assert.ok(oldestPendingAt !== null && failingSince !== null)
  assert.deepEqual(rest, {
    ...{ owed: 4, delivered: 2, pending: 1, held: 1, capped: false, breaker: 'Closed' },
    last24Hours: { attempts: 3, successes: 2, failures: 1, latencyMs: { p50: 20, p95: 400, p99: 400 } },
  })
  hooks.clock.advance(25 * hourMs)
  assert.equal((await read()).last24Hours.attempts, 0)
  hooks.clock.advance(minuteMs)
  const stranger = await subscribed()
  await assert.rejects(hooks.webhooks.statistics(stranger.partnerId, key.subscriptionId), refused('not_found'))
})

test('one that was delivered before deliveries carried their attempt shows it, and is counted, out of the log', async () => {
  const key = await subscribed()
  await told(key, 'A')
  const [claim] = await begun(key, 1)
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
  const shown = async () => (await list(key)).data[0]?.attempts.map(({ attempt, durationMs }) => [attempt, durationMs])
  assert.deepEqual(await shown(), [[1, 8]])
  assert.equal((await hooks.webhooks.statistics(partnerId, subscriptionId)).last24Hours.attempts, 1)
  await redeliver(key, row?.eventId ?? '')
  const [again] = await begun(key, 1)
  await harness.record(again, { durationMs: 9 })
  assert.deepEqual(await shown(), [
    [1, 8],
    [2, 9],
  ])
  assert.equal((await hooks.webhooks.statistics(partnerId, subscriptionId)).last24Hours.attempts, 2)
})
