import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createHands, createRoom, type Hands, textOf } from '../../../../test/support/hands.ts'
import { createHooks, type Hooks } from '../../../../test/support/webhooks.ts'
import type { Page } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { AttemptResult, Claim, SubscriptionKey } from './index.ts'

let hooks: Hooks
let hands: Hands
let room: ReturnType<typeof createRoom>
before(async () => {
  hooks = await createHooks()
  hands = createHands(hooks)
  room = createRoom(hooks)
})
after(() => hooks.close())

const { subscribe, claim, record, list, laneOf, counts } = {
  subscribe: (...given: Parameters<typeof room.subscribe>) => room.subscribe(...given),
  claim: (key: SubscriptionKey, by = hands) => by.claim(key),
  record: (one: Claim | undefined, more: Partial<AttemptResult> = {}, by = hands) => by.record(one, more),
  list: (key: SubscriptionKey) => room.list(key),
  laneOf: (key: SubscriptionKey) => room.laneOf(key),
  counts: (partnerId: string) => room.counts(partnerId),
}
const statuses = (page: Page<{ readonly status: string }>) => page.data.map((row) => row.status)

test('410 disables the subscription and holds what it is owed, later events too; enabling delivers', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  for (const reference of ['A', 'B', 'C']) await hooks.emit(partnerId, reference, 'Completed')
  await hooks.fanOut(partnerId)
  const [a, b, c] = await claim(key)
  assert.equal(await record(a, { status: 410 }), 'gone')
  assert.equal((await hooks.webhooks.get(partnerId, key.subscriptionId)).status, 'Disabled')
  assert.deepEqual(statuses(await list(key)), ['Held', 'Held', 'Held'])
  assert.deepEqual(await claim(key), [])
  // What was under way when it was disabled still counts.
  assert.equal(await record(b), 'delivered')
  assert.equal(await record(c, { status: 500 }), 'failed')
  await hooks.emit(partnerId, 'D', 'Completed')
  await hooks.fanOut(partnerId)
  hooks.clock.advance(10_000_000)
  assert.deepEqual(await claim(key), [])
  const { dueAt, leaseId } = await laneOf(key)
  assert.deepEqual([dueAt, leaseId], [null, null])
  assert.deepEqual(await counts(partnerId), [4, 1, 0, 3])
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
    // A slow start: one at once, then two.
    assert.equal(due.length, 1 + Number(seen.length === 1))
    for (const one of due) {
      seen.push(textOf(one, 'reference'))
      await record(one)
    }
  }
  assert.deepEqual(seen, ['A', 'C', 'D'])
  assert.deepEqual(await counts(partnerId), [4, 4, 0, 0])
})

test('410 of an endpoint that the partner has left meanwhile disables nothing', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  await hooks.emit(partnerId, 'A', 'Completed')
  await hooks.fanOut(partnerId)
  const [one] = await claim(key)
  await hooks.webhooks.update(partnerId, key.subscriptionId, { url: 'https://example.org/' })
  await record(one, { status: 410 })
  assert.equal((await hooks.webhooks.get(partnerId, key.subscriptionId)).status, 'Enabled')
})

test('429 with Retry-After rests the whole endpoint, and is no step of the schedule', async () => {
  const partnerId = await hooks.addPartner()
  const key = await subscribe(partnerId)
  for (let i = 0; i < 12; i += 1) await hooks.emit(partnerId, `R-${i}`, 'Completed')
  await hooks.fanOut(partnerId)
  const [first, ...others] = await claim(key)
  assert.equal(await record(first, { status: 429, retryAfter: '600' }), 'rested')
  for (const one of others) await record(one)
  assert.deepEqual(await claim(key), [])
  // It rests in the database, with nobody to hold it.
  const { dueAt, leaseId, pausedUntil } = await laneOf(key)
  assert.deepEqual([dueAt, leaseId], [pausedUntil, null])
  hooks.clock.advance(599_000)
  assert.deepEqual(await claim(key), [])
  hooks.clock.advance(1_001)
  assert.equal((await claim(key)).length, 3)
  const rested = await hooks.db.row(sql`
    select attempt_count, failures from webhooks.queue where partner_id = ${partnerId} and attempt_count > 0`)
  assert.deepEqual(rested, { attemptCount: 1, failures: 0 })
})
