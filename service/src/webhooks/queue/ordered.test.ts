import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  createWorkerHarness,
  createDeliveryFixture,
  type WorkerHarness,
  textOf,
} from '../../../../test/support/worker-harness.ts'
import { until } from '../../../../test/support/until.ts'
import { createHooks, type Hooks } from '../../../../test/support/webhooks.ts'
import { sql } from '../../postgres/index.ts'
import type { Attempt } from './attempt.ts'
import { limitsDefault } from '../limits.ts'
import { type SubscriptionKey } from '../management/store-subscriptions.ts'

let hooks: Hooks
let harness: WorkerHarness
let fixture: ReturnType<typeof createDeliveryFixture>
before(async () => {
  hooks = await createHooks({ retryDelaysMs: [1000, 1000] })
  harness = createWorkerHarness(hooks)
  fixture = createDeliveryFixture(hooks)
})
after(() => hooks.close())

const named = (claims: readonly Attempt[]) => claims.map((claim) => textOf(claim, 'status'))

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

test('a delivery waits while an earlier one of its reference is pending; other references do not wait', async () => {
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
  hooks.clock.advance(2 * limitsDefault.leaseMs)
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
      const own = seen[textOf(claim, 'reference')]
      if (own?.at(-1) !== textOf(claim, 'status')) own?.push(textOf(claim, 'status'))
      // One turn in five fails. One in seven is not recorded, because its worker dies.
      if (turn % 7 === 6) continue
      await worker.record(claim, { status: turn % 5 === 4 ? 500 : 200 })
    }
    if (turn % 7 === 6) {
      hooks.clock.advance(2 * limitsDefault.leaseMs)
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

test('thousands of rows are marked as ordered in steps; after a restart the marking completes before any attempt', async () => {
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
  hooks.clock.advance(2 * limitsDefault.leaseMs)
  const next = createWorkerHarness(hooks)
  await hooks.db.run(sql`
    update delivery.queue set due_at = '2100-01-01' where subscription_id = ${key.subscriptionId} and attempt_count = 1`)
  assert.deepEqual(named(await next.claim(key)), ['b1'])
  assert.deepEqual(await markedOf(key), { marked: crowd + 3 })
  await next.close()
})

test('after a switch back and forth the rows from between are marked as well', async () => {
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

test('a redelivery is ordered, too', async () => {
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
