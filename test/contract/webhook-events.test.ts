/** Event types that a subscription gets: every event type against every kind of subscription. Decision 0132. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { eventNames } from '@partner-payments/wire'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { emitted } from '../support/emitted.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'
import { listAll } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service

/** The twelve of the interface document, and ours. */
const documented = Object.keys(emitted)
const extensions = eventNames.filter((name) => !documented.includes(name))
const [named, extension] = ['partner.customer.deposit.completed', 'payout.recall.updated']

type Kind = { readonly given: JsonObject; readonly gets: readonly string[]; readonly warnings?: readonly RegExp[] }
const inEvents = /^payout\.recall\.updated in events .* no deliveries\. List it in extensionEvents$/
const kinds: Readonly<Record<string, Kind>> = {
  'nothing named': { given: {}, gets: documented },
  'all events': { given: { events: ['*'] }, gets: documented },
  'one named': { given: { events: [named] }, gets: [named] },
  'an extension in events': { given: { events: [extension] }, gets: [], warnings: [inEvents] },
  'every registered name in events': {
    given: { events: [...eventNames] },
    gets: documented,
    warnings: extensions.map((name) => new RegExp(`^${name} in events`)),
  },
  'an unknown name': { given: { events: ['invoice.paid'] }, gets: [], warnings: [/^invoice\.paid .* no deliveries$/] },
  'an unknown name beside a known one': {
    given: { events: ['invoice.paid', named] },
    gets: [named],
    warnings: [/^invoice\.paid in events/],
  },
  'an extension in its field': { given: { events: [], extensionEvents: [extension] }, gets: [extension] },
  'an extension beside nothing named': { given: { extensionEvents: [extension] }, gets: [...documented, extension] },
  'all extensions': { given: { events: [], extensionEvents: ['*'] }, gets: extensions },
  everything: { given: { events: ['*'], extensionEvents: ['*'] }, gets: eventNames },
  'a documented event among extensions': {
    given: { events: [], extensionEvents: [named] },
    gets: [],
    warnings: [/^partner\.customer\.deposit\.completed in extensionEvents .* List it in events$/],
  },
}

const hooks = new Map<string, JsonObject>()
before(async () => {
  for (const [kind, { given }] of Object.entries(kinds))
    hooks.set(kind, success(await client.post('/v1/webhooks', { url: receiver.url, ...given })))
  for (const eventType of eventNames) success(await client.post('/v1/simulations/events', { eventType }))
  // Events have an order: the last one is in the feed after all deliveries of the others are made.
  await until('the samples are in the feed', async () => {
    const types = listAt(success(await client.get('/v1/events?limit=100&order=newest'))).map((event) =>
      textAt(event, 'eventType'),
    )
    return eventNames.every((name) => types.includes(name))
  })
})

for (const [kind, { given, gets, warnings = [] }] of Object.entries(kinds))
  test(`a subscription with ${kind} gets its events, and lists the events that it does not get`, async () => {
    const created = hooks.get(kind) ?? assert.fail()
    const path = `/v1/webhooks/${textAt(created, 'id')}`
    const deliveries = await listAll(client, `${path}/deliveries`)
    // A partner that joined a service has events of its first money, too.
    const types = new Set(deliveries.map((each) => textAt(each, 'eventType')))
    assert.deepEqual([...types].toSorted(), [...gets].toSorted())
    for (const shown of [created, success(await client.get(path))]) {
      assert.deepEqual([shown.events, shown.extensionEvents], [given.events ?? ['*'], given.extensionEvents ?? []])
      const lines = warnings.length === 0 ? [] : (shown.warnings as readonly string[])
      assert.equal('warnings' in shown, warnings.length > 0)
      assert.equal(lines.length, warnings.length)
      for (const [index, line] of warnings.entries()) assert.match(lines[index] ?? '', line)
    }
  })

test('the list of event types states the field in which each type is delivered', async () => {
  const types = listAt(success(await client.get('/v1/webhooks/event-types')))
  const inField = (field: string) =>
    types.filter(({ subscribedIn }) => subscribedIn === field).map((type) => textAt(type, 'name'))
  assert.deepEqual(inField('events').toSorted(), documented.toSorted())
  assert.deepEqual(inField('extensionEvents').toSorted(), extensions.toSorted())
  for (const { emitted: isEmitted, subscribedIn } of types) assert.equal(isEmitted, subscribedIn === 'events')
})

test('a changed subscription gets the events that it now lists, and 400 to a change after which it would get no events', async () => {
  const { id } = hooks.get('one named') ?? assert.fail()
  const path = `/v1/webhooks/${String(id)}`
  const changed = success(await client.patch(path, { events: [], extensionEvents: [extension] }))
  assert.deepEqual([changed.events, changed.extensionEvents], [[], [extension]])
  assertProblem(await client.patch(path, { extensionEvents: [] }), { status: 400, pointer: '/events' })
  const nothing = { url: receiver.url, events: [] }
  assertProblem(await client.post('/v1/webhooks', nothing), { status: 400, pointer: '/events' })
  assertProblem(await client.patch(path, { extensionEvents: ['*', extension] }), {
    status: 400,
    pointer: '/extensionEvents',
  })
})

test('a recovery delivers the events to which the subscription subscribes', async () => {
  const created = success(await client.post('/v1/webhooks', { url: receiver.url, events: [extension, named] }))
  const path = `/v1/webhooks/${textAt(created, 'id')}`
  const since = new Date(Date.now() - 3_600_000).toISOString()
  success(await client.post(`${path}/recover`, { since }))
  await until('the recovery is done', async () =>
    (await listAll(client, `${path}/recoveries`)).every(({ status }) => status === 'Completed'),
  )
  const types = new Set((await listAll(client, `${path}/deliveries`)).map(({ eventType }) => eventType))
  assert.deepEqual([...types], [named])
})
