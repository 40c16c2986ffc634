/**
 * SIGKILL of the delivery worker during fan-out, before and after a POST, and while it records the result; a new worker
 * continues. Every endpoint receives each event at least once, always under the same eventId, and no unknown event.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { deliveryLimitsDefault } from '../../service/src/webhooks/index.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { untilEnd } from '../support/fixture.ts'
import { startDelivery } from '../support/jobs.ts'
import { printCounts, verifyAt } from '../support/faults.ts'
import { reconcile } from '../support/reconcile.ts'
import { until } from '../support/until.ts'
import { createHooks, startEndpoint, statusChanged } from '../support/webhooks.ts'

/**
 * Fan-out, four answers, and the recording of their results. The claim of the endpoint queues and their release are
 * commits of their own only in some runs: a fan-out may claim, and the last recording may release.
 */
const pointsMin = 2 + 4 + 2

const hooks = untilEnd(await createHooks())
const endpoint = untilEnd(await startEndpoint())

type ExpectedDelivery = { readonly eventId: string; readonly path: string; readonly data: string }

async function scenario() {
  const partnerId = await hooks.addPartner()
  const [one, other] = [newId(), newId()]
  const secrets = new Map<string, string>()
  for (const side of ['a', 'b']) {
    const url = `${endpoint.url}&side=${side}`
    const { secret = '' } = await hooks.webhooks.create(partnerId, { url, events: [statusChanged] })
    secrets.set(url.slice(url.indexOf('/hook')), secret)
  }
  await hooks.emit(partnerId, one, 'Completed')
  await hooks.emit(partnerId, other, 'Unsuccessful')
  return { partnerId, secrets, references: [one, other] }
}

async function finish(partnerId: string): Promise<void> {
  const { db, clock, log, webhooks } = hooks
  clock.advance(2 * deliveryLimitsDefault.leaseMs)
  const loop = startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 5 })
  await until('everything is delivered', async () => {
    const [first, ...rest] = await reconcile(db, partnerId)
    return [first, ...rest].every((row) => row?.owed === 2n && row.delivered === 2n)
  })
  await loop.stop()
}

const totals = { expected: 0, received: 0, distinct: 0, duplicates: 0 }

async function checkReceived({ partnerId, secrets, references }: Awaited<ReturnType<typeof scenario>>): Promise<void> {
  const deliveries = await hooks.db.rows<ExpectedDelivery>(sql`
    select delivery.wire_event_id as event_id, event.data, substring(subscription.url from '/hook.*') as path
    from delivery.deliveries as delivery
    join delivery.subscriptions as subscription
      on subscription.partner_id = delivery.partner_id and subscription.id = delivery.subscription_id
    join events.events as event on event.partner_id = delivery.partner_id and event.id = delivery.event_id
    where delivery.partner_id = ${partnerId} order by delivery.wire_event_id`)
  const received = endpoint.received.filter(({ reference }) => references.includes(reference))
  const bodies = new Set(received.map(({ path, body }) => `${path} ${body}`))
  const expected = deliveries.map(({ eventId, data, path }) => `${path} {"eventId":"${eventId}","data":${data}}`)
  assert.equal(deliveries.length, 4)
  assert.deepEqual(
    [...bodies].toSorted(),
    expected.toSorted(),
    'each event, with the same body at every attempt, and no other',
  )
  for (const post of received)
    verifyAt(new Date(Number(post.headers['webhook-timestamp']) * secondMs), secrets.get(post.path) ?? '', post)
  totals.expected += deliveries.length
  totals.received += received.length
  totals.distinct += bodies.size
  totals.duplicates += received.length - bodies.size
  assert.ok(received.length <= 2 * deliveries.length, 'at most one attempt of each worker')
}

test('a delivery worker killed at any point loses no event and sends no unknown event', async (t) => {
  await killAtCrashPoints(t, { worker: 'delivery', pointsMin }, async (runWorker) => {
    const scene = await scenario()
    const { partnerId } = scene
    const key = Buffer.from(hooks.key).toString('hex')
    await runWorker(hooks, { partnerId, key })
    await finish(partnerId)
    await checkReceived(scene)
  })
  printCounts(t, totals)
})
