import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { limitsDefault } from '../limits.ts'
import * as memory from './endpoint-queue.ts'
import type { NewDeliveries, QueuedDelivery, Target } from './attempt.ts'
import type { EndpointQueue } from './endpoint-queue.ts'
import { healthy } from './health.ts'

const now = new Date('2026-01-01T00:00:00Z')
const inOneHour = new Date('2026-01-01T01:00:00Z')
const key = { partnerId: 'p', subscriptionId: 's' }
const target: Target = {
  url: 'https://example.com/',
  ordered: false,
  keys: [],
  until: null,
  orderPending: null,
  updatedAt: now,
}

const delivery = (sequence: bigint, more: Partial<QueuedDelivery> = {}): QueuedDelivery => ({
  subscriptionId: 's',
  eventId: `e${sequence}`,
  wireEventId: `w${sequence}`,
  type: 't',
  reference: `r${sequence}`,
  sequence,
  data: '{}',
  dueAt: null,
  attemptCount: 0,
  failures: 0,
  ...more,
})

/** An endpoint queue that has been read up to number 4 of the feed, and has no rows. */
function emptyQueue(by: Target = target, committedUpTo = 4n): EndpointQueue {
  const queue = memory.createEndpointQueue(key, healthy, inOneHour, now, committedUpTo)
  memory.setTarget(queue, by)
  const request = memory.beginRead(queue, now)
  memory.endRead(queue, request, { newRows: [], scheduledRows: [] }, 64, now)
  return queue
}

const sequencesOf = (rows: readonly QueuedDelivery[]) => rows.map(({ sequence }) => sequence)
const eventOf = (queue: EndpointQueue) => memory.startAttempt(queue, now, limitsDefault)?.delivery.eventId

suite('deliveries from fan-out', () => {
  /** Numbers 5 to 8 of the feed, of which the subscription wants two. */
  const added: NewDeliveries = { ...key, updatedAt: now, after: 4n, upTo: 8n, rows: [delivery(5n), delivery(7n)] }

  test('are added if every row before them is known', () => {
    const queue = emptyQueue()
    assert.ok(memory.addNewDeliveries(queue, added, now, 100))
    assert.deepEqual(sequencesOf(queue.newRows), [5n, 7n])
    assert.deepEqual([queue.readUpTo, queue.mayHaveNewRows], [8n, false])
  })

  test('are added without those that have been read', () => {
    const queue = emptyQueue(target, 5n)
    assert.ok(memory.addNewDeliveries(queue, added, now, 100))
    assert.deepEqual(sequencesOf(queue.newRows), [7n])
  })

  const resting = () => {
    const queue = emptyQueue()
    memory.setHealth(queue, { ...healthy, pausedUntil: inOneHour })
    return queue
  }
  const closing = () => {
    const queue = emptyQueue()
    memory.close(queue, { closed: false, dueAt: null }, now)
    return queue
  }
  const refusals: readonly { why: string; queue: EndpointQueue; rowsMax?: number }[] = [
    { why: 'a row before them may be unread', queue: emptyQueue(target, 3n) },
    { why: 'new rows have to be read', queue: memory.createEndpointQueue(key, healthy, inOneHour, now) },
    { why: 'the subscription is ordered', queue: emptyQueue({ ...target, ordered: true }) },
    { why: 'the subscription changed', queue: emptyQueue({ ...target, updatedAt: new Date(0) }) },
    { why: 'a key has ended', queue: emptyQueue({ ...target, until: now }) },
    { why: 'the endpoint queue is closing', queue: closing() },
    { why: 'the endpoint queue rests', queue: resting() },
    { why: 'there is no space', queue: emptyQueue(), rowsMax: 1 },
  ]
  for (const { why, queue, rowsMax = 100 } of refusals)
    test(`are left to be read if ${why}`, () => {
      assert.ok(!memory.addNewDeliveries(queue, added, now, rowsMax))
      assert.deepEqual([queue.newRows, queue.mayHaveNewRows, queue.committedUpTo], [[], true, 8n])
    })
})

suite('attempts', () => {
  test('start one at a time for each reference, in the order of the rows', () => {
    const queue = emptyQueue()
    for (const row of [delivery(5n, { reference: 'a' }), delivery(6n, { reference: 'a' }), delivery(7n)])
      memory.addRead(queue, row)
    assert.deepEqual([eventOf(queue), eventOf(queue), eventOf(queue)], ['e5', 'e7', undefined])
    memory.endAttempt(queue, delivery(5n, { reference: 'a' }))
    assert.equal(eventOf(queue), 'e6')
  })

  test('start with the scheduled rows', () => {
    const queue = emptyQueue()
    memory.addRead(queue, delivery(7n))
    memory.addRead(queue, delivery(5n, { dueAt: now }))
    assert.deepEqual([eventOf(queue), eventOf(queue)], ['e5', 'e7'])
  })

  test('do not start shortly before the lease ends, nor after a stale result', () => {
    const queue = emptyQueue()
    memory.addRead(queue, delivery(5n))
    memory.renewLease(queue, new Date(now.getTime() + limitsDefault.leaseMarginMs))
    assert.equal(eventOf(queue), undefined)
    memory.doubtLease(queue, now)
    memory.addRead(queue, delivery(5n))
    assert.ok(memory.isLeaseUncertain(queue))
    assert.equal(eventOf(queue), undefined)
    memory.renewLease(queue, inOneHour)
    assert.equal(eventOf(queue), 'e5')
  })
})

suite('reads', () => {
  test('an attempt that ends during a read leaves its row known, because the read may show it as before', () => {
    const queue = emptyQueue()
    memory.addRead(queue, delivery(5n))
    assert.equal(eventOf(queue), 'e5')
    memory.beginRead(queue, now)
    memory.endAttempt(queue, delivery(5n))
    assert.ok(memory.isKnown(queue, delivery(5n)))
    memory.beginRead(queue, now)
    assert.ok(!memory.isKnown(queue, delivery(5n)))
  })

  test('a full read leaves more to read; the next due time is that of the first future row', () => {
    const queue = memory.createEndpointQueue(key, healthy, inOneHour, now, 9n)
    const first = memory.beginRead(queue, now)
    const scheduledRows = [delivery(1n, { dueAt: now }), delivery(2n, { dueAt: inOneHour })]
    memory.endRead(queue, first, { newRows: [delivery(5n), delivery(6n)], scheduledRows }, 2, now)
    assert.deepEqual([queue.readUpTo, queue.mayHaveNewRows, queue.nextDueAt], [6n, true, inOneHour])
    const second = memory.beginRead(queue, now)
    assert.deepEqual([second.after, second.readsNew, second.readsScheduled], [6n, true, false])
    memory.endRead(queue, second, { newRows: [delivery(7n)], scheduledRows: [] }, 2, now)
    assert.deepEqual([queue.readUpTo, queue.mayHaveNewRows, queue.nextDueAt], [9n, false, inOneHour])
  })

  test('a change during a read is read by the next one', () => {
    const queue = emptyQueue()
    const request = memory.beginRead(queue, now)
    memory.wakeUp(queue, healthy, now)
    memory.endRead(queue, request, { newRows: [], scheduledRows: [] }, 64, now)
    assert.ok(memory.needsRead(queue, now, limitsDefault))
  })

  test('a subscription that became ordered makes the rows in memory unusable', () => {
    const queue = emptyQueue()
    assert.ok(memory.setTarget(queue, { ...target, url: 'https://example.org/' }))
    assert.ok(!memory.setTarget(queue, { ...target, ordered: true }))
  })
})
