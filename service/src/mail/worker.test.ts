/** The mail worker with a real database on one side and a real SMTP conversation on the other. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { createAccess } from '../access/index.ts'
import { createCursors } from '../api/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { createLog, createSealer, dayMs, hourMs, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createUsers } from '../modules/users/index.ts'
import { smtpTransport } from './smtp.ts'
import { createMailStep, startMailWorker } from './worker.ts'

const start = new Date('2026-11-21T08:00:00.000Z')
const from = { name: 'Acme Payments', address: 'no-reply@acme.example' }
const log = createLog('silent')
let testDatabase: TestDatabase
let db: Database
const cleanUps: (() => Promise<unknown>)[] = []

before(async () => {
  testDatabase = await createTestDatabase()
  db = createDatabase({ url: testDatabase.url, connectionsMax: 5, log })
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  // Each test owns the whole queue.
  await db.run(sql`delete from users.mails`)
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

async function setUp(url: string, partnerName = 'Acme') {
  const clock = createManualClock(start)
  const sealer = createSealer([Buffer.alloc(32, 1)])
  const access = createAccess({ db, clock, sealer })
  const partnerId = await access.createPartner(db, partnerName)
  const cursors = createCursors(Buffer.alloc(32, 2))
  const users = createUsers({
    db,
    clock,
    sealer,
    cursors,
    sandbox: true,
    invitationBaseUrl: 'https://portal.example/join',
  })
  const caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper' }
  const invite = (email: string, fullName = 'Ada Lovelace', redirectUrl: string | null = null) =>
    users.createInvitations(caller, { invitations: [{ email, fullName, role: 'Operator', redirectUrl }] })
  const lines: Record<string, unknown>[] = []
  const visible = createLog('info', { write: (line: string) => lines.push(JSON.parse(line) as never) } as never)
  const limits = { connectTimeoutMs: 2000, greetingTimeoutMs: 300, idleTimeoutMs: 2000, sendTimeoutMs: 5000 }
  const deps = { db, clock, log: visible, users, access, transport: smtpTransport(url, limits), from }
  const row = () =>
    db.row<{
      id: string
      status: string
      attempts: number
      lastError: string | null
      sealed: boolean
      nextAttemptAt: Date
    }>(
      sql`select id, status, attempts, last_error, token_sealed is not null as sealed, next_attempt_at
        from users.mails where partner_id = ${partnerId} order by id desc limit 1`,
    )
  return { clock, users, partnerId, invite, deps, step: createMailStep(deps), row, lines }
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('an invitation arrives: one mail, with a login, a working link and a Message-ID of its row', async () => {
  const logins: unknown[] = []
  const server = await serve({
    authOptional: false,
    onAuth: ({ username, password }, _session, done) => {
      logins.push([username, password])
      done(null, { user: username ?? '' })
    },
  })
  const { step, row, invite, users, partnerId, clock } = await setUp(
    server.url.replace('//', '//post%40acme:p%3Ass%2F@'),
  )
  await invite('ada@example.com', 'Ada Lovelace', 'https://a.example/welcome?plan=x%20y#top')
  assert.equal(await step(), 1)
  assert.equal(await step(), 0)
  assert.deepEqual(logins, [['post@acme', 'p:ss/']])
  const [mail] = server.received
  assert(mail && server.received.length === 1)
  assert.deepEqual([mail.from, mail.to], ['no-reply@acme.example', ['ada@example.com']])
  const { one, text } = readMail(mail.source)
  assert.equal(one('From'), 'Acme Payments <no-reply@acme.example>')
  assert.equal(one('To'), 'Ada Lovelace <ada@example.com>')
  assert.equal(one('Subject'), 'Grace Hopper invites you to Acme')
  assert.equal(one('Auto-Submitted'), 'auto-generated')
  const sent = await row()
  assert.equal(one('Message-ID'), `<${sent?.id}@acme.example>`)
  assert.match(text, /^https:\/\/a\.example\/welcome\?plan=x%20y&token=[A-Za-z0-9_-]{64}#top$/m)
  assert.deepEqual([sent?.status, sent?.attempts, sent?.sealed], ['sent', 1, false])
  assert.deepEqual(await users.claimMails(db, partnerId, new Date(clock.now().getTime() + dayMs), minuteMs, 9), [])
})

test('a server that says 451 is tried again a minute later, with the same Message-ID', async () => {
  let replies = 1
  const server = await serve({ rcpt: () => (replies-- > 0 ? 451 : undefined) })
  const { step, row, invite, clock, lines } = await setUp(server.url)
  await invite('ada@example.com')
  assert.equal(await step(), 1)
  const waiting = await row()
  assert.deepEqual([waiting?.status, waiting?.nextAttemptAt], ['pending', new Date(start.getTime() + minuteMs)])
  assert.match(waiting?.lastError ?? '', /451/)
  assert.deepEqual(
    lines.map(({ level, responseCode }) => [level, responseCode]),
    [['warn', 451]],
  )
  assert(!JSON.stringify(lines).includes('ada@'), 'no address in the log')
  clock.advance(minuteMs - 1)
  assert.equal(await step(), 0)
  clock.advance(1)
  assert.equal(await step(), 1)
  assert.equal(server.received.length, 1)
  assert.equal(readMail(server.received[0]?.source ?? '').one('Message-ID'), `<${waiting?.id}@acme.example>`)
  const sent = await row()
  assert.deepEqual([sent?.status, sent?.attempts], ['sent', 2])
})

test('a recipient refused for good is given up at once; its neighbours get theirs', async () => {
  const server = await serve({ rcpt: (address) => (address.startsWith('gone') ? 550 : undefined) })
  const { step, row, invite, lines } = await setUp(server.url)
  await invite('ada@example.com')
  await invite('gone@example.com')
  assert.equal(await step(), 2)
  assert.deepEqual(
    server.received.map(({ to }) => to),
    [['ada@example.com']],
  )
  const failed = await row()
  assert.deepEqual([failed?.status, failed?.sealed], ['failed', false])
  assert.match(failed?.lastError ?? '', /550/)
  assert.deepEqual(
    lines.map(({ level, msg, responseCode }) => [level, msg, responseCode]),
    [['error', 'mail given up', 550]],
  )
})

test('a server that is down: 1, 2, 4 ... minutes apart for a day, then given up for all to see', async () => {
  const { step, row, invite, clock, lines } = await setUp(`smtp://127.0.0.1:${await closedPort()}`)
  await invite('ada@example.com')
  const minutes: number[] = []
  for (let state = await row(); state?.status === 'pending'; state = await row()) {
    clock.advance(state.nextAttemptAt.getTime() - clock.now().getTime())
    minutes.push((clock.now().getTime() - start.getTime()) / minuteMs)
    assert.equal(await step(), 1)
  }
  assert.deepEqual(minutes, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1440])
  const failed = await row()
  assert.deepEqual([failed?.status, failed?.attempts, failed?.sealed], ['failed', 12, false])
  assert.match(failed?.lastError ?? '', /ECONNREFUSED/)
  assert.equal(lines.at(-1)?.['msg'], 'mail given up')
  assert.equal(await step(), 0)
})

test('a server that says nothing costs a time-out, not the worker', async () => {
  const sockets = new Set<{ destroy: () => void }>()
  const silent = createServer((socket) => void sockets.add(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  cleanUps.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => silent.close(resolve))
  })
  const { step, row, invite } = await setUp(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`)
  await invite('ada@example.com')
  await step()
  const state = await row()
  assert.equal(state?.status, 'pending')
  assert.match(state?.lastError ?? '', /Greeting never received/)
})

test('a worker that dies after sending: sent once more when its lease ends, recognisable as the same', async () => {
  const server = await serve()
  const { step, invite, clock, deps, row } = await setUp(server.url)
  await invite('ada@example.com')
  const dying = createMailStep({
    ...deps,
    users: { ...deps.users, recordSent: () => Promise.reject(new Error('died')) },
  })
  await assert.rejects(dying(), /died/)
  assert.equal(await step(), 0)
  clock.advance(5 * minuteMs - 1)
  assert.equal(await step(), 0)
  clock.advance(1)
  assert.equal(await step(), 1)
  const [first, second] = server.received.map(({ source }) => readMail(source))
  assert(first && second && server.received.length === 2)
  assert.equal(first.one('Message-ID'), second.one('Message-ID'))
  assert.equal(first.text, second.text)
  const sent = await row()
  assert.deepEqual([sent?.status, sent?.attempts], ['sent', 2])
})

test('the loop sends what comes, survives a failing step, and ends when it is told to', async () => {
  const server = await serve()
  const { invite, deps, row } = await setUp(server.url)
  let failures = 0
  const users = {
    ...deps.users,
    partnersWithDueMail: (...given: Parameters<typeof deps.users.partnersWithDueMail>) => {
      if (failures++ === 0) throw new Error('the database was away')
      return deps.users.partnersWithDueMail(...given)
    },
  }
  const loop = startMailWorker({ ...deps, users, idleMs: 1 })
  await invite('ada@example.com')
  while ((await row())?.status !== 'sent') {
    loop.wake()
    await turn()
  }
  await loop.stop()
  await invite('bob@example.com')
  assert.equal((await row())?.status, 'pending')
  assert.equal(server.received.length, 1)
})

test('a mail to an invitation that has expired meanwhile is not sent', async () => {
  const server = await serve()
  const { step, row, invite, clock } = await setUp(server.url)
  await invite('ada@example.com')
  clock.advance(7 * dayMs)
  assert.equal(await step(), 1)
  assert.equal(server.received.length, 0)
  assert.match((await row())?.lastError ?? '', /expired/)
})

test('a mail superseded while it is on its way leaves only the newer one to send', async () => {
  const server = await serve({ rcpt: () => undefined })
  const { step, invite, users, partnerId, clock, lines } = await setUp(server.url)
  const [invitation] = await invite('ada@example.com')
  assert(invitation)
  const [held] = await users.claimMails(db, partnerId, clock.now(), hourMs, 1)
  assert(held)
  await users.resendInvitation(partnerId, invitation.id, undefined)
  assert.equal(await users.recordFailure(db, held, 'down', null), false)
  assert.equal(await step(), 1)
  assert.match(readMail(server.received[0]?.source ?? '').one('Subject'), /^Reminder: /)
  assert.deepEqual(lines, [])
})
