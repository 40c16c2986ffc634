import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { createLog, createSealer, dayMs, hourMs, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { createMailQueue } from './queue.ts'

const start = new Date('2026-11-21T08:00:00.000Z')
let testDatabase: TestDatabase
let db: Database

before(async () => {
  testDatabase = await createTestDatabase()
  db = createDatabase({ url: testDatabase.url, connectionsMax: 5, log: createLog('silent') })
})
after(async () => {
  await db.close()
  await testDatabase.drop()
})

/** A partner of its own for each test, and a manual clock. */
async function setUp() {
  const partnerId = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Acme', ${start})`)
  const clock = createManualClock(start)
  const queue = createMailQueue({ clock, sealer: createSealer([Buffer.alloc(32, 1)]) })
  const mailTo = (address: string, secret: string | null = null, subjectId = newId()) => ({
    kind: 'greeting',
    subjectId,
    to: { name: `Name of ${address}`, address },
    data: { word: 'hello' },
    secret,
    expiresAt: null,
  })
  const enqueue = (...addresses: readonly string[]) =>
    queue.enqueue(
      db,
      partnerId,
      addresses.map((address) => mailTo(address)),
    )
  const statuses = async () =>
    (
      await db.rows<{ toAddress: string; status: string }>(
        sql`select to_address, status from mail.messages where partner_id = ${partnerId} order by id`,
      )
    ).map(({ toAddress, status }) => `${toAddress} ${status}`)
  return { partnerId, clock, queue, mailTo, enqueue, statuses }
}

test('a mail is queued with its transaction, and not at all if that is rolled back', async () => {
  const { partnerId, queue, mailTo, statuses } = await setUp()
  await queue.enqueue(db, partnerId, [])
  const rolledBack = db.transaction(async (tx) => {
    await queue.enqueue(tx, partnerId, [mailTo('a@example.com')])
    throw new Error('no')
  })
  await assert.rejects(rolledBack, /no/)
  assert.deepEqual(await statuses(), [])
  await db.transaction((tx) => queue.enqueue(tx, partnerId, [mailTo('a@example.com'), mailTo('b@example.com')]))
  assert.deepEqual(await statuses(), ['a@example.com pending', 'b@example.com pending'])
})

test('data may contain any text except a null character', async () => {
  const { partnerId, queue, mailTo } = await setUp()
  const data = { word: '"\\\u001e\n{},', other: '\ud800x', nothing: null }
  await queue.enqueue(db, partnerId, [{ ...mailTo('a@example.com'), data }])
  const [claimed] = await queue.claim(db, partnerId, minuteMs, 1)
  assert.deepEqual(JSON.parse(claimed?.data ?? ''), { ...data, other: '\ufffdx' })
})

test('only the holder of the lease records, and a mail is due again when the lease ends', async () => {
  const { partnerId, clock, queue, enqueue } = await setUp()
  await enqueue('a@example.com', 'b@example.com', 'c@example.com')
  const claim = () => queue.claim(db, partnerId, minuteMs, 2)
  // The second claim runs before the first commits: it neither waits nor takes the same mails.
  const claims = await db.transaction(async (tx) => [await queue.claim(tx, partnerId, minuteMs, 2), await claim()])
  const ids = claims.flat().map(({ id }) => id)
  assert.deepEqual([ids.length, new Set(ids).size], [3, 3])
  assert.deepEqual(await claim(), [])
  const due = async () => (await queue.partnersWithDueMail(db, 1000)).includes(partnerId)
  assert.equal(await due(), false)
  clock.advance(minuteMs)
  assert.equal(await due(), true)
  const [held] = await queue.claim(db, partnerId, minuteMs, 3)
  const former = claims.flat().find(({ id }) => id === held?.id)
  assert(held && former)
  assert.equal(held.attempts, 2)
  assert.equal(await queue.recordSent(db, former), false)
  assert.equal(await queue.recordFailure(db, former, 'late', null), false)
  const next = new Date(clock.now().getTime() + hourMs)
  assert.equal(await queue.recordFailure(db, held, 'not now', next), true)
  assert.equal(await queue.recordSent(db, held), false)
})

test('a secret is stored sealed, and erased when its mail is sent, given up or ended', async () => {
  const { partnerId, queue, mailTo } = await setUp()
  const subjectId = newId()
  await queue.enqueue(db, partnerId, [
    mailTo('a@example.com', 'SECRET-A'),
    mailTo('b@example.com', 'SECRET-B'),
    mailTo('c@example.com', 'SECRET-C', subjectId),
    mailTo('d@example.com'),
  ])
  const everything = async () =>
    (
      await db.rows<{ row: string }>(
        sql`select messages::text as row from mail.messages where partner_id = ${partnerId}`,
      )
    )
      .map(({ row }) => row)
      .join('\n')
  const claimed = await queue.claim(db, partnerId, minuteMs, 10)
  assert.deepEqual(claimed.map(queue.secretOf), ['SECRET-A', 'SECRET-B', 'SECRET-C', null])
  const sealed = claimed.flatMap(({ secretSealed }) =>
    secretSealed ? [Buffer.from(secretSealed).toString('hex')] : [],
  )
  const before = await everything()
  assert(sealed.length === 3 && sealed.every((hex) => before.includes(hex)))
  for (const form of ['SECRET-', Buffer.from('SECRET-').toString('hex')]) assert(!before.includes(form))
  const [sent, failed] = claimed
  assert(sent && failed)
  assert.equal(await queue.recordSent(db, sent), true)
  assert.equal(await queue.recordFailure(db, failed, 'refused', null), true)
  await queue.endPending(db, partnerId, subjectId, 'superseded')
  const after = await everything()
  for (const hex of sealed) assert(!after.includes(hex))
})

test('`endPending` ends the pending mails of its subject only, also those under a lease', async () => {
  const { partnerId, queue, mailTo, statuses } = await setUp()
  const subjectId = newId()
  await queue.enqueue(db, partnerId, [mailTo('sent@example.com', null, subjectId)])
  const [sent] = await queue.claim(db, partnerId, minuteMs, 1)
  assert(sent)
  await queue.recordSent(db, sent)
  await queue.enqueue(db, partnerId, [mailTo('held@example.com', null, subjectId)])
  const [held] = await queue.claim(db, partnerId, minuteMs, 1)
  assert(held)
  await queue.enqueue(db, partnerId, [mailTo('queued@example.com', null, subjectId), mailTo('other@example.com')])
  await queue.endPending(db, partnerId, subjectId, 'superseded')
  assert.deepEqual(await statuses(), [
    'sent@example.com sent',
    'held@example.com failed',
    'queued@example.com failed',
    'other@example.com pending',
  ])
  assert.equal(await queue.recordSent(db, held), false)
})

test('an ended mail is kept for 30 days, a pending one for as long as it is pending', async () => {
  const { partnerId, clock, queue, enqueue, statuses } = await setUp()
  await enqueue('sent@example.com')
  const [sent] = await queue.claim(db, partnerId, minuteMs, 1)
  assert(sent)
  await queue.recordSent(db, sent)
  await enqueue('pending@example.com')
  clock.advance(30 * dayMs)
  await queue.deleteOld(db, partnerId)
  assert.deepEqual(await statuses(), ['sent@example.com sent', 'pending@example.com pending'])
  clock.advance(1)
  await queue.deleteOld(db, partnerId)
  assert.deepEqual(await statuses(), ['pending@example.com pending'])
})
