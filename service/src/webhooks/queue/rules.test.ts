/** Rules of the queue. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { jitterMax, deliveryLimitsDefault, operatorLimits, readLimits, retryDelaysMsDefault } from '../limits.ts'
import * as memory from './endpoint-queue.ts'
import { createFailureWindow, type EndpointHealth, type HealthChange, healthy, nextHealth } from './health.ts'
import { after, createLog, dayMs, hourMs, minuteMs, secondMs } from '../../kernel/index.ts'
import { attemptAfterFailure, retryAfterMs, type Verdict, classifyAttempt } from './schedule.ts'
import { createPerReachableShard, createPerShard } from './shards.ts'
import { createSlots } from './worker.ts'

const now = new Date('2026-01-01T00:00:00Z')
const inOneHour = new Date('2026-01-01T01:00:00Z')
const key = { partnerId: 'p', subscriptionId: 's' }
const target: memory.SubscriptionTarget = {
  url: 'https://example.com/',
  ordered: false,
  keys: [],
  until: null,
  orderPending: null,
  updatedAt: now,
}

const delivery = (sequence: bigint, more: Partial<memory.QueuedDelivery> = {}): memory.QueuedDelivery => ({
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
function emptyQueue(by: memory.SubscriptionTarget = target, committedUpTo = 4n): memory.EndpointQueue {
  const queue = memory.createEndpointQueue(key, healthy, inOneHour, now, committedUpTo)
  memory.setTarget(queue, by)
  const request = memory.beginRead(queue, now)
  memory.endRead(queue, request, { newRows: [], scheduledRows: [] }, 64, now)
  return queue
}

const sequencesOf = (rows: readonly memory.QueuedDelivery[]) => rows.map(({ sequence }) => sequence)
const eventOf = (queue: memory.EndpointQueue) =>
  memory.startAttempt(queue, now, deliveryLimitsDefault)?.delivery.eventId

suite('deliveries from fan-out', () => {
  /** Numbers 5 to 8 of the feed, of which the subscription wants two. */
  const added: memory.NewDeliveries = {
    ...key,
    updatedAt: now,
    after: 4n,
    upTo: 8n,
    rows: [delivery(5n), delivery(7n)],
  }

  test('are added if every row before them is known', () => {
    const queue = emptyQueue()
    assert.ok(memory.addNewDeliveries(queue, added, now, 100))
    assert.deepEqual(sequencesOf(queue.newRows), [5n, 7n])
    assert.deepEqual([queue.readUpTo, queue.mayHaveNewRows], [8n, false])
  })

  test('are added without rows that have been read', () => {
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
  const refusals: readonly { why: string; queue: memory.EndpointQueue; rowsMax?: number }[] = [
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
    memory.renewLease(queue, new Date(now.getTime() + deliveryLimitsDefault.leaseMarginMs))
    assert.equal(eventOf(queue), undefined)
    memory.markLeaseUncertain(queue, now)
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

  test('a full read leaves more to read, and the next due time is the due time of the first future row', () => {
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
    assert.ok(memory.needsRead(queue, now, deliveryLimitsDefault))
  })

  test('a subscription that became ordered makes the rows in memory unusable', () => {
    const queue = emptyQueue()
    assert.ok(memory.setTarget(queue, { ...target, url: 'https://example.org/' }))
    assert.ok(!memory.setTarget(queue, { ...target, ordered: true }))
  })
})

/** An endpoint with a clock of its own. */
function endpoint(start: EndpointHealth = healthy) {
  const window = createFailureWindow()
  let now = new Date('2026-01-01T00:00:00.000Z')
  let health = start
  return {
    health: () => health,
    now: () => now,
    wait: (ms: number) => {
      now = after(now, ms)
    },
    attempt: (verdict: Verdict, more: { isProbe?: boolean; restMs?: number } = {}): HealthChange => {
      const learned = { verdict, isProbe: more.isProbe ?? false, restMs: more.restMs ?? 0, now, fraction: 0 }
      const outcome = nextHealth(health, window, learned, deliveryLimitsDefault)
      health = outcome.health
      return outcome
    },
  }
}
const pauseMs = (one: ReturnType<typeof endpoint>) => (one.health().pausedUntil?.getTime() ?? 0) - one.now().getTime()

test('ten consecutive failures open the breaker, but nine do not, and each counts in the retry schedule', () => {
  const one = endpoint()
  for (let i = 0; i < 9; i += 1) assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.equal(one.health().probeMs, null)
  assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.deepEqual([one.health().probeMs, pauseMs(one)], [30 * secondMs, 30 * secondMs])
})

test('seven failures of ten attempts within five minutes open the breaker, and older failures do not count', () => {
  const mixed: Verdict[] = ['failed', 'failed', 'delivered', 'failed', 'failed', 'delivered', 'failed', 'failed']
  const one = endpoint()
  for (const verdict of [...mixed, 'delivered', 'failed'] as const) one.attempt(verdict)
  assert.ok(one.health().probeMs !== null)
  const slow = endpoint()
  for (const verdict of [...mixed, 'delivered', 'failed'] as const) {
    slow.attempt(verdict)
    slow.wait(minuteMs)
  }
  assert.equal(slow.health().probeMs, null)
})

test('a failed probe does not count in the retry schedule and doubles the pause, up to 15 minutes', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  const waits: number[] = []
  for (let i = 0; i < 7; i += 1) {
    one.wait(pauseMs(one))
    assert.equal(one.attempt('failed', { isProbe: true }).countsAsFailure, false)
    waits.push(pauseMs(one) / secondMs)
  }
  assert.deepEqual(waits, [60, 120, 240, 480, 900, 900, 900])
})

test('an attempt that was in flight when the breaker opened does not change the probe', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  const { probeMs, pausedUntil } = one.health()
  one.wait(secondMs)
  assert.equal(one.attempt('failed').countsAsFailure, true)
  assert.deepEqual([one.health().probeMs, one.health().pausedUntil], [probeMs, pausedUntil])
})

test('a success closes the breaker, and the slow start allows one more attempt after each success, up to the limit', () => {
  const one = endpoint()
  for (let i = 0; i < 10; i += 1) one.attempt('failed')
  one.wait(pauseMs(one))
  const allowed: (number | null)[] = []
  for (let i = 0; i < 10; i += 1) {
    one.attempt('delivered', { isProbe: i === 0 })
    allowed.push(one.health().slowStart)
  }
  assert.deepEqual(allowed, [2, 3, 4, 5, 6, 7, 8, 9, null, null])
  assert.deepEqual(one.health(), healthy)
})

test('a rest that the endpoint asked for counts neither in the retry schedule nor for the breaker, but the endpoint counts as failing', () => {
  const one = endpoint()
  for (let i = 0; i < 20; i += 1) assert.equal(one.attempt('rested', { restMs: minuteMs }).countsAsFailure, false)
  assert.deepEqual([one.health().probeMs, pauseMs(one)], [null, minuteMs])
  assert.deepEqual(one.health().failingSince, one.now())
  // A shorter Retry-After does not shorten the present rest.
  one.attempt('rested', { restMs: secondMs })
  assert.equal(pauseMs(one), minuteMs)
})

test('failures cause an alert after a day and after three days, and disabling after five; a success starts over', () => {
  const one = endpoint()
  const alerts: (string | undefined)[] = []
  for (let hour = 0; hour <= 120; hour += 6) {
    const { alert, disable } = one.attempt('failed')
    if (alert ?? disable) alerts.push(`${hour} ${alert ?? disable}`)
    one.wait(dayMs / 4)
  }
  assert.deepEqual(alerts, ['24 Failing24h', '72 Failing72h', '120 Failing'])
  one.attempt('delivered')
  assert.deepEqual([one.health().failingSince, one.health().lastAlert], [null, null])
  const late = endpoint()
  late.attempt('failed')
  late.wait(4 * dayMs)
  assert.equal(
    late.attempt('failed').alert,
    'Failing72h',
    'without an attempt at the first step there is only the second alert',
  )
})

test('410 disables the subscription at once', () => {
  assert.equal(endpoint().attempt('gone').disable, 'Gone')
})

test('only a complete 2xx is success', () => {
  assert.equal(classifyAttempt({ status: 204 }), 'delivered')
  assert.equal(classifyAttempt({ status: 200, error: 'cut off' }), 'failed')
  assert.equal(classifyAttempt({ error: 'refused' }), 'failed')
  for (const status of [301, 302, 304, 400, 429, 500, 503]) assert.equal(classifyAttempt({ status }), 'failed')
  assert.equal(classifyAttempt({ status: 410 }), 'gone')
})

test('only 429 and 503 with Retry-After pause an endpoint', () => {
  assert.deepEqual(
    [200, 410, 429, 500, 503].map((status) => classifyAttempt({ status }, 1000)),
    ['delivered', 'gone', 'rested', 'failed', 'rested'],
  )
})

test('the schedule has eleven pauses with up to a fifth added, and then the delivery is held', () => {
  const now = new Date('2026-01-01T00:00:00.000Z')
  retryDelaysMsDefault.forEach((delayMs, failures) => {
    const early = attemptAfterFailure(failures, now, 0, retryDelaysMsDefault)
    const late = attemptAfterFailure(failures, now, 0.999_999, retryDelaysMsDefault)
    assert.equal(early.dueAt?.getTime(), now.getTime() + delayMs)
    const added = (late.dueAt?.getTime() ?? 0) - now.getTime() - delayMs
    assert.ok(added > delayMs * 0.19 && added <= delayMs * jitterMax)
  })
  assert.deepEqual(attemptAfterFailure(11, now, 0, retryDelaysMsDefault), { status: 'Held', dueAt: null, failures: 12 })
  const hours = retryDelaysMsDefault.reduce((sum, ms) => sum + ms, 0) / hourMs
  assert.ok(hours > 70 && hours < 72)
})

test('Retry-After is read as seconds or a date, limited to an hour, and other texts are ignored', () => {
  const now = new Date('2026-01-01T00:00:00.000Z')
  const read = (text: string | undefined) => retryAfterMs(text, now, hourMs)
  assert.equal(read('120'), 120_000)
  assert.equal(read('Thu, 01 Jan 2026 00:02:00 GMT'), 120_000)
  assert.equal(read('999999999'), hourMs)
  for (const text of [undefined, '', '-5', '1.5', 'soon', 'Mon, nonsense', 'Wed, 31 Dec 2025 23:00:00 GMT'])
    assert.equal(read(text), 0)
})

test('a limit that is not a positive whole number is refused', () => {
  assert.equal(readLimits({ inFlightMax: 7 }).inFlightMax, 7)
  for (const name of operatorLimits)
    for (const value of [0, -1, 1.5, NaN]) assert.throws(() => readLimits({ [name]: value }), new RegExp(name))
})

const keys = ['a', 'b', 'c'].map((partnerId) => ({ partnerId, subscriptionId: `of ${partnerId}` }))
const log = createLog('silent')
const failsFor =
  (...partners: readonly string[]) =>
  async (some: readonly { readonly partnerId: string }[]) => {
    if (some.some(({ partnerId }) => partners.includes(partnerId))) throw new Error('the shard does not answer')
    return some.map(({ partnerId }) => partnerId)
  }

test('a shard that does not answer stops only the work of its own partners', async () => {
  const perShard = createPerReachableShard({ db: { sharded: true }, log })
  assert.deepEqual(await perShard(keys, failsFor('b')), ['a', 'c'])
  await assert.rejects(perShard(keys, failsFor('a', 'b', 'c')), /does not answer/)
  assert.deepEqual(await perShard([], failsFor('a')), [])
})

test('reads that must be complete fail with one shard, and a database that is not sharded gets all keys at once', async () => {
  await assert.rejects(createPerShard({ db: { sharded: true }, log })(keys, failsFor('b')), /does not answer/)
  const plain = createPerReachableShard({ db: { sharded: false }, log })
  assert.deepEqual(await plain(keys, failsFor()), ['a', 'b', 'c'])
  await assert.rejects(plain(keys, failsFor('b')), /does not answer/)
})

/** Takes slots for endpoint queues with up to ten attempts each, until it gets no more. Returns how many. */
function takeAll(slots: ReturnType<typeof createSlots>, partnerId: string): number {
  let count = 0
  while (slots.mayTake(partnerId, (count % 10) + 1)) {
    slots.take(partnerId)
    count += 1
  }
  return count
}

test('one partner gets two thirds at most, and further partners get a part of the rest', () => {
  const slots = createSlots(500)
  assert.equal(takeAll(slots, 'a'), 334)
  assert.ok(takeAll(slots, 'b') > 100)
  assert.ok(slots.free() > 40)
})

test('the last twentieth is for partners without an attempt in flight, one each', () => {
  const slots = createSlots(500)
  for (let partner = 0; partner < 10; partner += 1) takeAll(slots, `p${partner}`)
  assert.ok(slots.free() > 10, `${slots.free()} are free`)
  assert.deepEqual([slots.mayTake('p0', 0), slots.mayTake('new', 0)], [false, true])
  assert.equal(takeAll(slots, 'new'), 1)
})

test('an idle endpoint queue may start one attempt, and a busy queue waits for the share of its partner', () => {
  const slots = createSlots(12)
  assert.equal(takeAll(slots, 'a'), 8)
  assert.deepEqual([slots.mayTake('a', 8), slots.mayTake('a', 0)], [false, true])
  slots.release('a')
  assert.equal(slots.mayTake('a', 8), true)
  for (let i = 0; i < 5; i += 1) slots.take('b')
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [0, false])
})

test('a delivered attempt frees its slot until as many results as slots wait to be recorded', () => {
  const slots = createSlots(12)
  const takeAndDeliver = (partnerId: string) => {
    slots.take(partnerId)
    slots.beginRecording(partnerId)
  }
  for (let i = 0; i < 12; i += 1) takeAndDeliver('a')
  assert.deepEqual([slots.taken(), slots.free()], [0, 12])
  for (let i = 0; i < 12; i += 1) takeAndDeliver('b')
  assert.deepEqual([slots.taken(), slots.free(), slots.mayTake('c', 0)], [0, 0, false])
  slots.endRecording()
  assert.deepEqual([slots.free(), slots.mayTake('c', 0)], [1, true])
})
