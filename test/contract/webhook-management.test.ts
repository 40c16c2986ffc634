/** Management of webhook subscriptions beyond creation. Contract page, Extensions, webhooks. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook } from '@partner-payments/sdk'
import { Compile } from 'typebox/compile'
import { type Client, type JsonObject, listAt, objectAt, success, textAt } from '../support/client.ts'
import { assertShape, dateTime, uuid } from '../support/documented.ts'
import { eventNames } from '@partner-payments/wire'
import { emitted } from '../support/emitted.ts'
import { atEnd, useReceiver, useSharedService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem } from '../support/problem.ts'
import type { Delivery } from '../support/receiver.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, finalTransaction, listAll, payoutText } from '../support/world.ts'

const service = await useSharedService()
const statuses = new Map<string, number>()
const receiver = await useReceiver(({ path }) => statuses.get(path) ?? 204)
const { client } = service

const names = Object.keys(emitted)
const completed = 'partner.customer.deposit.completed'
const hook = (created: JsonObject) => `/v1/webhooks/${textAt(created, 'id')}`

/** Subscribes until the end of the test, with a new path, which distinguishes the deliveries of this subscription. */
async function subscribe(fields: JsonObject = {}, as: Client = client) {
  const path = `/hooks/${randomUUID()}`
  const url = new URL(path, receiver.url).href
  const created = success(await as.post('/v1/webhooks', { url, events: [completed], ...fields }))
  atEnd(async () => assert.equal((await as.delete(hook(created))).status, 204))
  return { created, path, arrived: () => receiver.deliveries.filter((each) => each.path === path) }
}

async function deposit(outcome = 'completed', guid?: string): Promise<string> {
  const customerId = guid ?? textAt(await createCustomer(client), 'guid')
  const body = { customerId, amount: 5, currency: 'EUR', outcome }
  const reference = textAt(success(await client.post('/v1/simulations/deposits', body)), 'reference')
  await finalTransaction(client, reference)
  return reference
}

const eventOf = (delivery: Delivery) => objectAt(JSON.parse(delivery.body) as JsonObject, 'data')
const headersOf = ({ headers }: Delivery) => headers as Record<string, string>
const deliveredOne = (created: JsonObject) =>
  until('a delivery is recorded', async () =>
    (await listAll(client, `${hook(created)}/deliveries`)).find(({ status }) => status === 'Delivered'),
  )

/** The listed event types, as JSON Schema that requires all properties and no others. */
const typesOf = async () =>
  new Map(
    listAt(success(await client.get('/v1/webhooks/event-types'))).map((type) => {
      const properties = objectAt(type, 'properties')
      const schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
      return [textAt(type, 'name'), Compile(schema)] as const
    }),
  )

type Checks = Awaited<ReturnType<typeof typesOf>>
type EventTypeCheck = Checks extends Map<string, infer Check> ? readonly [name: string, check: Check] : never

test('200 for a subscription with every field, and for one with only the URL, which gets all events', async () => {
  const fields = { description: 'x', apiVersion: 2, ordered: true, signature: 'v1a', events: ['*'] }
  const { created } = await subscribe(fields)
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(created[name], value, name)
  assert.ok(!Object.hasOwn(created, 'secret') && !Object.hasOwn(created, 'warnings'))
  assert.match(textAt(created, 'publicKey'), /^whpk_/)
  assert.deepEqual(success(await client.get(hook(created))), created)
  const plain = success(await client.post('/v1/webhooks', { url: receiver.url }))
  assert.deepEqual(
    [plain.events, plain.apiVersion, plain.ordered, plain.signature, plain.status],
    [['*'], 2, false, 'v1', 'Enabled'],
  )
  const changed = success(await client.patch(hook(plain), { ordered: true, status: 'Disabled' }))
  assert.deepEqual([changed.ordered, changed.disabledReason], [true, 'Partner'])
  assertShape(dateTime, changed.disabledAt ?? null)
  const enabled = success(await client.post(`${hook(plain)}/enable`))
  assert.deepEqual([enabled.status, enabled.disabledReason, enabled.disabledAt], ['Enabled', undefined, undefined])
  assert.equal((await client.delete(hook(plain))).status, 204)
})

test('400 for "*" together with names, an unknown version and an unknown signature', async () => {
  const url = receiver.url
  const cases = [
    { body: { events: ['*', completed] }, pointer: '/events' },
    { body: { apiVersion: 1 }, pointer: '/apiVersion' },
    { body: { apiVersion: 3 }, pointer: '/apiVersion' },
    { body: { signature: 'v2' }, pointer: '/signature' },
  ]
  for (const { body, pointer } of cases)
    assertProblem(await client.post('/v1/webhooks', { url, ...body }), { status: 400, pointer })
})

test('200 for a rotation: both secrets verify during the overlap, and overlap 0 ends the old secrets', async () => {
  const { created, arrived } = await subscribe()
  const old = textAt(created, 'secret')
  const rotated = success(await client.post(`${hook(created)}/rotate-secret`, { overlapSeconds: 60 }))
  const fresh = textAt(rotated, 'secret')
  assertShape(dateTime, rotated.overlapUntil ?? null)
  await deposit()
  const delivery = await until('the delivery', () => arrived()[0])
  for (const secret of [old, fresh]) new Webhook(secret).verify(delivery.body, headersOf(delivery))
  const last = success(await client.post(`${hook(created)}/rotate-secret`, { overlapSeconds: 0 }))
  assert.equal(success(await client.post(`${hook(created)}/test`)).delivered, true)
  const after = arrived().at(-1)
  assert.ok(after)
  new Webhook(textAt(last, 'secret')).verify(after.body, headersOf(after))
  for (const secret of [old, fresh]) assert.throws(() => new Webhook(secret).verify(after.body, headersOf(after)))
  assert.ok(![old, fresh, textAt(last, 'secret')].some((secret) => service.output().includes(secret)))
})

test('200 for concurrent rotations: every returned secret verifies later deliveries', async () => {
  const { created, arrived } = await subscribe()
  const answers = await Promise.all([1, 2, 3].map(() => client.post(`${hook(created)}/rotate-secret`)))
  success(await client.post(`${hook(created)}/test`))
  const [delivery] = arrived()
  assert.ok(delivery)
  for (const answer of answers)
    new Webhook(textAt(success(answer), 'secret')).verify(delivery.body, headersOf(delivery))
  success(await client.post(`${hook(created)}/rotate-secret`))
  const refused = await client.post(`${hook(created)}/rotate-secret`)
  assertProblem(refused, { status: 422, code: 'webhook_secret_limit_reached' })
})

test('400 for an overlap that is negative, above a week or not a whole number', async () => {
  const { created } = await subscribe()
  for (const overlapSeconds of [-1, 604_801, 1.5])
    assertProblem(await client.post(`${hook(created)}/rotate-secret`, { overlapSeconds }), {
      status: 400,
      pointer: '/overlapSeconds',
    })
})

test('200 for a test of every event type: signed, marked by a header, with the listed properties, not stored', async () => {
  const types = await typesOf()
  assert.deepEqual([...types.keys()].sort(), [...eventNames].sort())
  const all = [...types]
  // An endpoint is tested 20 times a minute at most.
  for (const some of [all.slice(0, 15), all.slice(15)]) await testEach(some)
})

/** Sends a test of each of these event types to an endpoint of its own. */
async function testEach(types: readonly EventTypeCheck[]): Promise<void> {
  const { created, arrived } = await subscribe({ signature: 'v1a' })
  success(await client.patch(hook(created), { status: 'Disabled' }))
  for (const [eventType, check] of types) {
    const answer = success(await client.post(`${hook(created)}/test`, { eventType }))
    assert.deepEqual([answer.eventType, answer.delivered, answer.status], [eventType, true, 204])
    const delivery = arrived().at(-1)
    assert.ok(delivery)
    assert.equal(delivery.headers['webhook-test'], 'true')
    assert.equal(delivery.headers['webhook-id'], answer.eventId)
    const body = JSON.parse(delivery.body) as JsonObject
    assert.deepEqual(Object.keys(body), ['eventId', 'data'])
    verifyWebhook(textAt(created, 'publicKey'), delivery.headers, delivery.body)
    const data = eventOf(delivery)
    assert.equal(data.eventType, eventType)
    assert.ok(check.Check(data), `${eventType}: ${delivery.body} ${JSON.stringify(check.Errors(data))}`)
    // The fields of an extension are those that its type lists, which `check` requires.
    if (names.includes(eventType)) assert.deepEqual(Object.keys(data).sort(), emitted[eventType])
  }
  assert.deepEqual(await listAll(client, `${hook(created)}/deliveries`), [])
}

test('200 for a test that fails: the response of the endpoint, without a retry', async () => {
  const { created, path, arrived } = await subscribe()
  statuses.set(path, 503)
  const answer = success(await client.post(`${hook(created)}/test`, {}))
  assert.deepEqual([answer.delivered, answer.status, answer.eventType], [false, 503, completed])
  assert.equal(arrived().length, 1)
  success(await client.patch(hook(created), { url: 'http://127.0.0.1:9/' }))
  const refusedAnswer = success(await client.post(`${hook(created)}/test`))
  assert.deepEqual([refusedAnswer.delivered, refusedAnswer.status], [false, undefined])
  assert.match(textAt(refusedAnswer, 'error'), /refused the connection/)
  const unknown = await client.post(`${hook(created)}/test`, { eventType: 'nope' })
  assertProblem(unknown, { status: 400, pointer: '/eventType' })
})

test('429 webhook_test_too_soon after twenty tests in a minute, per endpoint', async () => {
  const [one, two] = [await subscribe(), await subscribe()]
  for (let i = 0; i < 20; i += 1) success(await client.post(`${hook(one.created)}/test`))
  const answer = await client.post(`${hook(one.created)}/test`)
  assertProblem(answer, { status: 429, code: 'webhook_test_too_soon' })
  assert.ok(Number(answer.headers['retry-after']) >= 1 && Number(answer.headers['retry-after']) <= 60)
  success(await client.post(`${hook(two.created)}/test`))
})

test('200 for a redelivery: the same event id and bytes, and the attempts continue', async () => {
  const { created, arrived } = await subscribe()
  await deposit()
  const eventId = textAt(await deliveredOne(created), 'eventId')
  const path = `${hook(created)}/deliveries/${eventId}`
  assert.equal(success(await client.get(path)).status, 'Delivered')
  success(await client.post(`${path}/redeliver`))
  const again = await until('it is delivered again', async () => {
    const read = success(await client.get(path))
    return read.status === 'Delivered' && read.attemptCount === 2 && read
  })
  const attempts = listAt(again, 'attempts').map(({ attempt, status }) => `${Number(attempt)}: ${Number(status)}`)
  assert.deepEqual(attempts, ['1: 204', '2: 204'])
  const [first, second] = arrived()
  assert.equal(first?.body, second?.body)
  assert.equal(first?.headers['webhook-id'], eventId)
  const { owed, delivered, pending, held } = success(await client.get(`${hook(created)}/statistics`))
  assert.deepEqual([owed, delivered, pending, held], [1, 1, 0, 0])
})

test('200 for enable: events from the disabled time are delivered', async () => {
  const { created, arrived } = await subscribe()
  success(await client.patch(hook(created), { status: 'Disabled' }))
  const reference = await deposit()
  await until(
    'it is held',
    async () => (await listAll(client, `${hook(created)}/deliveries`, '&status=Held')).length === 1,
  )
  assert.deepEqual(arrived(), [])
  success(await client.post(`${hook(created)}/enable`))
  const delivery = await until('it arrives', () => arrived()[0])
  assert.equal(eventOf(delivery).reference, reference)
})

test('200 for a recovery: a later subscription gets earlier events exactly once', async () => {
  const since = new Date(Date.now() - 1000).toISOString()
  const references = [await deposit(), await deposit('failed'), await deposit()]
  const { created, arrived } = await subscribe()
  const started = success(await client.post(`${hook(created)}/recover`, { since }))
  assertShape(uuid, started.id ?? null)
  assert.deepEqual([started.status, started.since, started.examined, started.recovered], ['Running', since, 0, 0])
  const path = `${hook(created)}/recoveries/${textAt(started, 'id')}`
  const done = await until('it is done', async () => {
    const read = success(await client.get(path))
    return read.status === 'Completed' && read
  })
  assert.ok(Number(done.recovered) >= 2 && Number(done.examined) > Number(done.recovered))
  const wanted = [references[0], references[2]]
  await until('both arrive', () => wanted.every((each) => arrived().some((one) => eventOf(one).reference === each)))
  const [listed] = listAt(success(await client.get(`${hook(created)}/recoveries`)))
  assert.deepEqual(listed, done)
  const ids = arrived().map(({ headers }) => headers['webhook-id'])
  assert.equal(new Set(ids).size, ids.length)
})

test('400 for a recovery before the retention period or in the future', async () => {
  const { created } = await subscribe()
  const at = (ms: number) => new Date(Date.now() + ms).toISOString()
  const recover = (body: JsonObject) => client.post(`${hook(created)}/recover`, body)
  assertProblem(await recover({ since: at(-31 * 86_400_000) }), { status: 400, pointer: '/since' })
  assertProblem(await recover({ since: at(60_000) }), { status: 400, pointer: '/since' })
  assertProblem(await recover({ since: at(-1000), until: at(60_000) }), { status: 400, pointer: '/until' })
})

test('200 for the feed: events of every type, with the listed properties and the event ids of the deliveries', async () => {
  const types = await typesOf()
  const start = textAt(success(await client.get('/v1/events?limit=1&types=transaction.status.changed')), 'nextCursor')
  assert.ok(start.length > 0)
  const { created } = await subscribe({ events: ['*'] })
  const guid = textAt(await createCustomer(client), 'guid')
  for (const outcome of ['completed', 'failed', 'expired']) await deposit(outcome, guid)
  const beneficiary = textAt(await createBeneficiary(client, { customerId: guid }), 'id')
  for (const amount of ['2.00', '66.01']) {
    const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, amount)))
    await finalTransaction(client, textAt(paid, 'reference'))
  }
  const body = { customerId: guid, amount: 1, currency: 'EUR', outcome: 'failed' }
  await finalTransaction(client, textAt(success(await client.post('/v1/simulations/withdrawals', body)), 'reference'))
  const texts: string[] = []
  const read = async () => {
    const events: JsonObject[] = []
    texts.length = 0
    for (let after = ''; ;) {
      const answer = await client.get(`/v1/events?limit=100&subscriptionId=${textAt(created, 'id')}${after}`)
      const page = success(answer)
      texts.push(answer.text)
      events.push(...listAt(page))
      after = `&after=${encodeURIComponent(textAt(page, 'nextCursor'))}`
      if (page.hasMore === false) return events
    }
  }
  const events = await until('all event types are in the feed', async () => {
    const all = await read()
    return new Set(all.map(({ eventType }) => eventType)).size === names.length && all
  })
  assert.deepEqual(
    pluck(events, 'sequence'),
    events.map((_event, index) => index + 1),
  )
  for (const event of events) {
    const check = types.get(textAt(event, 'eventType'))
    const data = objectAt(event, 'data')
    assert.ok(check?.Check(data), `${textAt(event, 'eventType')}: ${JSON.stringify(data)}`)
    assert.deepEqual([data.eventType, data.reference], [event.eventType, event.reference])
  }
  const deliveries = await listAll(client, `${hook(created)}/deliveries`)
  const ids = new Set(events.map(({ eventId }) => eventId))
  assert.ok(deliveries.length > 0 && deliveries.every(({ eventId }) => ids.has(eventId ?? null)))
  const arrived = receiver.deliveries.filter(({ path }) => created.url === new URL(path, receiver.url).href)
  assert.ok(arrived.length > 0)
  // The bytes of `data` are the same.
  for (const { body, headers } of arrived) {
    const data = body.slice(body.indexOf('"data":'), -1)
    assert.ok(
      texts.some((text) => text.includes(`"eventId":"${String(headers['webhook-id'])}",${data}`)),
      body,
    )
  }
  assertProblem(await client.get('/v1/events?types=nope'), { status: 400, pointer: '/query/types' })
  assertProblem(await client.get('/v1/events?after=nope'), { status: 400, pointer: '/query/after' })
  assertProblem(await client.get(`/v1/events?subscriptionId=${randomUUID()}`), { status: 404, code: 'not_found' })
})

test("404 to the feed of another partner's subscription, whose events appear only in its own feed", async () => {
  const { created } = await subscribe()
  await deposit()
  const stranger = await otherPartner(service)
  const foreign = await stranger.get(`/v1/events?subscriptionId=${textAt(created, 'id')}`)
  assertProblem(foreign, { status: 404, code: 'not_found' })
  // The other partner has events of its own, from its first balances.
  const theirs = listAt(success(await stranger.get('/v1/events?limit=100'))).map(({ id }) => id)
  const ours = listAt(success(await client.get('/v1/events?limit=100'))).map(({ id }) => id)
  assert.ok(ours.length > 0 && ours.every((id) => !theirs.includes(id ?? null)))
  const mine = textAt(success(await client.get('/v1/events?limit=1')), 'nextCursor')
  const after = await stranger.get(`/v1/events?after=${encodeURIComponent(mine)}`)
  assertProblem(after, { status: 400, pointer: '/query/after' })
})
