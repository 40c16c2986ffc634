import assert from 'node:assert/strict'
import { test } from 'node:test'
import { healthy } from './health.ts'
import {
  accept,
  createEndpointQueue,
  type Fresh,
  type EndpointQueue,
  type Owed,
  type Target,
} from './endpoint-queue.ts'

const now = new Date('2026-01-01T00:00:00Z')
const later = new Date('2026-01-01T01:00:00Z')
const key = { partnerId: 'p', subscriptionId: 's' }
const target: Target = {
  url: 'https://example.com/',
  ordered: false,
  keys: [],
  until: null,
  orderPending: null,
  updatedAt: now,
}

const owed = (sequence: bigint): Owed => ({
  ...{
    subscriptionId: 's',
    eventId: `e${sequence}`,
    wireEventId: `w${sequence}`,
    type: 't',
    reference: `r${sequence}`,
  },
  ...{ sequence, data: '{}', dueAt: null, attemptCount: 0, failures: 0 },
})
/** Numbers 5 to 8 of the feed, of which the subscription wants two. */
const fresh: Fresh = { ...key, updatedAt: now, after: 4n, upTo: 8n, rows: [owed(5n), owed(7n)] }
const endpointQueueAt = (more: Partial<EndpointQueue> = {}): EndpointQueue =>
  Object.assign(createEndpointQueue(key, target, healthy, later, now), { cursor: 4n, mayHaveFresh: false, ...more })

test('what is new is taken where all before it is known, and nothing is known twice', () => {
  const endpointQueue = endpointQueueAt()
  assert.ok(accept(endpointQueue, fresh, now, 100))
  assert.deepEqual([endpointQueue.fresh.map(({ sequence }) => sequence), endpointQueue.cursor], [[5n, 7n], 8n])
  const ahead = endpointQueueAt({ cursor: 5n })
  assert.ok(accept(ahead, fresh, now, 100))
  assert.deepEqual(
    ahead.fresh.map(({ sequence }) => sequence),
    [7n],
  )
})

for (const [why, more, place] of [
  ['something before it is unknown', { cursor: 3n }, 100],
  ['there is something to read', { mayHaveFresh: true }, 100],
  ['the order is to be asked', { target: { ...target, ordered: true } }, 100],
  ['the subscription has changed since', { target: { ...target, updatedAt: new Date(0) } }, 100],
  ['a key has ended', { target: { ...target, until: now } }, 100],
  ['the endpoint queue is to be given back', { closing: { closed: false, dueAt: null } }, 100],
  ['the endpoint queue rests', { health: { ...healthy, pausedUntil: later } }, 100],
  ['there is no place', {}, 1],
] as const)
  test(`what is new is left to be read where ${why}`, () => {
    const endpointQueue = endpointQueueAt(more)
    assert.ok(!accept(endpointQueue, fresh, now, place))
    assert.deepEqual([endpointQueue.fresh, endpointQueue.mayHaveFresh, endpointQueue.committed], [[], true, 8n])
  })
