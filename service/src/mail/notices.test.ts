/** Notices of failing endpoints, with a real database on one side and a real SMTP conversation on the other. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { until } from '../../../test/support/until.ts'
import { createAccess } from '../access/index.ts'
import { createCursors } from '../api/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { createLog, createSealer, dayMs, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createUsers } from '../modules/users/index.ts'
import { addNotice, type NewNotice, noticeQueue } from '../delivery/index.ts'
import { createNoticeStep, startNoticeWorker } from './notices.ts'
import { smtpTransport } from './smtp.ts'

const start = new Date('2026-11-21T08:00:00.000Z')
const from = { name: 'Acme Payments', address: 'no-reply@acme.example' }
const quiet = createLog('silent')
let testDatabase: TestDatabase
let db: Database
const cleanUps: (() => Promise<unknown>)[] = []

before(async () => {
  testDatabase = await createTestDatabase()
  db = createDatabase({ url: testDatabase.url, connectionsMax: 5, log: quiet })
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  // Each test owns the whole queue.
  await db.run(sql`delete from delivery.notices`)
})
after(async () => {
  await db.close()
  await testDatabase.drop()
})

async function serve(options: Parameters<typeof mailServer>[0] = {}) {
  const server = await mailServer(options)
  cleanUps.push(server.stop)
  return server
}

const subscriptionId = newId()
const failing: Omit<NewNotice, 'partnerId'> = {
  subscriptionId,
  kind: 'Failing24h',
  url: 'https://hooks.example.com:8443/in/bound?key=partners-secret',
  failingSince: new Date('2026-11-20T08:00:00.000Z'),
  lastError: 'the endpoint refused the connection',
}

async function setUp(url: string) {
  const clock = createManualClock(start)
  const sealer = createSealer([Buffer.alloc(32, 1)])
  const access = createAccess({ db, clock, sealer })
  const partnerId = await access.createPartner(db, 'Acme')
  const users = createUsers({ db, clock, sealer, cursors: createCursors(Buffer.alloc(32, 2)), sandbox: true })
  const caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper' }
  const invite = async (name: string, role: 'Admin' | 'Developer' | 'Operator') => {
    const entry = { email: `${name}@example.com`, fullName: `${name} Example`, role, redirectUrl: null }
    const [invitation] = await users.createInvitations(caller, { invitations: [entry] })
    assert(invitation)
    return invitation.id
  }
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: (line: string) => lines.push(JSON.parse(line) as never) } as never)
  const limits = { connectTimeoutMs: 2000, greetingTimeoutMs: 300, idleTimeoutMs: 2000, sendTimeoutMs: 5000 }
  const deps = { db, clock, log, notices: noticeQueue, users, access, transport: smtpTransport(url, limits), from }
  const notice = (given: Partial<NewNotice> = {}) =>
    db.transaction((tx) => addNotice(tx, { ...failing, ...given, partnerId }, clock.now()))
  const row = () =>
    db.row<{ id: string; mailDueAt: Date | null; mailAttempts: number; mailDone: readonly string[] }>(
      sql`select id, mail_due_at, mail_attempts, mail_done from delivery.notices where partner_id = ${partnerId}
        order by id desc limit 1`,
    )
  return { clock, users, partnerId, invite, notice, deps, step: createNoticeStep(deps), row, lines }
}

const addressees = (received: readonly { readonly to: readonly string[] }[]) =>
  received.flatMap(({ to }) => to).toSorted()

test('each Admin and Developer gets one mail, with a Message-ID of its own; nobody else does', async () => {
  const server = await serve()
  const { step, row, invite, notice, users, partnerId } = await setUp(server.url)
  await invite('ada', 'Admin')
  await invite('dan', 'Developer')
  await invite('oto', 'Operator')
  await users.revokeInvitation(partnerId, await invite('rea', 'Admin'))
  await notice()
  assert.equal(await step(), 1)
  assert.equal(await step(), 0)
  assert.deepEqual(addressees(server.received), ['ada@example.com', 'dan@example.com'])
  const ids = server.received.map(({ source }) => readMail(source).one('Message-ID'))
  const told = await row()
  assert.equal(new Set(ids).size, 2)
  for (const id of ids) assert.ok(id.startsWith(`<${told?.id}.`) && id.endsWith('@acme.example>'), id)
  assert.deepEqual([told?.mailDueAt, told?.mailAttempts], [null, 1])
})

test('the mail says what fails, since when, why, and what to do; the query of the URL is not in it', async () => {
  const server = await serve()
  const { step, invite, notice } = await setUp(server.url)
  await invite('ada', 'Admin')
  await notice()
  await step()
  const { one, text } = readMail(server.received[0]?.source ?? '')
  assert.equal(one('To'), 'ada Example <ada@example.com>')
  assert.equal(one('Subject'), 'Webhooks to hooks.example.com:8443 have failed for 24 hours')
  assert.equal(one('Auto-Submitted'), 'auto-generated')
  for (const said of [
    'Hello ada Example,',
    'webhooks of Acme.',
    'https://hooks.example.com:8443/in/bound?...',
    subscriptionId,
    '20 November 2026 at 08:00 UTC',
    'Last error: the endpoint refused the connection',
    `GET /v1/webhooks/${subscriptionId}/deliveries`,
    'After 5 days of failing the endpoint is disabled.',
  ])
    assert.ok(text.includes(said), said)
  assert.doesNotMatch(server.received[0]?.source ?? '', /partners-secret/)
  assert.doesNotMatch(text, /enable/)
})

test('a mail for each kind; those of a disabled endpoint say how to enable it', async () => {
  const server = await serve()
  const { step, invite, notice } = await setUp(server.url)
  await invite('ada', 'Admin')
  const subjects: Readonly<Record<NewNotice['kind'], string>> = {
    Failing24h: 'Webhooks to hooks.example.com:8443 have failed for 24 hours',
    Failing72h: 'Webhooks to hooks.example.com:8443 have failed for 72 hours',
    DisabledFailing: 'Webhooks to hooks.example.com:8443 are disabled: they failed for 5 days',
    DisabledGone: 'Webhooks to hooks.example.com:8443 are disabled: the endpoint answered 410 Gone',
  }
  for (const kind of Object.keys(subjects) as NewNotice['kind'][]) {
    await notice({ kind, ...(kind === 'DisabledGone' ? { failingSince: null, lastError: null } : {}) })
    assert.equal(await step(), 1)
    const { one, text } = readMail(server.received.at(-1)?.source ?? '')
    assert.equal(one('Subject'), subjects[kind])
    const disabled = kind === 'DisabledFailing' || kind === 'DisabledGone'
    assert.equal(text.includes(`POST /v1/webhooks/${subscriptionId}/enable`), disabled)
    assert.equal(text.includes('Disabled at: 21 November 2026 at 08:00 UTC'), disabled)
    assert.equal(text.includes('No delivery has succeeded since'), kind !== 'DisabledGone')
    assert.equal(text.includes('Last error'), kind !== 'DisabledGone')
  }
})

test('the newest invitation of an address counts, and a spelling does not make a second person', async () => {
  const server = await serve()
  const { step, invite, notice, clock } = await setUp(server.url)
  await invite('ada', 'Developer')
  clock.advance(8 * dayMs)
  await invite('Ada', 'Admin')
  await invite('dan', 'Admin')
  clock.advance(8 * dayMs)
  await invite('dan', 'Operator')
  await notice()
  await step()
  assert.deepEqual(addressees(server.received), ['Ada@example.com'])
})

test('a transaction that is rolled back tells nobody; a partner without people to tell ends the notice', async () => {
  const server = await serve()
  const { step, deps, partnerId, clock, notice, row, lines } = await setUp(server.url)
  const rollBack = deps.db.transaction(async (tx) => {
    await addNotice(tx, { ...failing, partnerId }, clock.now())
    throw new Error('no')
  })
  await assert.rejects(rollBack, /no/)
  assert.equal(await step(), 0)
  await notice()
  assert.equal(await step(), 1)
  assert.equal(await step(), 0)
  assert.equal((await row())?.mailDueAt, null)
  assert.match(String(lines.at(-1)?.['msg']), /nobody to tell/)
  assert.equal(server.received.length, 0)
})

test('a server that says 451 to one is asked again for that one only, a minute later', async () => {
  let later = 1
  const server = await serve({ rcpt: (address) => (address.startsWith('dan') && later-- > 0 ? 451 : undefined) })
  const { step, invite, notice, clock, row, lines } = await setUp(server.url)
  await invite('ada', 'Admin')
  await invite('dan', 'Developer')
  await notice()
  await step()
  assert.deepEqual(addressees(server.received), ['ada@example.com'])
  const waiting = await row()
  assert.deepEqual([waiting?.mailDueAt, waiting?.mailDone], [new Date(start.getTime() + minuteMs), ['ada@example.com']])
  assert(!JSON.stringify(lines).includes('example.com'), 'no address in the log')
  clock.advance(minuteMs - 1)
  assert.equal(await step(), 0)
  clock.advance(1)
  assert.equal(await step(), 1)
  assert.deepEqual(addressees(server.received), ['ada@example.com', 'dan@example.com'])
  assert.equal((await row())?.mailDueAt, null)
})

test('a recipient refused for good is given up; the others get theirs, once', async () => {
  const server = await serve({ rcpt: (address) => (address.startsWith('gone') ? 550 : undefined) })
  const { step, invite, notice, row, lines } = await setUp(server.url)
  for (const name of ['ada', 'gone', 'eve']) await invite(name, 'Admin')
  await notice()
  assert.equal(await step(), 1)
  assert.deepEqual(addressees(server.received), ['ada@example.com', 'eve@example.com'])
  assert.equal((await row())?.mailDueAt, null)
  assert.deepEqual(
    lines.map(({ level, msg, responseCode }) => [level, msg, responseCode]),
    [['error', 'notice given up for one recipient', 550]],
  )
})

test('a server that is down: tried for a day, then given up for all to see', async () => {
  const server = await mailServer()
  await server.stop()
  const { step, invite, notice, clock, row, lines } = await setUp(server.url)
  await invite('ada', 'Admin')
  await notice()
  const minutes: number[] = []
  for (let state = await row(); state?.mailDueAt; state = await row()) {
    clock.advance(state.mailDueAt.getTime() - clock.now().getTime())
    minutes.push((clock.now().getTime() - start.getTime()) / minuteMs)
    assert.equal(await step(), 1)
  }
  assert.deepEqual(minutes, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1440])
  assert.equal(lines.at(-1)?.['msg'], 'notice given up')
  assert.equal(await step(), 0)
})

test('a worker that dies between two recipients: the first is not told again, the others are, when the lease ends', async () => {
  const server = await serve()
  const { step, invite, notice, clock, deps } = await setUp(server.url)
  for (const name of ['ada', 'bob', 'cyd']) await invite(name, 'Admin')
  await notice()
  let recorded = 0
  const dying = createNoticeStep({
    ...deps,
    notices: {
      ...deps.notices,
      recordDone: (...given) =>
        recorded++ === 0 ? deps.notices.recordDone(...given) : Promise.reject(new Error('died')),
    },
  })
  await assert.rejects(dying(), /died/)
  await until('all three were sent', () => server.received.length === 3)
  clock.advance(5 * minuteMs - 1)
  assert.equal(await step(), 0)
  clock.advance(1)
  assert.equal(await step(), 1)
  assert.equal(server.received.length, 5, 'two were sent and not recorded')
  const ids = server.received.map(({ source }) => readMail(source).one('Message-ID'))
  assert.equal(new Set(ids).size, 3, 'who gets it twice can tell')
})

test('a worker whose lease has ended records nothing', async () => {
  const server = await serve()
  const { invite, notice, clock, partnerId, row } = await setUp(server.url)
  await invite('ada', 'Admin')
  await notice()
  const [stale] = await noticeQueue.claimNotices(db, partnerId, clock.now(), minuteMs, 1)
  assert(stale)
  assert.deepEqual(await noticeQueue.claimNotices(db, partnerId, clock.now(), minuteMs, 1), [])
  clock.advance(minuteMs)
  const [fresh] = await noticeQueue.claimNotices(db, partnerId, clock.now(), minuteMs, 1)
  assert(fresh)
  assert.equal(await noticeQueue.recordDone(db, stale, 'ada@example.com'), false)
  assert.equal(await noticeQueue.endNotice(db, stale, null), false)
  assert.deepEqual((await row())?.mailDone, [])
  assert.equal(await noticeQueue.recordDone(db, fresh, 'ada@example.com'), true)
  assert.equal(await noticeQueue.endNotice(db, fresh, null), true)
  assert.equal(await noticeQueue.endNotice(db, fresh, clock.now()), false)
})

test('many workers at once: one mail for each notice and person', async () => {
  const server = await serve()
  const { invite, notice, deps } = await setUp(server.url)
  for (const name of ['ada', 'bob']) await invite(name, 'Admin')
  for (let index = 0; index < 6; index += 1) await notice()
  const loops = [1, 2, 3, 4].map(() => startNoticeWorker({ ...deps, idleMs: 1 }))
  await until('all sent', () => server.received.length >= 12)
  await Promise.all(loops.map((loop) => loop.stop()))
  const ids = server.received.map(({ source }) => readMail(source).one('Message-ID'))
  assert.deepEqual([ids.length, new Set(ids).size], [12, 12])
})

test('notices are kept for 30 days, and longer only while they are still to be sent', async () => {
  const { notice, partnerId, clock } = await setUp('smtp://127.0.0.1:1')
  const kinds = async () =>
    (
      await db.rows<{ kind: string }>(
        sql`select kind from delivery.notices where partner_id = ${partnerId} order by created_at`,
      )
    ).map(({ kind }) => kind)
  await notice({ kind: 'Failing24h' })
  const [told] = await noticeQueue.claimNotices(db, partnerId, clock.now(), minuteMs, 1)
  assert(told)
  await noticeQueue.endNotice(db, told, null)
  await notice({ kind: 'Failing72h' })
  clock.advance(30 * dayMs)
  await notice({ kind: 'DisabledFailing' })
  assert.deepEqual(await kinds(), ['Failing24h', 'Failing72h', 'DisabledFailing'])
  clock.advance(1)
  await notice({ kind: 'DisabledGone' })
  assert.deepEqual(await kinds(), ['Failing72h', 'DisabledFailing', 'DisabledGone'])
})
