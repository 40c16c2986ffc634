import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createLog, type Loop, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { endpointStatistics, type EndpointState } from './management/endpoint-statistics.ts'
import { startStatisticsCollector } from './index.ts'

const now = new Date('2026-11-21T08:00:00.000Z')
const log = createLog('silent')
let testDatabase: TestDatabase
let db: Database
const loops: Loop[] = []
before(async () => {
  testDatabase = await createTestDatabase()
  db = createDatabase({ url: testDatabase.url, connectionsMax: 4, log })
})
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()))
})
after(async () => {
  await db.close()
  await testDatabase.drop()
})

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

const counts = ({ owed, delivered: done, pending, held }: EndpointState) => [owed, done, pending, held]

test('each endpoint of a partner is counted, and what another partner has is not', async () => {
  const [partnerId, other] = [await addPartner(), await addPartner()]
  const earlier = new Date(now.getTime() - 1000)
  const sick = await addEndpoint(partnerId, { owed: 6, probeMs: 30_000, failingSince: earlier })
  const idle = await addEndpoint(partnerId)
  const strange = await addEndpoint(other, { owed: 1 })
  await queue(partnerId, sick, 'Pending')
  await queue(partnerId, sick, 'Pending', earlier)
  await queue(partnerId, sick, 'Held', new Date(0))
  for (let each = 0; each < 3; each += 1) await delivered(partnerId, sick)
  await queue(other, strange, 'Pending')
  const [first, second] = await endpointStatistics.endpointsOf(db, partnerId)
  assert(first && second)
  assert.deepEqual([first.subscriptionId, second.subscriptionId], [sick, idle].toSorted())
  const [one, two] = first.subscriptionId === sick ? [first, second] : [second, first]
  assert.deepEqual(
    [counts(one), one.breakerOpen, one.failingSince, one.oldestPendingAt],
    [[6, 3, 2, 1], true, earlier, earlier],
  )
  assert.deepEqual(
    [counts(two), two.breakerOpen, two.failingSince, two.oldestPendingAt],
    [[0, 0, 0, 0], false, null, null],
  )
  assert.deepEqual(await endpointStatistics.endpointsOf(db, newId()), [])
})

test('what a disabled endpoint is owed is held, and a removed one is not counted', async () => {
  const partnerId = await addPartner()
  const disabled = await addEndpoint(partnerId, { owed: 2, status: 'Disabled' })
  const removed = await addEndpoint(partnerId, { owed: 1 })
  await queue(partnerId, disabled, 'Pending')
  await queue(partnerId, disabled, 'Held')
  await queue(partnerId, removed, 'Pending')
  await db.run(sql`
    update delivery.subscriptions set deleted_at = ${now} where partner_id = ${partnerId} and id = ${removed}`)
  const states = await endpointStatistics.endpointsOf(db, partnerId)
  assert.deepEqual(
    states.map((state) => [state.subscriptionId, ...counts(state), state.oldestPendingAt]),
    [[disabled, 2, 0, 0, 2, null]],
  )
})

test('the walk comes to every partner, again and again, and one that cannot be counted holds up nobody', async () => {
  const partners: string[] = []
  for (let each = 0; each < 5; each += 1) partners.push(await addPartner())
  const [, , broken = ''] = partners.toSorted()
  const seen = new Map<string, number>()
  const counting = startStatisticsCollector({
    ...{ db, log, idleMs: 1 },
    endpointStatistics: {
      partnersAfter: endpointStatistics.partnersAfter,
      endpointsOf: (tx, partnerId) =>
        partnerId === broken ? Promise.reject(new Error('no')) : endpointStatistics.endpointsOf(tx, partnerId),
    },
    observe: (partnerId) => seen.set(partnerId, (seen.get(partnerId) ?? 0) + 1),
  })
  loops.push(counting)
  const sound = partners.filter((partnerId) => partnerId !== broken)
  await until('each was counted twice', () => sound.every((partnerId) => (seen.get(partnerId) ?? 0) >= 2))
  assert.equal(seen.has(broken), false)
})
