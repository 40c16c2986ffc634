/** Events are appended and taken in order, and the fan-out is woken after a commit. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, newId, nilId } from '../kernel/index.ts'
import { createDatabase, sql, type Tx } from '../postgres/index.ts'
import { createEventOutbox, type EventOutbox, sampleEvent } from './index.ts'

const database = await createTestDatabase()
const db = createDatabase({ url: database.url, connectionsMax: 2, log: createLog('silent') })
const now = new Date('2026-01-02T03:04:05.678Z')
const type = 'transaction.status.changed'
after(async () => {
  await db.close()
  await database.drop()
})

const addPartner = async () => {
  const partnerId = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Test', ${now})`)
  return partnerId
}
const append = (eventOutbox: EventOutbox, tx: Tx, partnerId: string) =>
  eventOutbox.append(tx, partnerId, type, now, sampleEvent(type, { partnerId, partnerName: 'Test', now }))

test('the fan-out is woken once after a commit with events, and not after other transactions', async () => {
  let woken = 0
  const eventOutbox = createEventOutbox()
  const unsubscribe = db.onWritten((tables) => {
    if (tables.has('events.pending')) woken += 1
  })
  const partnerId = await addPartner()
  await db.transaction(async (tx) => {
    append(eventOutbox, tx, partnerId)
    append(eventOutbox, tx, partnerId)
    await tx.row(sql`select 1 as one`)
    assert.equal(woken, 0)
  })
  assert.equal(woken, 1)
  const rolledBack = db.transaction(async (tx) => {
    append(eventOutbox, tx, partnerId)
    throw new Error('rolled back')
  })
  await assert.rejects(rolledBack, /rolled back/)
  await db.transaction(async (tx) => eventOutbox.appendMany(tx, []))
  await db.transaction((tx) => tx.row(sql`select 1 as one`))
  assert.equal(woken, 1)
  unsubscribe()
})

test('take returns the events of each partner oldest first, removes them, and leaves the rest', async () => {
  const eventOutbox = createEventOutbox()
  const partners = [await addPartner(), await addPartner()]
  for (let count = 0; count < 3; count += 1)
    for (const partnerId of partners) await db.transaction(async (tx) => append(eventOutbox, tx, partnerId))
  const take = (partnerIds: readonly string[], eventsMax: number) =>
    db.transaction((tx) => eventOutbox.takePending(tx, partnerIds, eventsMax))
  const both = await take(partners, 2)
  assert.deepEqual(both.map(({ partnerId }) => partnerId).toSorted(), [...partners, ...partners].toSorted())
  assert.deepEqual(
    both,
    both.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  )
  const [first, second] = partners
  assert.ok(first && second)
  assert.equal((await take([first], 9)).length, 1)
  assert.deepEqual(await take([first], 9), [])
  assert.ok((await eventOutbox.partnersWithPending(db, nilId, 9)).partnerIds.includes(second))
  assert.ok(!(await eventOutbox.partnersWithPending(db, nilId, 9)).partnerIds.includes(first))
  assert.ok(!(await eventOutbox.partnersWithPending(db, second, 9)).partnerIds.includes(second))
  const [rest] = await take([second], 9)
  assert.ok(rest && both.every(({ id }) => id < rest.id))
  const read = await eventOutbox.byIds(
    db,
    both.map(({ partnerId, id }) => ({ partnerId, eventId: id })),
  )
  assert.deepEqual(
    read.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    both,
  )
})
