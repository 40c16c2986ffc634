import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { type RunningJobs, startJobs } from '../postgres/jobs/index.ts'
import { createLog, newId, systemClock } from '../kernel/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { type EndpointState, endpointStatistics } from './statistics-collector.ts'
import { statisticsJob } from './index.ts'

const now = new Date('2026-11-21T08:00:00.000Z')
const log = createLog('silent')
const loops: RunningJobs[] = []
const testDatabase = await createTestDatabase()
const db = untilEnd(createDatabase({ url: testDatabase.url, connectionsMax: 4, log }))
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()))
})
after(() => testDatabase.drop())

async function addPartner() {
  const id = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Test', ${now})`)
  await db.run(sql`
    insert into delivery.partners (partner_id, subscriptions, last_sequence) values (${id}, 0, 0)`)
  return id
}

async function addEndpoint(
  partnerId: string,
  { owed = 0, status = 'Enabled', probeMs = null as number | null, failingSince = null as Date | null } = {},
) {
  const id = newId()
  const disabled = status === 'Disabled' ? now : null
  await db.run(sql`
    insert into delivery.subscriptions (partner_id, id, url, events, status, created_at, updated_at, disabled_reason,
      disabled_at)
    values (${partnerId}, ${id}, 'https://hooks.test/', '{}', ${status}, ${now}, ${now},
      ${disabled === null ? null : 'Partner'}, ${disabled})`)
  await db.run(sql`
    insert into delivery.endpoint_queues (partner_id, subscription_id, owed, probe_ms, failing_since)
    values (${partnerId}, ${id}, ${owed}, ${probeMs}, ${failingSince})`)
  return id
}

async function queue(partnerId: string, subscriptionId: string, status: 'Pending' | 'Held', createdAt = now) {
  await db.run(sql`
    insert into delivery.queue (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference, status,
      attempt_count, failures, held_at, created_at)
    values (${partnerId}, ${subscriptionId}, ${newId()}, 1, ${newId()}, 't', 'R', ${status}, 0, 0,
      ${status === 'Held' ? now : null}, ${createdAt})`)
}

async function delivered(partnerId: string, subscriptionId: string) {
  await db.run(sql`
    insert into delivery.deliveries (partner_id, subscription_id, event_id, sequence, wire_event_id, type, reference,
      attempt_count, created_at, delivered_at)
    values (${partnerId}, ${subscriptionId}, ${newId()}, 1, ${newId()}, 't', 'R', 1, ${now}, ${now})`)
}

const countsOf = ({ owed, delivered: done, pending, held }: EndpointState) => ({ owed, delivered: done, pending, held })

test('statistics count each endpoint of a partner, and nothing of another partner', async () => {
  const [partnerId, other] = [await addPartner(), await addPartner()]
  const earlier = new Date(now.getTime() - 1000)
  const failing = await addEndpoint(partnerId, { owed: 6, probeMs: 30_000, failingSince: earlier })
  const idle = await addEndpoint(partnerId)
  const foreign = await addEndpoint(other, { owed: 1 })
  await queue(partnerId, failing, 'Pending')
  await queue(partnerId, failing, 'Pending', earlier)
  await queue(partnerId, failing, 'Held', new Date(0))
  for (let each = 0; each < 3; each += 1) await delivered(partnerId, failing)
  await queue(other, foreign, 'Pending')
  const [first, second] = await endpointStatistics.endpointsOf(db, partnerId)
  assert(first && second)
  assert.deepEqual([first.subscriptionId, second.subscriptionId], [failing, idle].toSorted())
  const byId = new Map([first, second].map((state) => [state.subscriptionId, state]))
  assert.deepEqual(byId.get(failing), {
    subscriptionId: failing,
    owed: 6,
    delivered: 3,
    pending: 2,
    held: 1,
    oldestPendingAt: earlier,
    failingSince: earlier,
    breakerOpen: true,
  })
  assert.deepEqual(byId.get(idle), {
    subscriptionId: idle,
    owed: 0,
    delivered: 0,
    pending: 0,
    held: 0,
    oldestPendingAt: null,
    failingSince: null,
    breakerOpen: false,
  })
  assert.deepEqual(await endpointStatistics.endpointsOf(db, newId()), [])
})

test('the pending deliveries of a disabled endpoint count as held, and a deleted endpoint is not counted', async () => {
  const partnerId = await addPartner()
  const disabled = await addEndpoint(partnerId, { owed: 2, status: 'Disabled' })
  const removed = await addEndpoint(partnerId, { owed: 1 })
  await queue(partnerId, disabled, 'Pending')
  await queue(partnerId, disabled, 'Held')
  await queue(partnerId, removed, 'Pending')
  await db.run(sql`
    update delivery.subscriptions set deleted_at = ${now} where partner_id = ${partnerId} and id = ${removed}`)
  const states = await endpointStatistics.endpointsOf(db, partnerId)
  assert.equal(states.length, 1)
  assert.deepEqual(states[0]?.subscriptionId, disabled)
  assert.deepEqual(states[0] && countsOf(states[0]), { owed: 2, delivered: 0, pending: 0, held: 2 })
  assert.equal(states[0]?.oldestPendingAt, null)
})

test('the collector counts every partner repeatedly, even if the count of one partner fails', async () => {
  const partners: string[] = []
  for (let each = 0; each < 5; each += 1) partners.push(await addPartner())
  const [, , broken = ''] = partners.toSorted()
  const seen = new Map<string, number>()
  const collector = statisticsJob({
    db,
    everyMs: 1,
    endpointStatistics: {
      partnersAfter: endpointStatistics.partnersAfter,
      endpointsOf: (tx, partnerId) =>
        partnerId === broken
          ? Promise.reject(new Error('count failed'))
          : endpointStatistics.endpointsOf(tx, partnerId),
    },
    observe: (partnerId) => seen.set(partnerId, (seen.get(partnerId) ?? 0) + 1),
  })
  loops.push(startJobs({ db, clock: systemClock, log, jobs: [collector] }))
  const others = partners.filter((partnerId) => partnerId !== broken)
  await until('each was counted twice', () => others.every((partnerId) => (seen.get(partnerId) ?? 0) >= 2))
  assert.equal(seen.has(broken), false)
})
