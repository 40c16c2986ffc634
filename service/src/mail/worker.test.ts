/** The mail worker with a real database on one side and a real SMTP conversation on the other. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres.ts'
import { createAccess } from '../access/index.ts'
import {
  createCursors,
  createLog,
  createManualClock,
  createSealer,
  dayMs,
  hourMs,
  minuteMs,
  newId,
} from '../kernel/index.ts'
import { createDatabase, type Database, sql } from '../postgres/index.ts'
import { createUsers } from '../rooms/users/index.ts'
import { createMailer } from './mailer.ts'
import { smtpTransport } from './smtp.ts'
import { type MailMessage, MailRefused } from './transport.ts'
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

type Received = { readonly from: string; readonly to: readonly string[]; readonly source: string }

/** Takes any mail; `rcpt` answers a reply code to refuse a recipient with. */
async function mailServer(
  options: SMTPServerOptions & { readonly rcpt?: (address: string) => number | undefined } = {},
) {
  const { rcpt, ...rest } = options
  const received: Received[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onRcptTo: ({ address }, _session, done) => {
      const responseCode = rcpt?.(address)
      done(responseCode === undefined ? null : Object.assign(new Error(`no mail for <${address}>`), { responseCode }))
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        received.push({ from: sender, to, source: Buffer.concat(chunks).toString('utf8') })
        done()
      })
    },
    ...rest,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const stop = () => new Promise<void>((resolve) => server.close(resolve))
  cleanUps.push(stop)
  return { url: `smtp://127.0.0.1:${port}`, port, received, stop }
}

/** Header lines unfolded, and the text part decoded: what the reader of the mail gets. */
function read(source: string) {
  const headers = source
    .slice(0, source.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const part = /Content-Type: text\/plain[^]*?\r\n\r\n([^]*?)\r\n--/.exec(source)?.[1] ?? ''
  const bytes = part
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = /quoted-printable/.test(source) ? Buffer.from(bytes, 'latin1').toString('utf8') : part
  const all = (name: string) => headers.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}: `))
  return {
    headers,
    text: text.replaceAll('\r\n', '\n'),
    all,
    one: (name: string) =>
      all(name)
        .join()
        .slice(name.length + 2),
  }
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
  const server = await mailServer({
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
  const { one, text } = read(mail.source)
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
  const server = await mailServer({ rcpt: () => (replies-- > 0 ? 451 : undefined) })
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
  assert.equal(read(server.received[0]?.source ?? '').one('Message-ID'), `<${waiting?.id}@acme.example>`)
  const sent = await row()
  assert.deepEqual([sent?.status, sent?.attempts], ['sent', 2])
})

test('a recipient refused for good is given up at once; its neighbours get theirs', async () => {
  const server = await mailServer({ rcpt: (address) => (address.startsWith('gone') ? 550 : undefined) })
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
  const server = await mailServer()
  const { step, invite, users, partnerId, clock, deps, row } = await setUp(server.url)
  await invite('ada@example.com')
  const [mail] = await users.claimMails(db, partnerId, clock.now(), 5 * minuteMs, 1)
  assert(mail)
  await createMailer(deps).send({ ...mail, partnerName: 'Acme', token: users.tokenOf(mail) }, clock.now())
  assert.equal(await step(), 0)
  clock.advance(5 * minuteMs)
  assert.equal(await step(), 1)
  const [first, second] = server.received.map(({ source }) => read(source))
  assert(first && second && server.received.length === 2)
  assert.equal(first.one('Message-ID'), second.one('Message-ID'))
  assert.equal(first.text, second.text)
  assert.equal(await users.recordSent(db, mail), false)
  assert.equal((await row())?.attempts, 2)
})

test('the loop sends what comes, survives a failing step, and ends when it is told to', async () => {
  const server = await mailServer()
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
  const server = await mailServer()
  const { step, row, invite, clock } = await setUp(server.url)
  await invite('ada@example.com')
  clock.advance(7 * dayMs)
  assert.equal(await step(), 1)
  assert.equal(server.received.length, 0)
  assert.match((await row())?.lastError ?? '', /expired/)
})

test('a mail superseded while it is on its way leaves only the newer one to send', async () => {
  const server = await mailServer({ rcpt: () => undefined })
  const { step, invite, users, partnerId, clock, lines } = await setUp(server.url)
  const [invitation] = await invite('ada@example.com')
  assert(invitation)
  const [held] = await users.claimMails(db, partnerId, clock.now(), hourMs, 1)
  assert(held)
  await users.resendInvitation(partnerId, invitation.id, undefined)
  assert.equal(await users.recordFailure(db, held, 'down', null), false)
  assert.equal(await step(), 1)
  assert.match(read(server.received[0]?.source ?? '').one('Subject'), /^Reminder: /)
  assert.deepEqual(lines, [])
})

test('no name and no address makes a second header or a second recipient', async () => {
  const server = await mailServer()
  const names = [
    'Eve\r\nBcc: eve@example.com',
    'Eve\nBcc: eve@example.com\n\n<p>body',
    '"Eve" <eve@example.com>, x',
    'Zoë; <eve@example.com>:',
    '\u2028Bcc: eve@example.com',
    `${'Ä'.repeat(140)}`,
    '=?utf-8?Q?=0D=0ABcc:_eve@example.com?=',
  ]
  for (const name of names) {
    const { invite, step, deps } = await setUp(server.url, 'x')
    await invite('ada@example.com', 'Ada')
    const hostile = {
      ...deps,
      from: { ...from, name },
      access: { partnerName: () => Promise.resolve(name) },
      users: {
        ...deps.users,
        claimMails: async (...given: Parameters<typeof deps.users.claimMails>) =>
          (await deps.users.claimMails(...given)).map((mail) => ({ ...mail, toName: name, invitedByName: name })),
      },
    }
    assert.equal(await createMailStep(hostile)(), 1)
    assert.equal(await step(), 0)
    const mail = server.received.at(-1)
    assert(mail)
    assert.deepEqual([mail.from, mail.to], ['no-reply@acme.example', ['ada@example.com']])
    const { headers, all } = read(mail.source)
    for (const header of ['From', 'To', 'Subject', 'Message-ID']) assert.equal(all(header).length, 1, mail.source)
    assert.deepEqual(
      headers.map((line) => line.slice(0, line.indexOf(':'))).sort(),
      ['Auto-Submitted', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To'],
      mail.source,
    )
    assert.match(all('To')[0] ?? '', /<ada@example\.com>$/)
    assert.match(all('From')[0] ?? '', /<no-reply@acme\.example>$/)
  }
  assert.equal(server.received.length, names.length)
  const message: MailMessage = {
    messageId: '<a@b>',
    date: start,
    from,
    to: { name: '', address: 'a@b.example' },
    subject: 'x',
    text: 'x',
    html: 'x',
    link: null,
  }
  for (const address of [
    'a@b\r\nRCPT TO:<eve@example.com>',
    'a@b, eve@example.com',
    '<eve@example.com>',
    '"a@evil.example x"@b',
  ])
    await assert.rejects(
      smtpTransport(server.url).send({ ...message, to: { name: '', address } }),
      MailRefused,
      address,
    )
  assert.equal(server.received.length, names.length)
})

test('a password is not sent in the clear, a certificate is checked, and a wrong URL is refused without repeating it', async () => {
  const plain = await mailServer()
  const secure = await mailServer({ secure: true })
  const message = { messageId: '<a@b>', date: start, from, to: from, subject: 'x', text: 'x', html: 'x', link: null }
  await assert.rejects(smtpTransport(`${plain.url}?requireTLS=true`).send(message), { code: 'ETLS' })
  await assert.rejects(smtpTransport(`smtps://127.0.0.1:${secure.port}`).send(message), /certificate/)
  assert.equal(plain.received.length + secure.received.length, 0)
  for (const bad of [
    'http://u:s3cret@a',
    's3cret',
    'smtp:',
    'smtp://u:s3cret@a?tls.rejectUnauthorized=false',
    'smtp://a?requireTLS=no',
  ])
    assert.throws(
      () => smtpTransport(bad),
      (error: Error) => !error.message.includes('s3cret'),
      bad,
    )
})
