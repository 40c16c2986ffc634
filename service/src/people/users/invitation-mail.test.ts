import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { mailServer, readMail } from '../../../../test/support/mail-server.ts'
import { startMail } from '../../../../test/support/jobs.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { createAccess } from '../../access/index.ts'
import { createCursors } from '../../kernel/api/index.ts'
import { createLog, createSealer, newId } from '../../kernel/index.ts'
import { createMailQueue, type MailToRender, smtpTransport } from '../../mail/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { createUsers } from './index.ts'
import { tokenHash } from './rules.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { renderInvitation, withToken } from './invitation-mail.ts'

const data = { role: 'Admin', invitedByName: 'Grace', linkUrl: 'https://portal.example/join' }
const mail: MailToRender = {
  kind: 'invitation',
  toName: 'Ada',
  partnerName: 'Acme',
  data,
  secret: 'TOKEN_-1',
  createdAt: new Date('2026-11-21T09:05:00.000Z'),
  expiresAt: new Date('2026-11-28T09:05:00.000Z'),
}

test('the token is the last parameter of the query, and the rest of the URL stays as it is', () => {
  const joined = [
    ['https://a.example', 'https://a.example/?token=T'],
    ['https://a.example/join', 'https://a.example/join?token=T'],
    ['https://a.example/join?', 'https://a.example/join?token=T'],
    ['https://a.example/join?a=%20b+c&d#part', 'https://a.example/join?a=%20b+c&d&token=T#part'],
    ['https://a.example/#token=x', 'https://a.example/?token=T#token=x'],
    ['https://a.example/?token=old&x=1', 'https://a.example/?x=1&token=T'],
    ['http://localhost:3000/?token=', 'http://localhost:3000/?token=T'],
    ['https://exämple.com/ü', 'https://xn--exmple-cua.com/%C3%BC?token=T'],
  ] as const
  for (const [given, expected] of joined) assert.equal(withToken(given, 'T'), expected)
})

test('an invitation names the inviter, the partner, the role, the link and the expiry', () => {
  const { subject, text, html, link } = renderInvitation(mail)
  assert.equal(subject, 'Grace invites you to Acme')
  assert.equal(link, 'https://portal.example/join?token=TOKEN_-1')
  for (const said of ['Hello Ada,', 'Grace invites you to join Acme as Admin.', '28 November 2026 at 09:05 UTC'])
    for (const form of [text, html]) assert(form.includes(said), `${said}: ${form}`)
  assert(text.split('\n').includes('https://portal.example/join?token=TOKEN_-1'), 'the link stands alone on its line')
  assert(html.includes('<a href="https://portal.example/join?token=TOKEN_-1">'))
})

test('a resent invitation says that the earlier mail no longer works; without a link the token is shown as a code', () => {
  const { subject, text, html, link } = renderInvitation({
    ...mail,
    kind: 'invitation_resent',
    data: { ...data, linkUrl: null },
  })
  assert.equal(subject, 'Reminder: Grace invites you to Acme')
  assert.equal(link, null)
  assert(text.includes('no longer works'))
  assert(text.split('\n').includes('TOKEN_-1'))
  assert(html.includes('<code>TOKEN_-1</code>'))
})

test('a name cannot add markup, lines or reversed text', () => {
  const { subject, text, html } = renderInvitation({
    ...mail,
    toName: '<img src=x onerror=alert(1)>',
    partnerName: '"Acme" & <b>Sons</b>\u202e\u2028',
    data: {
      ...data,
      invitedByName: 'Grace\r\nBcc: eve@example.com',
      linkUrl: `https://a.example/?x='"><script>&y`,
    },
  })
  assert.equal(subject, 'Grace Bcc: eve@example.com invites you to "Acme" & <b>Sons</b>')
  assert(!/\r|\nBcc/.test(text))
  assert(!/<img|<b>|<script/.test(html), html)
  assert(html.includes('&quot;Acme&quot; &amp; &lt;b&gt;Sons&lt;/b&gt;'))
})

test('an invitation arrives by SMTP with its link, and the link has the token of the invitation', async () => {
  const testDatabase = await createTestDatabase()
  const server = await mailServer()
  const log = createLog('silent')
  const db = createDatabase({ url: testDatabase.url, connectionsMax: 3, log })
  try {
    const clock = createManualClock(new Date('2026-11-21T08:00:00.000Z'))
    const sealer = createSealer([Buffer.alloc(32, 1)])
    const access = createAccess({ db, clock, sealer })
    const partnerId = await access.createPartner(db, 'Acme')
    const queue = createMailQueue({ clock, sealer })
    const cursors = createCursors(Buffer.alloc(32, 2))
    const users = createUsers({ db, clock, access, mail: queue, cursors, sandbox: true })
    const caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper', permissions }
    const redirectUrl = 'https://a.example/welcome?plan=x%20y#top'
    const invited = { email: 'ada@example.com', fullName: 'Ada Lovelace', role: 'Operator', redirectUrl } as const
    await users.createInvitations(caller, { invitations: [invited] })
    const worker = startMail({
      db,
      clock,
      log,
      queue,
      partnerName: access.partnerName,
      templates: { invitation: renderInvitation, invitation_resent: renderInvitation },
      transport: smtpTransport(server.url),
      from: { name: 'Acme Payments', address: 'no-reply@acme.example' },
    })
    await until('the mail arrives', () => server.received.length > 0)
    await worker.stop()
    const { one, text } = readMail(server.received[0]?.source ?? '')
    assert.equal(one('To'), 'Ada Lovelace <ada@example.com>')
    assert.equal(one('Subject'), 'Grace Hopper invites you to Acme')
    const link = /^https:\/\/a\.example\/welcome\?plan=x%20y&token=([A-Za-z0-9_-]{64})#top$/m.exec(text)
    const row = await db.row<{ tokenHash: Buffer }>(
      sql`select token_hash from users.invitations where partner_id = ${partnerId}`,
    )
    assert.deepEqual(row?.tokenHash, tokenHash(link?.[1] ?? ''))
  } finally {
    await db.close()
    await server.stop()
    await testDatabase.drop()
  }
})
