import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventNames } from '@partner-payments/wire'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { webhooksRoutes } from '../api/index.ts'

type Hooks = Awaited<ReturnType<typeof createHooks>>
let hooks: Hooks
before(async () => {
  hooks = await createHooks()
})
after(() => hooks.close())

const callOf = (partnerId: string) => {
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'test', permissions: [] }
  return { caller, requestId: 'test', ip: '127.0.0.1', params: {}, query: undefined, body: undefined }
}
const refused = (code: string, pointer?: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code && (pointer === undefined || error.errors[0]?.pointer === pointer)
/** Tests in this file send no test delivery. */
const noTestDeliveries = {
  test: async () => {
    throw new Error('unexpected test delivery')
  },
}
const input = { url: 'https://example.com/hook', events: [statusChanged] }

test('the secret is shown only at creation, and is stored sealed', async () => {
  const partnerId = await hooks.addPartner()
  const call = callOf(partnerId)
  const routes = webhooksRoutes(hooks.webhooks, noTestDeliveries, hooks.idempotency)
  const { body: created } = await routes.createSubscription({ ...call, body: { ...input, description: 'Ledger' } })
  const { secret = '', ...rest } = created
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(Object.keys(created).sort(), [
    'apiVersion',
    'createdAt',
    'description',
    'events',
    'extensionEvents',
    'id',
    'ordered',
    'secret',
    'signature',
    'status',
    'updatedAt',
    'url',
  ])
  const { body: read } = await routes.getSubscription({ ...call, params: { id: created.id } })
  assert.deepEqual(read, rest)
  const row = await hooks.db.row<{ text: string }>(sql`
    select encode(secret_sealed, 'escape') as text from delivery.secrets
    where partner_id = ${partnerId} and subscription_id = ${created.id}`)
  assert.ok(row && !row.text.includes(secret.slice(6)))
})

test('an event outside the emitted set is accepted with a warning', async () => {
  const partnerId = await hooks.addPartner()
  const created = await hooks.webhooks.create(partnerId, { ...input, events: [statusChanged, 'invoice.paid'] })
  assert.deepEqual(created.events, [statusChanged, 'invoice.paid'])
  assert.equal(created.warnings.length, 1)
  assert.match(created.warnings[0] ?? '', /^invoice\.paid /)
})

test('400 for a private URL, an empty update and a text with U+0000', async () => {
  const partnerId = await hooks.addPartner()
  const { create, update } = hooks.webhooks
  await assert.rejects(create(partnerId, { ...input, url: 'https://10.0.0.1/' }), refused('validation_failed', '/url'))
  await assert.rejects(create(partnerId, { ...input, events: ['a\u0000'] }), refused('validation_failed', '/events/0'))
  const { id } = await create(partnerId, input)
  await assert.rejects(update(partnerId, id, {}), refused('validation_failed', ''))
  await assert.rejects(update(partnerId, id, { description: 'a\u0000' }), refused('validation_failed', '/description'))
})

test('an update sets the given fields, clears null fields and keeps the rest', async () => {
  const partnerId = await hooks.addPartner()
  const { id } = await hooks.webhooks.create(partnerId, { ...input, description: 'Old' })
  const moved = await hooks.webhooks.update(partnerId, id, { url: 'https://example.org/new' })
  assert.deepEqual([moved.url, moved.description, moved.events], ['https://example.org/new', 'Old', [statusChanged]])
  const cleared = await hooks.webhooks.update(partnerId, id, { description: null, status: 'Disabled' })
  assert.deepEqual([cleared.description, cleared.status, cleared.url], [null, 'Disabled', moved.url])
})

test('404 for a subscription that is unknown, deleted or of another partner', async () => {
  const [mine, other] = [await hooks.addPartner(), await hooks.addPartner()]
  const { id } = await hooks.webhooks.create(mine, input)
  const { get, update, remove, deliveries } = hooks.webhooks
  const operations = (partnerId: string, subscriptionId: string) => [
    () => get(partnerId, subscriptionId),
    () => update(partnerId, subscriptionId, { status: 'Enabled' }),
    () => remove(partnerId, subscriptionId),
    () => deliveries(partnerId, subscriptionId, {}),
  ]
  for (const operation of [...operations(other, id), ...operations(mine, newId())])
    await assert.rejects(operation, refused('not_found'))
  await remove(mine, id)
  for (const operation of operations(mine, id)) await assert.rejects(operation, refused('not_found'))
})

test('a list is newest first, in pages, and only of one partner', async () => {
  const [mine, other] = [await hooks.addPartner(), await hooks.addPartner()]
  await hooks.webhooks.create(other, input)
  assert.deepEqual((await hooks.webhooks.list(mine, {})).data, [])
  const made: string[] = []
  for (let i = 0; i < 5; i += 1) made.push((await hooks.webhooks.create(mine, input)).id)
  const first = await hooks.webhooks.list(mine, { limit: '3' })
  const second = await hooks.webhooks.list(mine, { limit: '3', cursor: first.nextCursor ?? '' })
  assert.deepEqual(
    [...first.data, ...second.data].map((row) => row.id),
    made.toReversed(),
  )
  assert.deepEqual([first.hasMore, second.hasMore, second.nextCursor], [true, false, null])
  await assert.rejects(hooks.webhooks.list(other, { cursor: first.nextCursor ?? '' }), refused('validation_failed'))
})

test('422 webhook_limit_reached: 20 of 30 concurrent creations succeed, and one more after a deletion', async () => {
  const partnerId = await hooks.addPartner()
  const made = await Promise.allSettled(Array.from({ length: 30 }, () => hooks.webhooks.create(partnerId, input)))
  const ok = made.filter((result) => result.status === 'fulfilled')
  const failed = made.filter((result) => result.status === 'rejected')
  assert.equal(ok.length, 20)
  assert.ok(failed.every((result) => refused('webhook_limit_reached')(result.reason)))
  const id = (await hooks.webhooks.list(partnerId, {})).data[0]?.id ?? ''
  // Two concurrent deletions of one subscription allow one creation.
  const removed = await Promise.allSettled([1, 2].map(() => hooks.webhooks.remove(partnerId, id)))
  assert.deepEqual(removed.map((result) => result.status).sort(), ['fulfilled', 'rejected'])
  await hooks.webhooks.create(partnerId, input)
  await assert.rejects(hooks.webhooks.create(partnerId, input), refused('webhook_limit_reached'))
})

test('the event types are listed', async () => {
  const { body } = await webhooksRoutes(hooks.webhooks, noTestDeliveries, hooks.idempotency).listEventTypes(
    callOf(newId()),
  )
  assert.equal(body.data.length, eventNames.length)
})
