/**
 * Records the examples of the reference: a request and its response for every operation, a delivery of every event, and
 * every problem, from a running service. `npm run generate -- --examples` writes them to `wire/examples.json`.
 */
import assert from 'node:assert/strict'
import { type EventName, eventNames, type OperationId, parseJsonExactly } from '@partner-payments/wire'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, type JsonObject, success, textAt } from '../support/client.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type Subject, subjects, type ValidRequest } from '../support/requests.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createBeneficiary,
  createMonitor,
  createOrder,
  createWorld,
  finalTransaction,
  monthly,
  settledPayout,
  soon,
  type World,
} from '../support/world.ts'
import { normalise } from './normalise.ts'
import { provocations, type Stage } from './provoke.ts'

const json = (body: JsonObject) => JSON.stringify(body)

/** Requests with values that a reader recognises, where the tests use random ones. */
const readable: Partial<Record<OperationId, (world: World) => ValidRequest>> = {
  createFiatPayout: ({ beneficiary }) => ({
    target: '/v1/payouts/fiat',
    body: `{"amount":12.50,"currency":"EUR","beneficiaryId":"${beneficiary}","idempotencyKey":"payout-2026-0042","reference":"INV-2026-0042"}`,
  }),
  createCustomer: () => ({
    target: '/v1/customers',
    body: json({
      email: 'ada@example.com',
      partnerCustomerIdentifier: 'customer-42',
      customerType: 'Individual',
      kyc: { fullName: 'Ada Lovelace', dateOfBirth: '1990-12-10', citizenshipCountryCode: 'GB', city: 'London' },
    }),
  }),
  createReport: () => ({
    target: '/v1/reports',
    body: json({
      kind: 'statement',
      format: 'pdf',
      from: '2026-01-01T00:00:00Z',
      to: '2026-02-01T00:00:00Z',
      currency: 'EUR',
      idempotencyKey: 'statement-2026-01',
    }),
  }),
  updateCustomer: ({ customer }) => ({
    target: `/v1/customers/${customer}`,
    body: json({ kyc: { addressLine1: '12 St James Square', city: 'London', mobilePhone: null } }),
  }),
  simulateDeposit: ({ customer }) => ({
    target: '/v1/simulations/deposits',
    body: `{"customerId":"${customer}","amount":100.00,"currency":"EUR","outcome":"completed","websiteReference":"order-1001","idempotencyKey":"deposit-1001","customFields":{"order":"A-1"}}`,
  }),
  simulateWithdrawal: ({ customer }) => ({
    target: '/v1/simulations/withdrawals',
    body: `{"customerId":"${customer}","amount":25.00,"currency":"EUR","outcome":"completed","idempotencyKey":"withdrawal-1001"}`,
  }),
}

/** Reads first. A changed subscription no longer reaches the receiver, and a deleted resource has no further example. */
function phaseOf({ id, operation }: Subject): number {
  if (operation.method === 'GET') return 0
  if (operation.method === 'DELETE') return 3
  return id === 'updateSubscription' ? 2 : 1
}

const exampleOf = ({ status, text, headers }: Answer) => ({
  status,
  ...(headers.location !== undefined && { location: headers.location }),
  // A file is no example.
  ...(text !== '' && headers['content-disposition'] === undefined && { body: parseJsonExactly(text) }),
})

async function recordOperations(client: Client, world: World): Promise<Record<string, unknown>> {
  const recorded = new Map<OperationId, unknown>()
  for (const subject of subjects.toSorted((a, b) => phaseOf(a) - phaseOf(b))) {
    const { id, operation, request } = subject
    const { target, body } = readable[id]?.(world) ?? request(world)
    const answer = await client.send({ method: operation.method, target, ...(body !== undefined && { body }) })
    assert.ok(answer.status < 300, `${id}: ${answer.status} ${answer.text}`)
    const sent = { target, ...(body !== undefined && { body: parseJsonExactly(body) }) }
    recorded.set(id, { request: sent, response: exampleOf(answer) })
  }
  return Object.fromEntries(subjects.map(({ id }) => [id, recorded.get(id)]))
}

/** A beneficiary whose name is verified, and renamed to one that does not belong to its account. */
async function worsen(client: Client): Promise<void> {
  const beneficiary = await createBeneficiary(client)
  const [id, name, iban] = ['id', 'name', 'iban'].map((field) => textAt(beneficiary, field)) as [string, string, string]
  success(await client.post('/v1/beneficiaries/verifications', { name, iban }))
  success(await client.put('/v1/beneficiaries', { id, name: 'CloseMatch Grace Hopper' }))
}

/** Payments with every outcome, a recall, and a verification that worsens, so that every event is delivered. */
async function recordEvents(client: Client, world: World, receiver: Receiver): Promise<Record<string, unknown>> {
  const subscription = success(
    await client.post('/v1/webhooks', { url: receiver.url, events: eventNames, description: 'All events' }),
  )
  const payments = [
    ...['completed', 'failed', 'expired'].map((outcome) => ['deposits', outcome] as const),
    ...['completed', 'failed'].map((outcome) => ['withdrawals', outcome] as const),
  ]
  for (const [kind, outcome] of payments) {
    const fields = `"currency":"EUR","outcome":"${outcome}","idempotencyKey":"${kind}-${outcome}"`
    const body = `{"customerId":"${world.customer}","amount":25.00,${fields}}`
    const answer = await client.send({ method: 'POST', target: `/v1/simulations/${kind}`, body })
    await finalTransaction(client, textAt(success(answer), 'reference'))
  }
  await worsen(client)
  const paid = await settledPayout(client, world.beneficiary, '6.00')
  success(await client.post(`/v1/payouts/${paid}/recall`, { reason: 'DUPL' }))
  await createMonitor(client, world.tokenBalance)
  const refused = await createOrder(client, world.beneficiary, soon(), '9999999.00')
  const cancel = async (id: string) => success(await client.post(`/v1/payouts/standing-orders/${id}/cancel`))
  await cancel(await createOrder(client, world.beneficiary, monthly()))
  const delivered = (name: EventName) =>
    receiver.deliveries.find(({ body }) => body.includes(`"eventType":"${name}"`))?.body
  const found = await until('every event is delivered', () => {
    const bodies = eventNames.map((name) => [name, delivered(name)] as const)
    return bodies.every(([, body]) => body !== undefined) && bodies
  })
  await cancel(refused)
  const removed = await client.delete(`/v1/webhooks/${textAt(subscription, 'id')}`)
  assert.equal(removed.status, 204)
  return Object.fromEntries(found.map(([name, body]) => [name, parseJsonExactly(body ?? '')]))
}

async function recordProblems(stage: Stage): Promise<Record<string, unknown>> {
  const recorded: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [code, provoke] of Object.entries(provocations)) {
    const { text } = await provoke(stage)
    const body = parseJsonExactly(text) as { readonly code?: unknown }
    if (body.code !== code) wrong.push(`${code}: ${text}`)
    recorded[code] = body
  }
  assert.deepEqual(wrong, [], 'each provocation causes its problem')
  return recorded
}

/** By default with a database of its own. */
export async function recordExamples(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const [service, receiver] = await Promise.all([startTestService({ env }), startReceiver()])
  const db = createDatabase({ url: service.databaseUrl, connectionsMax: 2, log: createLog('silent') })
  const { client } = service
  try {
    const world = await createWorld(client, receiver.url, service)
    const events = await recordEvents(client, world, receiver)
    const operations = await recordOperations(client, world)
    // A new world, because the operations have deleted parts of the first one.
    const next = await createWorld(client, receiver.url, service)
    const problems = await recordProblems({ service, client, db, world: next, hookUrl: receiver.url })
    return `${normalise({ operations, events, problems })}\n`
  } finally {
    await db.close()
    await service.dispose()
    await receiver.close()
  }
}
