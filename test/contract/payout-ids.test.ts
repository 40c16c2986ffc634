/** Every path of a payout takes its id or its reference. The answer that makes a payout has both. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { operations, type Operation } from '@partner-payments/wire'
import { makeBulk } from '../support/bulks.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { type Subject, subjects } from '../support/requests.ts'
import { otherPartner } from '../support/service.ts'
import { createWorld, payoutText } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service
const stranger = await otherPartner(service)
const world = await createWorld(client, receiver.url, service)

const path = (name: string) => `/v1/payouts/${encodeURIComponent(name)}`
const paths = subjects.filter(({ operation }) => operation.path.startsWith('/v1/payouts/{'))

test('the contract has exactly these paths of a payout', () => {
  assert.deepEqual(
    paths.map(({ name }) => name.replace('/v1/payouts/{id}', '')).toSorted(),
    [
      ...['GET ', 'GET /duplicates', 'GET /note', 'GET /recalls', 'GET /recalls/{recallId}', 'GET /verification'],
      ...['POST /approve', 'POST /cancel', 'POST /recall', 'POST /reject', 'PUT /note'],
    ].toSorted(),
  )
  const named = subjects.filter(({ operation }) => /\{payoutId\}/.test(operation.path))
  assert.deepEqual(named, [], 'a path that names a payout otherwise has to be tested here')
})

/** The request of the example, with the reference of its payout in place of the id. */
async function byReference({ operation, request }: Subject, sender = client) {
  const { target, body } = request(world)
  const [, id = ''] = /^\/v1\/payouts\/([^/]+)/.exec(target) ?? []
  const payout = success(await client.get(path(id)))
  const call = { method: operation.method, target: target.replace(path(id), path(textAt(payout, 'reference'))) }
  return { payout, answer: await sender.send(body === undefined ? call : { ...call, body }) }
}

for (const subject of paths) {
  test(`404 from ${subject.name} to another partner that knows the reference`, async () => {
    assertProblem((await byReference(subject, stranger)).answer, { status: 404, code: 'not_found' })
  })

  test(`200 from ${subject.name} with the reference of the payout`, async () => {
    const { payout, answer } = await byReference(subject)
    const body = success(answer)
    const shown = 'payoutId' in body ? body.payoutId : 'reference' in body ? body.id : payout.id
    assert.equal(shown, payout.id)
  })
}

test('200 to a cancellation with the same response as the creation', async () => {
  const made = await client.post(
    '/v1/payouts/fiat',
    payoutText(world.beneficiary, '1.00', { reference: `A/B ${randomUUID()}` }),
  )
  const reference = textAt(success(made), 'reference')
  const payout = success(await client.get(path(reference)))
  assert.deepEqual([payout.id, payout.reference], [made.headers['payout-id'], reference])
  const answer = await client.post(`${path(reference)}/cancel`)
  assert.ok(answer.status === 200 || answer.status === 409, 'the worker may have begun it')
})

test('every response that creates a payout contains its id', () => {
  const making = (Object.entries(operations) as readonly (readonly [string, Operation])[])
    .filter(([, { makesPayout }]) => makesPayout)
    .map(([id]) => id)
  assert.deepEqual(making.toSorted(), [
    'createCheckoutRefund',
    'createFiatPayout',
    'createFxPayout',
    'createTokenPayout',
  ])
})

for (const subject of subjects.filter(({ operation }) => operation.makesPayout))
  test(`200 from ${subject.name} with the id in Payout-Id, also when it is repeated`, async () => {
    const { target, body = '' } = subject.request(world)
    const call = { method: subject.operation.method, target, body }
    const [first, again] = [await client.send(call), await client.send(call)]
    const payout = success(await client.get(path(String(first.headers['payout-id']))))
    assert.equal(payout.reference, success(first).reference)
    assert.equal(again.headers['payout-id'], payout.id)
  })

test('a reference in the form of an id identifies its payout, unless another payout has the id', async () => {
  const pay = async (reference: string) =>
    success(await client.post('/v1/payouts/fiat', payoutText(world.beneficiary, '1.00', { reference })))
  const free = randomUUID()
  await pay(free)
  assert.equal(success(await client.get(path(free))).reference, free)
  await pay(world.payout)
  assert.equal(success(await client.get(path(world.payout))).id, world.payout)
})

test('404 to a reference without a payout: unknown, of a deposit, or replaced by a generated one', async () => {
  const said = randomUUID()
  const send = async () =>
    success(await client.post('/v1/payouts/fiat', payoutText(world.beneficiary, '1.00', { reference: said })))
  const [first, second] = [await send(), await send()]
  const named = success(await client.get(path(said)))
  assert.equal(named.reference, first.reference)
  assert.notEqual(second.reference, first.reference)
  assert.equal(success(await client.get(path(textAt(second, 'reference')))).userReference, said)
  const deposits = listAt(success(await client.get('/v1/transactions?category=Deposit&limit=1')))
  for (const name of [randomUUID(), 'unknown', textAt(deposits[0] ?? {}, 'reference')])
    assertProblem(await client.get(path(name)), { status: 404, code: 'not_found' })
})

test('the payouts of a bulk are found by their references', async () => {
  const bulk = await makeBulk(client, [payoutText(world.beneficiary, '1.00'), payoutText(world.beneficiary, '1.01')])
  const items = listAt(success(await client.get(`/v1/payouts/bulk/${bulk}/items`)))
  assert.equal(items.length, 2)
  for (const item of items)
    assert.equal(success(await client.get(path(textAt(item, 'reference')))).id, textAt(item, 'payoutId'))
})
