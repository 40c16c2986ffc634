import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventNames, isRawNumber } from '@partner-payments/wire'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let hooks: Awaited<ReturnType<typeof createHooks>>
before(async () => {
  hooks = await createHooks()
})
after(() => hooks?.close())

const refused = (code: string, pointer?: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code && (pointer === undefined || error.errors[0]?.pointer === pointer)

async function emitAndFanOut(partnerId: string, ...statuses: readonly string[]) {
  await hooks.emit(partnerId, newId(), ...statuses)
  await hooks.fanOut(partnerId)
}
const statusesOf = (page: { readonly data: readonly { readonly data: Record<string, unknown> }[] }) =>
  page.data.map(({ data }) => data.status)

test('an empty feed has a cursor, and later events are behind it', async () => {
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

test('a page has only the requested types, and its cursor is behind the other events', async () => {
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
  hooks.clock.advance(minuteMs)
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

test('the newest events come first if asked for, and the way back ends at the oldest', async () => {
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

test('the events of a reference are found in both orders, beside those of others', async () => {
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

test('an event names its deliveries, and another partner does not find it', async () => {
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
