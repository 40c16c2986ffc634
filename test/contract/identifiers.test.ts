/** Identifiers in upper case: every operation treats them as the same identifiers in lower case. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events, identifierPatterns } from '@partner-payments/wire'
import { type JsonObject, listAt, objectAt, success, textAt } from '../support/client.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { openLink } from '../support/late-payments.ts'
import { type Subject, subjects } from '../support/requests.ts'
import { until } from '../support/until.ts'
import { createWorld, payoutText } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service
const world = await createWorld(client, receiver.url, service)

// A filter has something to find.
for (const verb of [['block', '--direction', 'inbound', '--yes'], ['unblock']]) {
  const account = ['--partner', service.credentials.partnerId, '--customer', world.customer]
  await service.operator('account', ...verb, ...account, '--reason', 'Other', '--staff', 'Sam Staff')
}

// A service account whose only request is in the log, because each reading of the log adds one to that of its reader.
const quiet = await service.operator(
  ...['service-account', 'create', '--partner', service.credentials.partnerId],
  ...['--name', 'Quiet', '--permissions', 'accounts:read'],
)
success(await service.clientOf(quiet).get('/v1/accounts'))
const requestsOfQuiet = `/v1/requests?serviceAccountId=${textAt(quiet, 'serviceAccountId')}`
await until('the request in the log', async () => listAt(success(await client.get(requestsOfQuiet))).length > 0)

const uuids = [
  world.customer,
  world.beneficiary,
  world.payout,
  world.invitation,
  world.subscription,
  world.delivery,
  world.recovery,
]
const inUpperCase = (text: string) => uuids.reduce((result, id) => result.replaceAll(id, id.toUpperCase()), text)

const send = (subject: Subject, spell: (text: string) => string = (text) => text) => {
  const { target, body } = subject.request(world)
  const call = { method: subject.operation.method, target: spell(target) }
  return client.send(body === undefined ? call : { ...call, body: spell(body) })
}
const usesIdentifier = (subject: Subject) => {
  const { target, body = '' } = subject.request(world)
  return inUpperCase(target + body) !== target + body
}
const named = subjects.filter(usesIdentifier)
/** Leaves out the time at which a balance was read. */
const withoutTime = (body: JsonObject) =>
  JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === 'asOf' ? undefined : value))) as JsonObject

// An export has a record of each read of the customer, also of the export before.
const repeatable = named.filter(({ id, operation }) => operation.method === 'GET' && id !== 'exportCustomer')
for (const subject of repeatable)
  test(`200 with the same body for an identifier in upper case: ${subject.name}`, async () => {
    const [upper, lower] = [success(await send(subject, inUpperCase)), success(await send(subject))]
    assert.deepEqual(withoutTime(upper), withoutTime(lower))
  })

const link = new URL(textAt(success(await client.get(`/v1/checkout/links/${world.link}`)), 'url'))
await openLink(new URL(link.pathname, service.baseUrl).href)
const acts = listAt(success(await client.get('/v1/audit?limit=100')))
const act = acts.find((record) => 'id' in objectAt(record, 'actor')) ?? {}

type Filter = { readonly pattern?: string }
const filterValues: Readonly<Record<string, string>> = {
  customerId: world.customer,
  beneficiaryId: world.beneficiary,
  subscriptionId: world.subscription,
  linkId: world.link,
  actorId: textAt(objectAt(act, 'actor'), 'id'),
  serviceAccountId: textAt(quiet, 'serviceAccountId'),
}
for (const subject of subjects) {
  const { properties = {} } = (subject.operation.query ?? {}) as {
    readonly properties?: Readonly<Record<string, Filter>>
  }
  for (const [name, { pattern = '' }] of Object.entries(properties))
    if (identifierPatterns.has(pattern))
      test(`200 with the same list for the filter ${name} in upper case: ${subject.name}`, async () => {
        const { target } = subject.request(world)
        const value = filterValues[name] ?? assert.fail(`no value for the filter ${name}`)
        const lower = success(await client.get(`${target}?${name}=${value}`))
        assert.deepEqual(success(await client.get(`${target}?${name}=${value.toUpperCase()}`)), lower)
        assert.ok(listAt(lower).length > 0)
      })
}

for (const signature of ['v1', 'v1a'])
  test(`200 to every use of a subscription after a rotation to ${signature} in upper case`, async () => {
    const id = world.subscription
    const upper = `/v1/webhooks/${id.toUpperCase()}`
    const rotated = success(await client.post(`${upper}/rotate-secret`, { signature, overlapSeconds: 0 }))
    assert.equal(textAt(rotated, 'id'), id)
    for (const path of ['/v1/webhooks', `/v1/webhooks/${id}`, upper]) success(await client.get(path))
    for (const path of [upper, `/v1/webhooks/${id}`]) {
      assert.equal(success(await client.post(`${path}/test`)).delivered, true)
      success(await client.post(`${path}/enable`))
    }
  })

test('200 to a service account that an operator created with the partner in upper case', async () => {
  const partner = service.credentials.partnerId.toUpperCase()
  const words = ['--partner', partner, '--name', 'Upper', '--permissions', 'payouts:read']
  const created = service.clientOf(await service.operator('service-account', 'create', ...words))
  success(await created.get('/v1/payouts'))
})

test('200 with the first answer when a payout is repeated with its beneficiary in upper case', async () => {
  const body = payoutText(world.beneficiary, '3.00')
  const first = success(await client.post('/v1/payouts/fiat', body))
  const again = await client.post('/v1/payouts/fiat', inUpperCase(body))
  assert.deepEqual(success(again), first)
  assert.equal(again.headers['idempotent-replayed'], 'true')
})

test('200 with the identifier in lower case when a body has it in upper case', async () => {
  const body = { customerId: world.customer.toUpperCase(), name: 'Grace', iban: 'NL91ABNA0417164300', currency: 'EUR' }
  const created = success(await client.post('/v1/beneficiaries', body))
  assert.equal(textAt(created, 'customerId'), world.customer)
  const update = { id: textAt(created, 'id').toUpperCase(), alias: 'grace' }
  assert.equal(textAt(success(await client.put('/v1/beneficiaries', update)), 'id'), textAt(created, 'id'))
})

test('200 with the guid as customerId of records, and the serviceId as customerId of events', async () => {
  const beneficiary = success(await client.get(`/v1/beneficiaries/${world.beneficiary}`))
  const payout = success(await client.get(`/v1/payouts/${world.payout}`))
  assert.deepEqual([beneficiary.customerId, payout.customerId], [world.customer, world.customer])
  const types = 'partner.customer.withdrawal.requested,partner.customer.deposit.created'
  const found = listAt(success(await client.get(`/v1/events?types=${types}`))).map((event) => objectAt(event, 'data'))
  assert.ok(found.length >= 2)
  for (const { customerId, customerGuid } of found)
    assert.deepEqual([customerId, customerGuid], [world.serviceId, world.customer])
})

/** The identifiers that the descriptions of `customerId` in the schemas name. */
function describedIdentifiers(schemas: readonly unknown[]): readonly string[] {
  const found: string[] = []
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [name, inner] of Object.entries(schema)) {
      const { description = '' } = name === 'customerId' ? (inner as { readonly description?: string }) : {}
      if (name === 'customerId') found.push((description.match(/`(guid|serviceId)`/g) ?? []).join(' '))
      visit(inner)
    }
  }
  visit(schemas)
  return found
}

test('the description of every customerId says which identifier it is', () => {
  const inputs = describedIdentifiers(subjects.map(({ operation: { body, query } }) => [body, query]))
  const records = describedIdentifiers(subjects.map(({ operation: { response } }) => response))
  const ofEvents = describedIdentifiers(
    Object.values(events).map(({ data }) => (data as { readonly properties?: unknown }).properties),
  )
  assert.deepEqual([...new Set(inputs)], ['`guid` `serviceId`'])
  assert.deepEqual([...new Set(records)], ['`guid`'])
  assert.deepEqual([...new Set(ofEvents)], ['`serviceId`'])
  assert.ok(inputs.length > 5 && records.length > 2 && ofEvents.length > 5)
})

/** DELETE last, because it removes what the other requests need. */
const writes = named
  .filter((each) => each.operation.method !== 'GET')
  .toSorted((a, b) => Number(a.operation.method === 'DELETE') - Number(b.operation.method === 'DELETE'))
for (const subject of writes)
  test(`2xx for an identifier in upper case: ${subject.name}`, async () => {
    const answer = await send(subject, inUpperCase)
    assert.ok(answer.status === 200 || answer.status === 204, answer.text)
  })
