/**
 * The delivery worker dies by SIGKILL during fan-out, before a POST, after it and while it is recorded; a new worker goes
 * on. Every endpoint gets each event at least once and always under the same eventId, and nothing that never happened.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startDelivery } from '../../service/src/delivery/index.ts'
import { newId, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { limitsDefault } from '../../service/src/delivery/index.ts'
import { killEverywhere } from '../support/crash-points.ts'
import { print, verifyAt } from '../support/faults.ts'
import { reconcile } from '../support/reconcile.ts'
import { until } from '../support/until.ts'
import { createHooks, type Endpoint, startEndpoint, statusChanged } from '../support/webhooks.ts'

/** Fan-out, the claim of endpoint queues, an answer for each delivery, and a record of several at once; the endpoint queues given back. */
const pointsMin = 2 + 2 + 4 + 2 + 2

let hooks: Awaited<ReturnType<typeof createHooks>>
let endpoint: Endpoint
before(async () => {
  hooks = await createHooks()
  endpoint = await startEndpoint()
})
after(async () => {
  await endpoint.close()
  await hooks.close()
})

type Owed = { readonly eventId: string; readonly path: string; readonly data: string }

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

async function goOn(partnerId: string): Promise<void> {
  const { db, clock, log, webhooks } = hooks
  clock.advance(2 * limitsDefault.leaseMs)
  const loop = startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 5 })
  await until('everything is delivered', async () => {
    const [first, ...rest] = await reconcile(db, partnerId)
    return [first, ...rest].every((row) => row?.owed === 2n && row.delivered === 2n)
  })
  await loop.stop()
}

const told = { owed: 0, received: 0, distinct: 0, duplicates: 0 }

async function checkReceived({ partnerId, secrets, references }: Awaited<ReturnType<typeof scenario>>): Promise<void> {
  const owed = await hooks.db.rows<Owed>(sql`
    select d.wire_event_id as event_id, e.data, substring(s.url from '/hook.*') as path
    from delivery.deliveries d
    join delivery.subscriptions s on s.partner_id = d.partner_id and s.id = d.subscription_id
    join events.events e on e.partner_id = d.partner_id and e.id = d.event_id
    where d.partner_id = ${partnerId} order by d.wire_event_id`)
  const received = endpoint.received.filter(({ reference }) => references.includes(reference))
  const bodies = new Set(received.map(({ path, body }) => `${path} ${body}`))
  const expected = owed.map(({ eventId, data, path }) => `${path} {"eventId":"${eventId}","data":${data}}`)
  assert.equal(owed.length, 4)
  assert.deepEqual([...bodies].toSorted(), expected.toSorted(), 'each of them, the same at every try, and no other')
  for (const post of received)
    verifyAt(new Date(Number(post.headers['webhook-timestamp']) * secondMs), secrets.get(post.path) ?? '', post)
  told.owed += owed.length
  told.received += received.length
  told.distinct += bodies.size
  told.duplicates += received.length - bodies.size
  assert.ok(received.length <= 2 * owed.length, 'one try of the dead one, one of its successor')
}

test('killed at any point, the worker has lost no event and invented none', async (t) => {
  const points = await killEverywhere(t, 'delivery-child.ts', async (runChild) => {
    const scene = await scenario()
    const { partnerId } = scene
    const key = Buffer.from(hooks.key).toString('hex')
    await runChild(hooks.url, key, partnerId, hooks.clock.now().toISOString())
    await goOn(partnerId)
    await checkReceived(scene)
  })
  print(t, told)
  assert.ok(points >= pointsMin, `only ${points} points were passed`)
})
