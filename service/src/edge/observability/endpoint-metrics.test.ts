import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { after, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import type { EndpointState } from '../../webhooks/index.ts'
import { createEndpointMetrics } from './endpoint-metrics.ts'

const now = new Date('2026-11-21T08:00:00.000Z')
const idle: EndpointState = {
  subscriptionId: '',
  owed: 0,
  delivered: 0,
  pending: 0,
  held: 0,
  oldestPendingAt: null,
  failingSince: null,
  breakerOpen: false,
}
const endpoint = (given: Partial<EndpointState> = {}): EndpointState => ({ ...idle, subscriptionId: newId(), ...given })

function setUp() {
  const registry = new Registry()
  const metrics = createEndpointMetrics(registry, () => now)
  /** Returns the values of a metric, by labels. */
  const read = async (name: string) => {
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith(name))
    return Object.fromEntries(
      lines.map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(name.length, at), Number(line.slice(at + 1))]
      }),
    )
  }
  return { ...metrics, read }
}
const of = (subscription: string) => `{subscription="${subscription}"}`

test('without endpoints no endpoint has a series, and the totals are 0', async () => {
  const { read } = setUp()
  assert.deepEqual(await read('payments_endpoint_pending'), {})
  assert.deepEqual(await read('payments_deliveries{'), {
    'state="owed"}': 0,
    'state="delivered"}': 0,
    'state="pending"}': 0,
    'state="held"}': 0,
  })
  assert.deepEqual(await read('payments_deliveries_unaccounted'), { '': 0 })
})

test("the metrics show each endpoint's pending and held deliveries, their age, and its breaker", async () => {
  const { endpoints, read } = setUp()
  const troubled = endpoint({
    owed: 12,
    delivered: 2,
    pending: 7,
    held: 3,
    breakerOpen: true,
    oldestPendingAt: after(now, -hourMs),
    failingSince: after(now, -minuteMs),
  })
  const healthy = endpoint({ owed: 5, delivered: 5 })
  endpoints(newId(), [troubled, healthy])
  assert.deepEqual(await read('payments_endpoint_pending'), {
    [of(troubled.subscriptionId)]: 7,
    [of(healthy.subscriptionId)]: 0,
  })
  assert.deepEqual(await read('payments_endpoint_held'), {
    [of(troubled.subscriptionId)]: 3,
    [of(healthy.subscriptionId)]: 0,
  })
  assert.deepEqual(await read('payments_endpoint_oldest_pending_seconds'), { [of(troubled.subscriptionId)]: 3600 })
  assert.deepEqual(await read('payments_endpoint_failing_seconds'), { [of(troubled.subscriptionId)]: 60 })
  assert.deepEqual(await read('payments_endpoint_breaker_open'), {
    [of(troubled.subscriptionId)]: 1,
    [of(healthy.subscriptionId)]: 0,
  })
  assert.deepEqual(await read('payments_deliveries_unaccounted'), { '': 0 })
})

test('new endpoint states of a partner replace its earlier ones', async () => {
  const { endpoints, read } = setUp()
  const partnerId = newId()
  const before = endpoint({ pending: 3 })
  endpoints(partnerId, [before, endpoint()])
  endpoints(newId(), [endpoint({ pending: 1 })])
  endpoints(partnerId, [{ ...before, pending: 2 }])
  assert.deepEqual(Object.values(await read('payments_endpoint_pending')), [2, 1])
  endpoints(partnerId, [])
  assert.deepEqual(Object.values(await read('payments_endpoint_pending')), [1])
})

test('the hundred endpoints with the most undelivered events or failures have a series each, and the others share one', async () => {
  const { endpoints, read } = setUp()
  const all = Array.from({ length: 1000 }, (_, index) =>
    endpoint({ pending: index, owed: index, breakerOpen: index < 10, oldestPendingAt: after(now, -index * minuteMs) }),
  )
  for (let at = 0; at < all.length; at += 20) endpoints(newId(), all.slice(at, at + 20))
  const pending = await read('payments_endpoint_pending')
  assert.equal(Object.keys(pending).length, 101)
  for (const { subscriptionId } of all.slice(900)) assert.ok(of(subscriptionId) in pending)
  assert.equal(pending[of('other')], (900 * 899) / 2)
  assert.equal((await read('payments_endpoint_oldest_pending_seconds'))[of('other')], 899 * 60)
  assert.equal((await read('payments_endpoint_breaker_open'))[of('other')], 10)
  assert.equal((await read('payments_deliveries'))['{state="pending"}'], 999 * 500)
})

test('unaccounted deliveries of both signs are added up and do not cancel each other', async () => {
  const { endpoints, read } = setUp()
  endpoints(newId(), [
    endpoint({ owed: 5, delivered: 3 }),
    endpoint({ owed: 1, held: 3 }),
    endpoint({ owed: 1, pending: 1 }),
  ])
  assert.deepEqual(await read('payments_deliveries_unaccounted'), { '': 4 })
})

test('attempts are counted by endpoint and outcome, and an endpoint keeps its series', async () => {
  const { attempt, read } = setUp()
  const ids = Array.from({ length: 250 }, () => newId())
  for (const id of [...ids, ...ids]) attempt(id, 'delivered', 500)
  attempt(ids[0] ?? '', 'failed', 15_000)
  const count = await read('payments_endpoint_attempt_seconds_count')
  const time = await read('payments_endpoint_attempt_seconds_sum')
  const label = (subscription: string, outcome = 'delivered') => `{subscription="${subscription}",outcome="${outcome}"}`
  assert.equal(count[label(ids[0] ?? '')], 2)
  assert.equal(time[label(ids[0] ?? '')], 1)
  assert.equal(time[label(ids[0] ?? '', 'failed')], 15)
  assert.equal(count[label(ids[199] ?? '')], 2)
  assert.equal(count[label(ids[200] ?? '')], undefined)
  assert.equal(count[label('other')], 100)
})
