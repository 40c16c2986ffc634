/**
 * Records the examples of the reference: a request and its response for every operation, a delivery of every event, and
 * every problem, from a running service. `npm run generate -- --examples` writes them to `wire/examples.json`.
 */
import assert from 'node:assert/strict'
import { type EventName, eventNames, type Operation, type OperationId, parseJsonExactly } from '@partner-payments/wire'
import { createLog } from '../../service/src/kernel/index.ts'
import { checkoutOrder } from './checkout.ts'
import { createDatabase } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, success, textAt } from '../support/client.ts'
import { lateSession, openLink } from '../support/late-payments.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { requestOf, type Subject, subjects } from '../support/requests.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { refundBody } from '../support/paid-session.ts'
import { startVerification } from '../support/identity.ts'
import {
  createBeneficiary,
  createCustomer,
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

/**
 * The operations in the order of recording, because a changed subscription no longer reaches the receiver, and a
 * deleted resource has no more examples.
 */
const phases: Readonly<Record<Operation['method'], number>> = { GET: 0, POST: 1, PUT: 1, PATCH: 2, DELETE: 3 }
const phaseOf = ({ operation }: Subject): number => phases[operation.method]

const exampleOf = ({ status, text, headers }: Answer) => ({
  status,
  ...(headers.location !== undefined && { location: headers.location }),
  // A file is no example.
  ...(text !== '' && headers['content-disposition'] === undefined && { body: parseJsonExactly(text) }),
})

async function recordOperations(client: Client, world: World): Promise<Record<string, unknown>> {
  const recorded = new Map<OperationId, unknown>()
  for (const subject of subjects.toSorted((a, b) => phaseOf(a) - phaseOf(b))) {
    const { id, operation } = subject
    const { target, body } = requestOf(operation, world, 'readable')
    const answer = await client.send({ method: operation.method, target, ...(body !== undefined && { body }) })
    assert.ok(answer.status < 300, `${id}: ${answer.status} ${answer.text}`)
    const sent = { target, ...(body !== undefined && { body: parseJsonExactly(body) }) }
    recorded.set(id, { request: sent, response: exampleOf(answer) })
  }
  return Object.fromEntries(subjects.map(({ id }) => [id, recorded.get(id)]))
}

/** Creates a beneficiary whose name is verified, and renames it to a name that does not match its account. */
async function worsen(client: Client): Promise<void> {
  const beneficiary = await createBeneficiary(client)
  const [id, name, iban] = ['id', 'name', 'iban'].map((field) => textAt(beneficiary, field)) as [string, string, string]
  success(await client.post('/v1/beneficiaries/verifications', { name, iban }))
  success(await client.put('/v1/beneficiaries', { id, name: 'CloseMatch Grace Hopper' }))
}

/**
 * Creates payments with every outcome, a partial payment, a recall, a refund, an identity verification, and a
 * verification state that worsens, so that every event is delivered.
 */
async function recordEvents(client: Client, world: World, receiver: Receiver): Promise<Record<string, unknown>> {
  const subscription = success(
    await client.post('/v1/webhooks', { url: receiver.url, extensionEvents: ['*'], description: 'All events' }),
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
  await startVerification(client, textAt(await createCustomer(client), 'guid'))
  const paid = await settledPayout(client, world.beneficiary, '6.00')
  success(await client.post(`/v1/payouts/${paid}/recall`, { reason: 'DUPL' }))
  success(await client.post(`/v1/checkout/sessions/${world.paidSession}/refunds`, refundBody(1)))
  const inParts = success(
    await client.post('/v1/checkout/sessions', { ...checkoutOrder(world), partialPayments: true }),
  )
  const part = { step: 'credit', amount: 2 }
  success(await client.post(`/v1/simulations/checkout/sessions/${textAt(inParts, 'sessionId')}`, part))
  await lateSession(client, world.customer, 1)
  await openLink(textAt(success(await client.get(`/v1/checkout/links/${world.link}`)), 'url'))
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

/** Starts the service, by default with a new database. */
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
