import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { afterEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  createHooks,
  type Endpoint,
  type ReceivedWebhook,
  startEndpoint,
  statusChanged,
} from '../../../test/support/webhooks.ts'
import { startWorker } from '../../../test/support/crash-points.ts'
import { until } from '../../../test/support/until.ts'
import { startDelivery } from '../../../test/support/jobs.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import type { RunningJobs } from '../postgres/jobs/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { deliveryLimitsDefault } from './limits.ts'
import type { DeliveryJobsOptions } from './index.ts'

const hooks = untilEnd(await createHooks())

const running: RunningJobs[] = []
const endpoints: Endpoint[] = []
afterEach(async () => {
  // So that the next test has no deliveries of this one.
  await Promise.all(running.splice(0).map((loop) => loop.stop()))
  await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close()))
  await hooks.db.run(sql`
    update delivery.subscriptions set status = 'Disabled', disabled_reason = 'Partner', disabled_at = updated_at`)
})

function start(options: Partial<DeliveryJobsOptions> = {}) {
  const { db, clock, log, webhooks } = hooks
  const loop = startDelivery({
    db,
    clock,
    log,
    webhooks,
    allowLoopback: true,
    idleMs: 20,
    exchangeTimeoutMs: 5000,
    drainMs: 50,
    // As in the service. A resolver of a test cannot be sent to another thread.
    threads: options.resolve === undefined ? 1 : 0,
    ...options,
  })
  running.push(loop)
  return loop
}

async function listen(respond?: Parameters<typeof startEndpoint>[0]) {
  const endpoint = await startEndpoint(respond)
  endpoints.push(endpoint)
  return endpoint
}

async function subscribe(partnerId: string, url: string) {
  const { id, secret = '' } = await hooks.webhooks.create(partnerId, { url, events: [statusChanged] })
  const deliveries = async () => (await hooks.webhooks.deliveries(partnerId, id, {})).data
  const settled = (count = 1) =>
    until(`${count} attempted`, async () => {
      const row = await hooks.db.row<{ count: bigint }>(sql`
        select count(*) as count from (
          select event_id from delivery.attempts
          where partner_id = ${partnerId} and subscription_id = ${id}
          union select event_id from delivery.deliveries
          where partner_id = ${partnerId} and subscription_id = ${id}) as attempted`)
      return row?.count === BigInt(count)
    })
  return { id, secret, deliveries, settled }
}

/** Sends one event to one endpoint. Returns the delivery after its first attempt. */
async function deliverOne(
  respond: (response: ServerResponse, received: ReceivedWebhook) => void,
  options: Partial<DeliveryJobsOptions> = {},
) {
  const endpoint = await listen(respond)
  const partnerId = await hooks.addPartner()
  const { deliveries, settled } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  start(options)
  await settled()
  const [delivery] = await deliveries()
  const [attempt] = delivery?.attempts ?? []
  assert.ok(delivery && attempt)
  return { delivery, attempt, endpoint }
}

test('the standardwebhooks package verifies the raw body, which is exactly eventId and data', async () => {
  const endpoint = await listen()
  const partnerId = await hooks.addPartner()
  const { secret, settled, deliveries } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-é', 'Completed')
  const outcomes: string[] = []
  start({ observe: { attempt: (outcome) => outcomes.push(outcome) } })
  await settled()
  const [got] = endpoint.received
  assert.ok(got)
  assert.deepEqual(Object.keys(new Webhook(secret).verify(got.body, got.headers as Record<string, string>) as object), [
    'eventId',
    'data',
  ])
  const event = await hooks.db.row<{ data: string }>(
    sql`select data from events.events where partner_id = ${partnerId}`,
  )
  assert.equal(got.body, `{"eventId":"${got.eventId}","data":${event?.data}}`)
  assert.equal(got.headers['webhook-id'], got.eventId)
  assert.equal(got.headers['content-type'], 'application/json')
  assert.equal(got.path, '/hook?from=partner')
  const [delivery] = await deliveries()
  assert.deepEqual([delivery?.status, delivery?.eventId, delivery?.attemptCount], ['Delivered', got.eventId, 1])
  assert.deepEqual(outcomes, ['delivered'])
  assert.throws(() => new Webhook(secret).verify(`${got.body} `, got.headers as Record<string, string>))
})

test('the endpoint gets the events of a reference in order, one at a time', async () => {
  const open = new Set<string>()
  const overlapping: string[] = []
  const endpoint = await listen((response, { reference }) => {
    if (open.has(reference)) overlapping.push(reference)
    open.add(reference)
    setTimeout(() => {
      open.delete(reference)
      response.end()
    }, Math.random() * 10)
  })
  const partnerId = await hooks.addPartner()
  const { settled } = await subscribe(partnerId, endpoint.url)
  const names = ['1', '2', '3', '4', '5', '6']
  const references = ['A', 'B', 'C', 'D']
  await Promise.all(references.map((reference) => hooks.emit(partnerId, reference, ...names)))
  start()
  await settled(names.length * references.length)
  assert.deepEqual(overlapping, [])
  for (const reference of references)
    assert.deepEqual(
      endpoint.received.filter((one) => one.reference === reference).map((one) => one.status),
      names,
    )
})

test('a retry has the same eventId and a new signature time', async () => {
  let failures = 1
  const endpoint = await listen((response) => response.writeHead(failures-- > 0 ? 500 : 200).end('broken'))
  const partnerId = await hooks.addPartner()
  const { secret, settled, deliveries } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  start()
  await settled()
  assert.equal((await deliveries())[0]?.attempts[0]?.responseBody, 'broken')
  hooks.clock.advance(6001)
  await until('delivered', async () => (await deliveries())[0]?.status === 'Delivered')
  const [first, second] = endpoint.received
  assert.ok(first && second)
  assert.equal(first.body, second.body)
  assert.ok(Number(second.headers['webhook-timestamp']) - Number(first.headers['webhook-timestamp']) >= 6)
  new Webhook(secret).verify(second.body, second.headers as Record<string, string>)
})

test('a hanging endpoint and a trickling endpoint fail at the time limit of the exchange', async () => {
  // Long enough for the first bytes on a slow machine. One limit, because either worker may take the second delivery.
  const exchangeTimeoutMs = 2000
  const error = 'no complete response within 2000 ms'
  const hanging = await deliverOne(() => undefined, { exchangeTimeoutMs })
  assert.deepEqual([hanging.attempt.error, hanging.attempt.status], [error, null])
  const timers: NodeJS.Timeout[] = []
  const trickling = await deliverOne(
    (response) => {
      response.write('a')
      timers.push(setInterval(() => response.write('a'), 20))
    },
    { exchangeTimeoutMs },
  )
  timers.forEach(clearInterval)
  assert.deepEqual([trickling.attempt.error, trickling.attempt.status], [error, 200])
  assert.match(trickling.attempt.responseBody ?? '', /^a+$/)
  assert.equal(trickling.delivery.status, 'Pending')
})

test('an incomplete answer is a failure, whatever its status', async () => {
  const { attempt, delivery } = await deliverOne((response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('ten bytes.', () => response.destroy())
  })
  assert.equal(delivery.status, 'Pending')
  assert.equal(attempt.status, 200)
  assert.equal(attempt.error, 'the endpoint closed the connection before its response was complete')
  assert.equal(attempt.responseBody, 'ten bytes.')
})

test('of a gigabyte response, 64 KiB are read, and 8 KiB are stored as text', async () => {
  const total = 2 ** 30
  let written = 0
  const { attempt, delivery } = await deliverOne((response) => {
    const chunk = Buffer.concat([Buffer.from('\u0000\u00e9'), Buffer.from([0xff]), Buffer.alloc(65_536 - 4, 'x')])
    const more = () => {
      while (written < total && !response.destroyed) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  assert.equal(delivery.status, 'Delivered')
  assert.ok(written < total / 16, `${written} bytes were sent`)
  assert.ok(attempt.responseBody?.startsWith('\uFFFD\u00e9\uFFFDxxx'))
  assert.equal(attempt.responseBody?.length, 8192 - 1)
})

test('a redirect is a failure and is not followed', async () => {
  const target = await listen()
  const { attempt, delivery } = await deliverOne((response) => response.writeHead(302, { location: target.url }).end())
  assert.deepEqual([attempt.status, delivery.status, target.received.length], [302, 'Pending', 0])
})

test('410 disables the subscription', async () => {
  const { attempt, delivery } = await deliverOne((response) => response.writeHead(410).end())
  assert.deepEqual([attempt.status, delivery.status], [410, 'Held'])
})

test('429 with Retry-After delays the next attempt', async () => {
  const { attempt, delivery } = await deliverOne((response) => response.writeHead(429, { 'retry-after': '900' }).end())
  assert.equal(attempt.status, 429)
  assert.equal(delivery.nextAttemptAt?.getTime(), hooks.clock.now().getTime() + 900_000)
})

test('an endpoint that does not speak HTTP, or has no listener, fails', async () => {
  const { attempt } = await deliverOne((response) => response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n'))
  assert.deepEqual([attempt.error, attempt.status], ['the response is not valid HTTP', null])
  const closed = await startEndpoint()
  await closed.close()
  const partnerId = await hooks.addPartner()
  const { settled, deliveries } = await subscribe(partnerId, closed.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  start()
  await settled()
  assert.equal((await deliveries())[0]?.attempts[0]?.error, 'the endpoint refused the connection')
})

test('a slow endpoint does not delay another endpoint', async () => {
  const open: ServerResponse[] = []
  const slow = await listen((response) => open.push(response))
  const fast = await listen()
  const partnerId = await hooks.addPartner()
  await subscribe(partnerId, slow.url)
  const { settled } = await subscribe(partnerId, fast.url)
  for (let i = 0; i < 40; i += 1) await hooks.emit(partnerId, `R-${i}`, 'Completed')
  start({ inFlightMax: 12 })
  await settled(40)
  assert.equal(fast.received.length, 40)
  // The last free slots are not for the partner that holds most.
  assert.ok(slow.received.length >= 6 && slow.received.length <= 10, `${slow.received.length} at once`)
  open.forEach((response) => response.end())
})

test('two concurrent workers attempt each delivery exactly once', async () => {
  const under = new Set<string>()
  const twice: string[] = []
  const endpoint = await listen((response, { eventId }) => {
    if (under.has(eventId)) twice.push(eventId)
    under.add(eventId)
    setTimeout(() => response.end(), 5)
  })
  const partnerId = await hooks.addPartner()
  const { settled } = await subscribe(partnerId, endpoint.url)
  const other = await createHooks({ url: hooks.url, key: hooks.key, now: hooks.clock.now() })
  try {
    for (let i = 0; i < 60; i += 1) await hooks.emit(partnerId, `R-${i}`, 'a', 'b')
    start()
    start({ db: other.db, webhooks: other.webhooks, clock: other.clock })
    await settled(120)
    assert.deepEqual([twice, endpoint.received.length], [[], 120])
  } finally {
    await Promise.all(running.splice(0).map((loop) => loop.stop()))
    await other.close()
  }
})

test('a delivery whose worker is killed before recording it is delivered again under the same eventId', async () => {
  const partnerId = await hooks.addPartner()
  let kill: (() => void) | undefined
  const endpoint = await listen((response) => {
    kill?.()
    response.end()
  })
  const { deliveries } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  const worker = startWorker('deliveries', hooks, { key: Buffer.from(hooks.key).toString('hex') })
  const exited = new Promise<NodeJS.Signals | null>((resolve) =>
    worker.once('exit', (_code, signal) => resolve(signal)),
  )
  kill = () => worker.kill('SIGKILL')
  assert.equal(await exited, 'SIGKILL')
  kill = undefined
  assert.equal(endpoint.received.length, 1)
  assert.deepEqual(
    (await deliveries()).map((row) => [row.status, row.attemptCount]),
    [['Pending', 0]],
  )
  hooks.clock.advance(2 * deliveryLimitsDefault.leaseMs)
  start()
  await until('delivered', async () => (await deliveries())[0]?.status === 'Delivered')
  const [first, second] = endpoint.received
  assert.equal(endpoint.received.length, 2)
  assert.equal(first?.body, second?.body)
})

test('stop waits for an attempt in flight and records it', async () => {
  const open: ServerResponse[] = []
  const endpoint = await listen((response) => open.push(response))
  const partnerId = await hooks.addPartner()
  const { deliveries } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  const loop = start({ drainMs: 5000 })
  await until('under way', () => open.length === 1)
  const stopped = loop.stop()
  open.forEach((response) => response.end())
  await stopped
  assert.equal((await deliveries())[0]?.status, 'Delivered')
})

test('stop abandons a slow attempt and releases its endpoint queue: the next worker attempts it at once', async () => {
  let answering = false
  const endpoint = await listen((response) => answering && response.end())
  const partnerId = await hooks.addPartner()
  const { deliveries } = await subscribe(partnerId, endpoint.url)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  const loop = start({ drainMs: 20 })
  await until('under way', () => endpoint.received.length === 1)
  await loop.stop()
  assert.deepEqual(
    (await deliveries()).map((row) => [row.status, row.attemptCount]),
    [['Pending', 0]],
  )
  answering = true
  start()
  await until('delivered', async () => (await deliveries())[0]?.status === 'Delivered')
  assert.equal(endpoint.received[0]?.eventId, endpoint.received[1]?.eventId)
})

test('a fan-out that fails for one partner does not delay other partners', async () => {
  const [broken, sound] = [await hooks.addPartner(), await hooks.addPartner()]
  const endpoint = await listen()
  await subscribe(broken, endpoint.url)
  const { settled } = await subscribe(sound, endpoint.url)
  await hooks.emit(broken, 'REF-1', 'Completed')
  await hooks.emit(sound, 'REF-2', 'Completed')
  const fanOut: typeof hooks.webhooks.fanOut = (tx, partnerIds, ...rest) =>
    partnerIds.includes(broken) ? Promise.reject(new Error(newId())) : hooks.webhooks.fanOut(tx, partnerIds, ...rest)
  start({ webhooks: { ...hooks.webhooks, fanOut } })
  await settled()
  assert.deepEqual(
    endpoint.received.map((one) => one.reference),
    ['REF-2'],
  )
  await hooks.fanOut(broken)
})

test('a subscription whose secret cannot be decrypted does not delay other subscriptions', async () => {
  const endpoint = await listen()
  const partnerId = await hooks.addPartner()
  const broken = await subscribe(partnerId, endpoint.url)
  const { settled } = await subscribe(partnerId, endpoint.url)
  await hooks.db.run(sql`
    update delivery.secrets set secret_sealed = 'x'
    where partner_id = ${partnerId} and subscription_id = ${broken.id}`)
  await hooks.emit(partnerId, 'REF-1', 'Completed')
  start({ inFlightMax: 1 })
  await settled()
  assert.equal(endpoint.received.length, 1)
  assert.deepEqual(
    (await broken.deliveries()).map((row) => [row.status, row.attemptCount]),
    [['Pending', 0]],
  )
})
