/** Alert emails about failing endpoints: from the alert to the mail in the mailbox of a real SMTP server. */
import { createFactQueue } from '../../inbox/index.ts'
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { mailServer, readMail } from '../../../../test/support/mail-server.ts'
import { startMail } from '../../../../test/support/jobs.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { createAccess } from '../../access/index.ts'
import { createCursors } from '../../kernel/api/index.ts'
import { createLog, createSealer, dayMs, newId } from '../../kernel/index.ts'
import { createMailQueue, smtpTransport } from '../../mail/index.ts'
import { createUsers } from '../../people/users/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { type AlertKind, createEndpointAlerts, type EndpointAlert, renderEndpointAlert } from './alerts.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'

const start = new Date('2026-11-21T08:00:00.000Z')

const testDatabase = await createTestDatabase()
const db = untilEnd(createDatabase({ url: testDatabase.url, connectionsMax: 5, log: createLog('silent') }))
const server = await mailServer()
afterEach(async () => {
  server.received.length = 0
  // Each test has the queue for itself.
  await db.run(sql`delete from mail.messages`)
})
after(async () => {
  await server.stop()
  await testDatabase.drop()
})

const subscriptionId = newId()
const failing: Omit<EndpointAlert, 'partnerId'> = {
  subscriptionId,
  kind: 'Failing24h',
  url: 'https://hooks.example.com:8443/in/bound?key=partners-secret',
  failingSince: new Date('2026-11-20T08:00:00.000Z'),
  lastError: 'the endpoint refused the connection',
}

async function setUp() {
  const clock = createManualClock(start)
  const sealer = createSealer([Buffer.alloc(32, 1)])
  const access = createAccess({ db, clock, sealer })
  const queue = createMailQueue({ clock, sealer })
  const partnerId = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Acme', ${start})`)
  const cursors = createCursors(Buffer.alloc(32, 2))
  const users = createUsers({ db, clock, access, mail: queue, cursors, sandbox: true })
  const log = createLog('silent')
  const alerts = createEndpointAlerts({
    ...{ mail: queue, facts: createFactQueue({ clock }), invitedWithRoles: users.invitedWithRoles },
  })
  const caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper', permissions }
  const invite = async (name: string, role: 'Admin' | 'Developer' | 'Operator') => {
    const entry = { email: `${name}@example.com`, fullName: `${name} Example`, role, redirectUrl: null }
    const [invitation] = await users.createInvitations(caller, { invitations: [entry] })
    assert(invitation)
    return invitation.id
  }
  const addAlert = (given: Partial<EndpointAlert> = {}) =>
    db.transaction((tx) => alerts.add(tx, { ...failing, ...given, partnerId }))
  const recipients = async () =>
    (
      await db.rows<{ toAddress: string }>(sql`
        select to_address from mail.messages where partner_id = ${partnerId} and kind = 'endpoint_alert' order by id`)
    ).map(({ toAddress }) => toAddress)

  /** Sends the queued alerts, without the invitations. */
  const send = async (mails: number) => {
    await db.run(sql`delete from mail.messages where partner_id = ${partnerId} and kind <> 'endpoint_alert'`)
    const worker = startMail({
      db,
      clock,
      log,
      queue,
      partnerName: async () => 'Acme',
      templates: { endpoint_alert: renderEndpointAlert },
      transport: smtpTransport(server.url),
      from: { name: 'Acme Payments', address: 'no-reply@acme.example' },
    })
    await until('the alerts arrive', () => server.received.length >= mails)
    await worker.stop()
    return server.received.map(({ source, to }) => ({ ...readMail(source), to, source }))
  }
  return { partnerId, caller, clock, users, alerts, invite, addAlert, recipients, send }
}

test('each Admin and Developer gets one mail with its own Message-ID, and an Operator and a revoked Admin get no mail', async () => {
  const { invite, addAlert, users, caller, send } = await setUp()
  await invite('ada', 'Admin')
  await invite('dan', 'Developer')
  await invite('oto', 'Operator')
  await users.revokeInvitation(caller, await invite('rea', 'Admin'))
  await addAlert()
  const [fact, ...others] = await db.rows<{ type: string; facts: string }>(
    sql`select type, facts from inbox.facts where partner_id = ${caller.partnerId} and subject = ${subscriptionId}`,
  )
  assert.deepEqual([fact?.type, others.length], ['endpoint.failing', 0])
  assert.match(fact?.facts ?? '', /hooks\.example\.com:8443/)
  assert.doesNotMatch(fact?.facts ?? '', /partners-secret/)
  const mails = await send(2)
  assert.deepEqual(mails.flatMap(({ to }) => to).toSorted(), ['ada@example.com', 'dan@example.com'])
  assert.equal(new Set(mails.map(({ one }) => one('Message-ID'))).size, 2)
})

test('the mail names the endpoint, the start and reason of its failure, and what to do, without the query of the URL', async () => {
  const { invite, addAlert, send } = await setUp()
  await invite('ada', 'Admin')
  await addAlert()
  const [mail] = await send(1)
  assert(mail)
  const { one, text, source } = mail
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
    'After 5 days of failures the endpoint is disabled.',
  ])
    assert.ok(text.includes(said), said)
  assert.doesNotMatch(source, /partners-secret/)
  assert.doesNotMatch(text, /enable/)
})

test('each kind has its subject, and the mail about a disabled endpoint says how to enable it', async () => {
  const { invite, addAlert, send } = await setUp()
  await invite('ada', 'Admin')
  const subjects: Readonly<Record<AlertKind, string>> = {
    Failing24h: 'Webhooks to hooks.example.com:8443 have failed for 24 hours',
    Failing72h: 'Webhooks to hooks.example.com:8443 have failed for 72 hours',
    DisabledFailing: 'Webhooks to hooks.example.com:8443 are disabled: they failed for 5 days',
    DisabledGone: 'Webhooks to hooks.example.com:8443 are disabled: the endpoint answered 410 Gone',
  }
  const kinds = Object.keys(subjects) as AlertKind[]
  for (const kind of kinds)
    await addAlert({ kind, ...(kind === 'DisabledGone' ? { failingSince: null, lastError: null } : {}) })
  const mails = await send(kinds.length)
  for (const kind of kinds) {
    const mail = mails.find(({ one }) => one('Subject') === subjects[kind])
    assert(mail, kind)
    const { text } = mail
    const disabled = kind === 'DisabledFailing' || kind === 'DisabledGone'
    assert.equal(text.includes(`POST /v1/webhooks/${subscriptionId}/enable`), disabled)
    assert.equal(text.includes('Disabled at: 21 November 2026 at 08:00 UTC'), disabled)
    assert.equal(text.includes('No delivery has succeeded since'), kind !== 'DisabledGone')
    assert.equal(text.includes('Last error'), kind !== 'DisabledGone')
  }
})

test('only the newest invitation of an address counts, in upper or lower case', async () => {
  const { invite, addAlert, recipients, clock } = await setUp()
  await invite('ada', 'Developer')
  clock.advance(8 * dayMs)
  await invite('Ada', 'Admin')
  await invite('dan', 'Admin')
  clock.advance(8 * dayMs)
  await invite('dan', 'Operator')
  await addAlert()
  assert.deepEqual(await recipients(), ['Ada@example.com'])
})

test('at most 20 people get an alert, in the order of their invitations', async () => {
  const { invite, addAlert, recipients } = await setUp()
  const names = Array.from({ length: 21 }, (_, index) => `ada${index}`)
  for (const name of names) await invite(name, 'Admin')
  await addAlert()
  assert.deepEqual(
    await recipients(),
    names.slice(0, 20).map((name) => `${name}@example.com`),
  )
})

test('a rolled back transaction queues no mail, and neither does an alert without an invited person', async () => {
  const { partnerId, invite, alerts, addAlert, recipients } = await setUp()
  await addAlert()
  assert.deepEqual(await recipients(), [])
  await invite('ada', 'Admin')
  const rolledBack = db.transaction(async (tx) => {
    await alerts.add(tx, { ...failing, partnerId })
    throw new Error('no')
  })
  await assert.rejects(rolledBack, /no/)
  assert.deepEqual(await recipients(), [])
})
