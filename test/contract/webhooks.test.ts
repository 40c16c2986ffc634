/** Event types, subscriptions, deliveries. Interface document, Endpoints 3; contract page, Extensions, webhooks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Client, type JsonObject, listAt, objectAt, success, textAt } from '../support/client.ts'
import { assertShape, dateTime, uuid } from '../support/documented.ts'
import { emitted } from '../support/emitted.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { startReceiver } from '../support/receiver.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createCustomer, finalTransaction, listAll } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service

const names = Object.keys(emitted)
const event = 'partner.customer.deposit.completed'
const subscribe = (fields: JsonObject = {}, as: Client = client) =>
  as.post('/v1/webhooks', { url: receiver.url, events: [event], ...fields })
const remove = async (created: JsonObject) =>
  assert.equal((await client.delete(`/v1/webhooks/${textAt(created, 'id')}`)).status, 204)

async function deposit(customerId: string): Promise<string> {
  const body = { customerId, amount: 5, currency: 'EUR', outcome: 'completed' }
  const reference = textAt(success(await client.post('/v1/simulations/deposits', body)), 'reference')
  await finalTransaction(client, reference)
  return reference
}

test('200 for event types: the emitted set, with the properties of each', async () => {
  const types = listAt(success(await client.get('/v1/webhooks/event-types')))
  const live = types.filter((type) => type.emitted === true)
  assert.deepEqual(live.map((type) => textAt(type, 'name')).sort(), [...names].sort())
  for (const type of live) {
    const fields = emitted[textAt(type, 'name')] ?? []
    assert.deepEqual(Object.keys(objectAt(type, 'properties')).sort(), fields, textAt(type, 'name'))
  }
})

test('200 for create, get and list: the secret is shown once', async () => {
  const answer = await subscribe({ description: 'Ledger', events: names })
  const created = success(answer)
  const secret = textAt(created, 'secret')
  assert.match(secret, /^whsec_[A-Za-z0-9+/=_-]{32,}$/)
  assert.deepEqual(created.events, names)
  assert.equal(created.url, receiver.url)
  assert.equal(created.status, 'Enabled')
  assert.ok(!Object.hasOwn(created, 'warnings') || listAt(created, 'warnings').length === 0)
  assertShape(uuid, created.id ?? null)
  for (const field of ['createdAt', 'updatedAt']) assertShape(dateTime, created[field] ?? null)
  const { secret: _secret, warnings: _warnings, ...rest } = created
  const path = `/v1/webhooks/${textAt(created, 'id')}`
  const { warnings: _none, ...read } = success(await client.get(path))
  assert.deepEqual(read, rest)
  const updated = await client.patch(path, { description: 'Other' })
  for (const later of [await client.get(path), await client.get('/v1/webhooks'), updated])
    assert.ok(success(later) && !later.text.includes(secret), 'the secret is shown once')
  assert.ok(!service.output().includes(secret), 'the secret is not in the log')
  const second = success(await subscribe())
  assert.notEqual(second.secret, secret, 'each subscription has its own secret')
  await remove(second)
  await remove(created)
})

test('200 with warnings when an event is outside the emitted set', async () => {
  const created = success(await subscribe({ events: [event, 'partner.customer.deposit.imagined'] }))
  const warnings = created.warnings
  assert.ok(Array.isArray(warnings) && warnings.length === 1, 'one warning')
  assert.match(String(warnings[0]), /partner\.customer\.deposit\.imagined/)
  assert.deepEqual(created.events, [event, 'partner.customer.deposit.imagined'])
  await remove(created)
})

const badUrls = [
  ...['nope', '/hooks', 'ftp://partner.example.com', 'javascript:alert(1)', 'http://partner.example.com/hooks'],
  ...['https://', '//partner.example.com', 'file:///etc/passwd', 'http://169.254.169.254/latest'],
  ...[
    'https://169.254.169.254/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://[fd00::1]/',
    'https://0.0.0.0/',
  ],
  'http://localhost.evil.example.com/',
]
test('400 with /url when the URL is not allowed, at creation and at update', async () => {
  const created = success(await subscribe())
  const accepted: string[] = []
  for (const url of badUrls)
    for (const response of [
      await subscribe({ url }),
      await client.patch(`/v1/webhooks/${textAt(created, 'id')}`, { url }),
    ])
      if (response.status === 200) accepted.push(url)
      else assertProblem(response, { status: 400, code: 'validation_failed', pointer: '/url' })
  assert.deepEqual(accepted, [])
  for (const item of await listAll(client, '/v1/webhooks')) await remove(item)
})

test('400 with /events when the list is empty, too long or has a duplicate', async () => {
  for (const events of [[], [event, event], Array.from({ length: 51 }, (_, at) => `event.${at}`)])
    assertProblem(await subscribe({ events }), { status: 400, pointer: '/events' })
})

test('200 for each change of a subscription, 400 for an empty change', async () => {
  const created = success(await subscribe({ description: 'before' }))
  const path = `/v1/webhooks/${textAt(created, 'id')}`
  const changes: readonly JsonObject[] = [
    { url: `${receiver.url}/two` },
    { events: ['transaction.status.changed'] },
    { description: 'after' },
    { status: 'Disabled' },
    { status: 'Enabled' },
  ]
  let before = success(await client.get(path))
  for (const change of changes) {
    const updated = success(await client.patch(path, change))
    const { disabledAt, disabledReason, ...rest } = updated
    const disabled = change.status === 'Disabled'
    assert.equal(disabledReason, disabled ? 'Partner' : undefined)
    assert.equal(typeof disabledAt, disabled ? 'string' : 'undefined')
    const { disabledAt: _at, disabledReason: _reason, ...others } = { ...before, ...change } as JsonObject
    assert.deepEqual(rest, { ...others, updatedAt: updated.updatedAt })
    before = updated
  }
  assert.ok(!Object.hasOwn(success(await client.patch(path, { description: null })), 'description'))
  assertProblem(await client.patch(path, {}), { status: 400, code: 'validation_failed' })
  await remove(created)
})

test('204 for delete, then 404 for every operation', async () => {
  const created = success(await subscribe())
  const path = `/v1/webhooks/${textAt(created, 'id')}`
  await remove(created)
  const answers = [
    await client.get(path),
    await client.delete(path),
    await client.patch(path, { description: 'x' }),
    await client.get(`${path}/deliveries`),
  ]
  for (const answer of answers) assertProblem(answer, { status: 404, code: 'not_found' })
  assert.ok((await listAll(client, '/v1/webhooks')).every((item) => item.id !== created.id))
})

test('422 webhook_limit_reached beyond twenty, also for concurrent requests, and the limit is per partner', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => subscribe()))
  const made = answers.filter((answer) => answer.status === 200)
  assert.equal(made.length, 20)
  for (const answer of answers.filter((each) => each.status !== 200))
    assertProblem(answer, { status: 422, code: 'webhook_limit_reached' })
  success(await subscribe({}, await otherPartner(service)))
  for (const answer of made) await remove(answer.json)
  await remove(success(await subscribe()))
})

test('a delivery is exactly {eventId, data}, signed by Standard Webhooks, and listed with its attempt', async () => {
  const created = success(await subscribe({ url: `${receiver.url}/signed` }))
  const customer = await createCustomer(client)
  const reference = await deposit(textAt(customer, 'guid'))
  const delivery = await until('the delivery arrives', () =>
    receiver.deliveries.find((each) => each.path === '/hooks/signed'),
  )
  assert.equal(delivery.method, 'POST')
  assert.match(String(delivery.headers['content-type']), /^application\/json(;|$)/)
  const envelope = new Webhook(textAt(created, 'secret')).verify(
    delivery.body,
    delivery.headers as Record<string, string>,
  ) as JsonObject
  assert.deepEqual(Object.keys(envelope), ['eventId', 'data'])
  assert.equal(envelope.eventId, delivery.headers['webhook-id'])
  const data = objectAt(envelope, 'data')
  assert.deepEqual(Object.keys(data).sort(), emitted[event])
  assert.equal(data.reference, reference)
  const path = `/v1/webhooks/${textAt(created, 'id')}/deliveries`
  const record = await until('the delivery is recorded', async () => {
    const found = (await listAll(client, path)).find((each) => each.eventId === envelope.eventId)
    return found?.status === 'Delivered' && found
  })
  assert.deepEqual([record.eventType, record.reference, record.attemptCount], [event, reference, 1])
  assert.equal(listAt(record, 'attempts')[0]?.status, 204)
  assert.deepEqual(await listAll(client, path, '&status=Held'), [])
  await remove(created)
})

test('an endpoint gets only subscribed events of its partner, and no events while disabled', async () => {
  const other = await otherPartner(service)
  const one = success(await subscribe({ url: `${receiver.url}/one`, events: ['partner.customer.deposit.accepted'] }))
  const two = success(await subscribe({ url: `${receiver.url}/two` }))
  success(await client.patch(`/v1/webhooks/${textAt(two, 'id')}`, { status: 'Disabled' }))
  const three = success(await subscribe({ url: `${receiver.url}/three`, events: names }, other))
  const last = success(await subscribe({ url: `${receiver.url}/last`, events: ['transaction.status.changed'] }))
  const reference = await deposit(textAt(await createCustomer(client), 'guid'))
  const arrivals = (path: string) =>
    receiver.deliveries.filter((each) => each.path === `/hooks/${path}` && each.body.includes(reference))
  await until('the last event arrives', () => arrivals('last').length > 0 && arrivals('one').length > 0)
  assert.deepEqual(
    arrivals('one').map((each) => objectAt(JSON.parse(each.body) as JsonObject, 'data').eventType),
    ['partner.customer.deposit.accepted'],
  )
  assert.deepEqual([arrivals('two').length, arrivals('three').length], [0, 0])
  const theirs = await listAll(other, `/v1/webhooks/${textAt(three, 'id')}/deliveries`)
  assert.ok(theirs.every((each) => each.reference !== reference))
  for (const created of [one, two, last]) await remove(created)
})

test('a failed delivery is repeated with the same event id and body', async () => {
  let refusals = 1
  const flaky = await startReceiver(() => (refusals-- > 0 ? 500 : 200))
  const created = success(await subscribe({ url: flaky.url }))
  await deposit(textAt(await createCustomer(client), 'guid'))
  const [first, second] = await until(
    'the second attempt',
    () => flaky.deliveries.length >= 2 && flaky.deliveries,
    30_000,
  )
  assert.equal(first?.body, second?.body)
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
  new Webhook(textAt(created, 'secret')).verify(second?.body ?? '', second?.headers as Record<string, string>)
  await remove(created)
  await flaky.close()
})
