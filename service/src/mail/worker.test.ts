/** The mail queue and its worker. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, afterEach, suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'
import { startMail } from '../../../test/support/jobs.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createLog, createSealer, dayMs, hourMs, minuteMs, newId } from '../kernel/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { createMailQueue, createMailStep, type MailQueue, type MailToRender } from './worker.ts'
import { smtpTransport } from './transport.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { untilEnd } from '../../../test/support/fixture.ts'

const start = new Date('2026-11-21T08:00:00.000Z')

suite('worker', async () => {
  const log = createLog('silent')
  const cleanUps: (() => Promise<unknown>)[] = []

  const testDatabase = await createTestDatabase()
  const db = untilEnd(createDatabase({ url: testDatabase.url, connectionsMax: 5, log }))
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    // Each test starts with an empty queue.
    await db.run(sql`delete from mail.messages`)
  })
  after(() => testDatabase.drop())

  async function serve(options: Parameters<typeof mailServer>[0] = {}) {
    const server = await mailServer(options)
    cleanUps.push(server.stop)
    return server
  }

  function render({ kind, toName, partnerName, data, secret, createdAt }: MailToRender) {
    const text = `${toName}, ${partnerName}: ${data['word']}, ${secret}, ${createdAt.toISOString()}\n`
    return { subject: `${kind} ${data['word']}`, text, html: `<p>${text}</p>`, link: null }
  }

  async function setUp(url: string) {
    const clock = createManualClock(start)
    const queue = createMailQueue({ clock, sealer: createSealer([Buffer.alloc(32, 1)]) })
    const partnerId = newId()
    await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Acme', ${start})`)
    const mailTo = (address: string, given: { readonly kind?: string; readonly expiresAt?: Date } = {}) => ({
      kind: 'greeting',
      subjectId: newId(),
      to: { name: 'Ada Lovelace', address },
      data: { word: 'hello' },
      secret: 'SECRET',
      expiresAt: null,
      ...given,
    })
    const enqueue = (...given: Parameters<typeof mailTo>) => queue.enqueue(db, partnerId, [mailTo(...given)])
    const lines: Record<string, unknown>[] = []
    const limits = { connectTimeoutMs: 2000, greetingTimeoutMs: 300, idleTimeoutMs: 2000, sendTimeoutMs: 5000 }
    const deps = {
      db,
      clock,
      log: createLog('info', { write: (line: string) => lines.push(JSON.parse(line) as never) } as never),
      queue,
      partnerName: async () => 'Acme',
      templates: { greeting: render, broken: () => assert.fail('the template is broken') },
      transport: smtpTransport(url, limits),
      from: { name: 'Acme Payments', address: 'no-reply@acme.example' },
    }
    const row = () =>
      db.row<{
        id: string
        status: string
        attempts: number
        lastError: string | null
        hasSecret: boolean
        dueAt: Date
      }>(
        sql`select id, status, attempts, last_error, secret_sealed is not null as has_secret, due_at
        from mail.messages where partner_id = ${partnerId} order by id desc limit 1`,
      )
    return { clock, queue, partnerId, mailTo, enqueue, deps, step: createMailStep(deps), row, lines }
  }

  /** Finds a port without a listener. */
  async function closedPort(): Promise<number> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    return port
  }

  test('a mail is rendered by the template of its kind and sent exactly once, with the id of its row in the Message-ID', async () => {
    const logins: unknown[] = []
    const server = await serve({
      authOptional: false,
      onAuth: ({ username, password }, _session, done) => {
        logins.push([username, password])
        done(null, { user: username ?? '' })
      },
    })
    const { step, row, enqueue, clock } = await setUp(server.url.replace('//', '//post%40acme:p%3Ass%2F@'))
    await enqueue('ada@example.com')
    clock.advance(minuteMs)
    assert.equal(await step(), 1)
    assert.equal(await step(), 0)
    assert.deepEqual(logins, [['post@acme', 'p:ss/']])
    const [mail] = server.received
    assert(mail && server.received.length === 1)
    assert.deepEqual([mail.from, mail.to], ['no-reply@acme.example', ['ada@example.com']])
    const { one, text } = readMail(mail.source)
    assert.equal(one('From'), 'Acme Payments <no-reply@acme.example>')
    assert.equal(one('To'), 'Ada Lovelace <ada@example.com>')
    assert.equal(one('Subject'), 'greeting hello')
    assert.equal(one('Auto-Submitted'), 'auto-generated')
    assert.equal(text.trim(), `Ada Lovelace, Acme: hello, SECRET, ${start.toISOString()}`)
    const sent = await row()
    assert.equal(one('Message-ID'), `<${sent?.id}@acme.example>`)
    assert.deepEqual([sent?.status, sent?.attempts, sent?.hasSecret], ['sent', 1, false])
    clock.advance(2 * dayMs)
    assert.equal(await step(), 0)
  })

  test("a partner's own address is the sender if it is in the service's domain, and otherwise receives the replies", async () => {
    const server = await serve()
    const { enqueue, deps, partnerId } = await setUp(server.url)
    const senders = [
      { name: 'Shop', address: 'help@shop.example' },
      { name: 'Shop', address: 'shop@ACME.example' },
    ]
    for (const sender of senders) {
      await enqueue('ada@example.com')
      assert.equal(await createMailStep({ ...deps, senders: new Map([[partnerId, sender]]) })(), 1)
    }
    const [foreign, own] = server.received.map(({ from, source }) => ({ from, ...readMail(source) }))
    assert.deepEqual(
      [foreign?.from, foreign?.one('From'), foreign?.one('Reply-To')],
      ['no-reply@acme.example', 'Shop <no-reply@acme.example>', 'Shop <help@shop.example>'],
    )
    assert.deepEqual([own?.from, own?.one('From')], ['shop@acme.example', 'Shop <shop@acme.example>'])
    assert.doesNotMatch(server.received[1]?.source ?? '', /^Reply-To/mu)
  })

  test('the worker retries a minute after a 451 reply, with the same Message-ID', async () => {
    let replies = 1
    const server = await serve({ rcpt: () => (replies-- > 0 ? 451 : undefined) })
    const { step, row, enqueue, clock, lines } = await setUp(server.url)
    await enqueue('ada@example.com')
    assert.equal(await step(), 1)
    const waiting = await row()
    assert.deepEqual([waiting?.status, waiting?.dueAt], ['pending', new Date(start.getTime() + minuteMs)])
    assert.match(waiting?.lastError ?? '', /451/)
    assert.deepEqual(
      lines.map(({ level, responseCode }) => [level, responseCode]),
      [['warn', 451]],
    )
    assert(!JSON.stringify(lines).includes('ada@'), 'the log has no address')
    clock.advance(minuteMs - 1)
    assert.equal(await step(), 0)
    clock.advance(1)
    assert.equal(await step(), 1)
    assert.equal(server.received.length, 1)
    assert.equal(readMail(server.received[0]?.source ?? '').one('Message-ID'), `<${waiting?.id}@acme.example>`)
    const sent = await row()
    assert.deepEqual([sent?.status, sent?.attempts], ['sent', 2])
  })

  test('the worker gives up at once when the recipient is refused permanently, and still sends the other mails', async () => {
    const server = await serve({ rcpt: (address) => (address.startsWith('gone') ? 550 : undefined) })
    const { step, row, enqueue, lines } = await setUp(server.url)
    await enqueue('ada@example.com')
    await enqueue('gone@example.com')
    assert.equal(await step(), 2)
    assert.deepEqual(
      server.received.map(({ to }) => to),
      [['ada@example.com']],
    )
    const failed = await row()
    assert.deepEqual([failed?.status, failed?.hasSecret], ['failed', false])
    assert.match(failed?.lastError ?? '', /550/)
    assert.deepEqual(
      lines.map(({ level, msg, responseCode }) => [level, msg, responseCode]),
      [['error', 'mail given up', 550]],
    )
  })

  test('the worker retries after 1, 2, 4 ... minutes for a day while the server is down, then gives up', async () => {
    const { step, row, enqueue, clock, lines } = await setUp(`smtp://127.0.0.1:${await closedPort()}`)
    await enqueue('ada@example.com')
    const minutes: number[] = []
    for (let state = await row(); state?.status === 'pending'; state = await row()) {
      clock.advance(state.dueAt.getTime() - clock.now().getTime())
      minutes.push((clock.now().getTime() - start.getTime()) / minuteMs)
      assert.equal(await step(), 1)
    }
    assert.deepEqual(minutes, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1440])
    const failed = await row()
    assert.deepEqual([failed?.status, failed?.attempts, failed?.hasSecret], ['failed', 12, false])
    assert.match(failed?.lastError ?? '', /ECONNREFUSED/)
    assert.equal(lines.at(-1)?.['msg'], 'mail given up')
    assert.equal(await step(), 0)
  })

  test('a silent server delays the worker by one time-out', async () => {
    const sockets = new Set<{ destroy: () => void }>()
    const silent = createServer((socket) => void sockets.add(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    cleanUps.push(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => silent.close(resolve))
    })
    const { step, row, enqueue } = await setUp(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    await enqueue('ada@example.com')
    await step()
    const state = await row()
    assert.equal(state?.status, 'pending')
    assert.match(state?.lastError ?? '', /Greeting never received/)
  })

  test('a mail without a working template is retried, and the other mails are sent', async () => {
    const server = await serve()
    const { step, enqueue, row, lines } = await setUp(server.url)
    await enqueue('ada@example.com')
    await enqueue('bob@example.com', { kind: 'broken' })
    await enqueue('cyd@example.com', { kind: 'unknown' })
    assert.equal(await step(), 3)
    assert.equal(server.received.length, 1)
    const state = await row()
    assert.equal(state?.status, 'pending')
    assert.match(state?.lastError ?? '', /template for mails of kind unknown/)
    assert.deepEqual(
      lines.map(({ level }) => level),
      ['warn', 'warn'],
    )
  })

  test('a mail whose worker died after sending is sent once more when the lease ends, with the same Message-ID', async () => {
    const server = await serve()
    const { step, enqueue, clock, deps, row } = await setUp(server.url)
    await enqueue('ada@example.com')
    const queue: MailQueue = { ...deps.queue, recordSent: () => Promise.reject(new Error('died')) }
    await assert.rejects(createMailStep({ ...deps, queue })(), /died/)
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

  test('the loop sends new mails, survives a failing step, and stops', async () => {
    const server = await serve()
    const { enqueue, deps, row } = await setUp(server.url)
    let failures = 0
    const queue: MailQueue = {
      ...deps.queue,
      partnersWithDueMail: (...given) => {
        if (failures++ === 0) throw new Error('the database is away')
        return deps.queue.partnersWithDueMail(...given)
      },
    }
    const loop = startMail({ ...deps, queue })
    await enqueue('ada@example.com')
    while ((await row())?.status !== 'sent') {
      loop.wakeAll()
      await turn()
    }
    await loop.stop()
    await enqueue('bob@example.com')
    assert.equal((await row())?.status, 'pending')
    assert.equal(server.received.length, 1)
  })

  test('several concurrent workers send each mail exactly once', async () => {
    const server = await serve()
    const { queue, partnerId, mailTo, deps, step } = await setUp(server.url)
    const addresses = Array.from({ length: 30 }, (_, index) => `ada${index}@example.com`)
    await queue.enqueue(
      db,
      partnerId,
      addresses.map((address) => mailTo(address)),
    )
    const loops = [1, 2, 3].map(() => startMail(deps))
    while (server.received.length < addresses.length) await turn()
    await Promise.all(loops.map((loop) => loop.stop()))
    assert.equal(await step(), 0)
    assert.deepEqual(server.received.flatMap(({ to }) => to).toSorted(), addresses.toSorted())
  })

  test('an expired mail is not sent', async () => {
    const server = await serve()
    const { step, row, enqueue, clock } = await setUp(server.url)
    await enqueue('ada@example.com', { expiresAt: new Date(start.getTime() + dayMs) })
    clock.advance(dayMs)
    assert.equal(await step(), 1)
    assert.equal(server.received.length, 0)
    assert.match((await row())?.lastError ?? '', /expired/)
  })

  test('a worker does not record a mail that `endPending` ended, and a new mail about the subject is sent', async () => {
    const server = await serve()
    const { step, queue, partnerId, mailTo, lines } = await setUp(server.url)
    const first = mailTo('ada@example.com')
    await queue.enqueue(db, partnerId, [first])
    const [held] = await queue.claim(db, partnerId, hourMs, 1)
    assert(held)
    await queue.endPending(db, partnerId, first.subjectId, 'superseded')
    await queue.enqueue(db, partnerId, [{ ...first, data: { word: 'again' } }])
    assert.equal(await queue.recordFailure(db, held, 'down', null), false)
    assert.equal(await step(), 1)
    assert.equal(readMail(server.received[0]?.source ?? '').one('Subject'), 'greeting again')
    assert.deepEqual(lines, [])
  })
})

suite('queue', async () => {
  const testDatabase = await createTestDatabase()
  const db = untilEnd(createDatabase({ url: testDatabase.url, connectionsMax: 5, log: createLog('silent') }))
  after(() => testDatabase.drop())

  /** Creates a partner for the test, and a manual clock. */
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

  test('a mail is queued with its transaction, and not if it is rolled back', async () => {
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

  test('only the holder of the lease records the outcome, and a mail is due again when the lease ends', async () => {
    const { partnerId, clock, queue, enqueue } = await setUp()
    await enqueue('a@example.com', 'b@example.com', 'c@example.com')
    const claim = () => queue.claim(db, partnerId, minuteMs, 2)
    // The second claim runs before the first commits, and neither waits nor takes the same mails.
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

  test('`endPending` ends only the pending mails of its subject, including leased ones', async () => {
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
})
