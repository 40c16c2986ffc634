/** Mails to members: new devices and invitations. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { addPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { createLog, createSealer, newId, present, randomBytes, secondMs, tokenHash } from '../../kernel/index.ts'
import { createMailQueue, type MailToRender, smtpTransport } from '../../mail/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { newDeviceMail, renderNewDevice } from './entrances.ts'
import { describeDevice } from '../sign-in/index.ts'
import { mailServer, readMail } from '../../../../test/support/mail-server.ts'
import { startMail } from '../../../../test/support/jobs.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { createAccess } from '../../access/index.ts'
import { createCursors } from '../../kernel/api/index.ts'
import { createUsers } from './index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { renderInvitation, appendToken } from './mails.ts'

suite('new devices', async () => {
  const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })

  const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
  const newClient = (more: object = {}) => ({
    ip: '203.0.113.7',
    userAgent: firefox,
    device: Buffer.from(randomBytes(32)).toString('base64url'),
    ...more,
  })
  type Client = ReturnType<typeof newClient>

  /** Lets a member join from a device with a password. */
  async function addMember(client: Client, { partnerId, caller }: Awaited<ReturnType<typeof addPartner>>) {
    const { users, members, mailQueue, db, clock } = service
    const email = `${newId()}@example.com`
    await users.createInvitations(caller, { invitations: [{ email, fullName: 'Joan Clarke', role: 'Admin' }] })
    const claimed = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
    const mail = present(
      claimed.find(({ toAddress }) => toAddress === email),
      'the invitation is mailed',
    )
    const token = mailQueue.secretOf(mail) ?? ''
    const { totpSecret } = await members.openInvitation(token)
    const code = () => codeOf(totpSecret, clock.now().getTime())
    const { recoveryCodes } = await members.join(token, { kind: 'password', password, code: code() }, client)
    const signIn = (from: Client) => {
      clock.advance(30 * secondMs)
      return members.signInByPassword(partnerId, { email, password, code: code() }, from)
    }
    return { partnerId, email, code, recoveryCodes, signIn }
  }

  const mailsTo = (partnerId: string, email: string) =>
    service.db.rows<{ readonly data: string }>(sql`
    select data::text as data from mail.messages
    where partner_id = ${partnerId} and to_address = ${email} and kind = 'new_device' order by id`)

  test('a sign-in from a new device is mailed exactly once, and the first session of a new member is not mailed', async () => {
    const own = newClient()
    const { partnerId, email, signIn } = await addMember(own, await addPartner(service))
    assert.ok(await signIn(own))
    assert.deepEqual(await mailsTo(partnerId, email), [], 'the device of joining is known')
    const another = newClient({ ip: '198.51.100.4' })
    assert.ok(await signIn(another))
    const at = service.clock.now()
    assert.ok(await signIn(another))
    const mails = await mailsTo(partnerId, email)
    assert.equal(mails.length, 1)
    const { sessionsUrl, ...data } = JSON.parse(mails[0]?.data ?? '') as { readonly sessionsUrl: string }
    assert.deepEqual(data, { device: 'Firefox on Windows', at: at.toISOString(), ip: '198.51.100.4' })
    assert.equal(new URL(sessionsUrl).pathname, '/console/sessions')
  })

  test('a refused sign-in is not mailed, and its device remains new', async () => {
    const { partnerId, email, code, signIn } = await addMember(newClient(), await addPartner(service))
    const stranger = newClient()
    service.clock.advance(30 * secondMs)
    const given = { email, password: 'wrong', code: code() }
    assert.equal(await service.members.signInByPassword(partnerId, given, stranger), undefined)
    assert.deepEqual(await mailsTo(partnerId, email), [])
    assert.ok(await signIn(stranger))
    assert.equal((await mailsTo(partnerId, email)).length, 1)
  })

  test('two people who share a browser each get a mail, even after a recovery code', async () => {
    const partner = await addPartner(service)
    const [ann, joan] = [await addMember(newClient(), partner), await addMember(newClient(), partner)]
    const shared = newClient()
    assert.ok(await ann.signIn(shared))
    const given = { email: joan.email, password, code: joan.recoveryCodes[0] ?? '' }
    assert.ok(await service.members.signInByPassword(partner.partnerId, given, shared))
    for (const { email } of [ann, joan]) assert.equal((await mailsTo(partner.partnerId, email)).length, 1)
  })

  test('concurrent sign-ins from a new device each get a session, and exactly one of them is mailed', async () => {
    const { partnerId, email, recoveryCodes } = await addMember(newClient(), await addPartner(service))
    const device = newClient()
    const ends = await Promise.all(
      recoveryCodes
        .slice(0, 5)
        .map((code) => service.members.signInByPassword(partnerId, { email, password, code }, device)),
    )
    assert.ok(ends.filter((signed) => signed !== undefined).length > 0)
    assert.equal((await mailsTo(partnerId, email)).length, 1)
  })

  test('the mail shows time, device and address, and instructions', () => {
    const person = { id: newId(), email: 'joan@example.com', fullName: 'Joan <b>Clarke</b>' }
    const signInUrl = 'https://pay.example.com/console/sign-in'
    const at = new Date('2026-11-24T08:05:00Z')
    const { kind, data } = newDeviceMail(person, { ip: '203.0.113.7', userAgent: firefox }, { at, signInUrl })
    const mail: MailToRender = {
      ...{
        kind,
        data,
        toName: person.fullName,
        partnerName: 'Acme & Sons',
        secret: null,
        createdAt: at,
        expiresAt: null,
      },
    }
    const { subject, text, html, link } = renderNewDevice(mail)
    assert.equal(subject, 'New device signed in to Acme & Sons')
    assert.equal(link, 'https://pay.example.com/console/sessions')
    for (const said of ['Firefox on Windows', '24 November 2026 at 08:05 UTC', '203.0.113.7', 'tell an Admin', link])
      for (const form of [text, html]) assert.ok(form.includes(said), `${said}: ${form}`)
    assert.ok(html.includes('Acme &amp; Sons') && html.includes('Joan &lt;b&gt;Clarke') && !html.includes('<b>'), html)
  })

  test('a mail shows the browser and the system of a user agent by known names, never its text', () => {
    const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
    for (const [userAgent, words] of [
      [firefox, 'Firefox on Windows'],
      [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/142.0.0.0 Safari/537.36`, 'Chrome on Windows'],
      [
        `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`,
        'Microsoft Edge on Windows',
      ],
      [
        `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/142.0.0.0 Safari/537.36 OPR/124.0.0.0`,
        'Opera on macOS',
      ],
      [
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
        'Safari on macOS',
      ],
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
        'Safari on iPhone',
      ],
      [
        'Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0.0.0 Mobile/15E148 Safari/604.1',
        'Chrome on iPad',
      ],
      ['Mozilla/5.0 (Android 16; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0', 'Firefox on Android'],
      [
        `Mozilla/5.0 (Linux; Android 16; SM-S928B) ${webkit} SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36`,
        'Samsung Internet on Android',
      ],
      [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/142.0.0.0 Safari/537.36`, 'Chrome on ChromeOS'],
      ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
      ['curl/8.16.0', 'an unknown browser'],
      ['Mozilla/5.0 (X11; Linux x86_64)', 'an unknown browser on Linux'],
      ['Firefox/1 <a href="https://evil.example">click</a>', 'Firefox on an unknown system'],
      ['', 'an unknown browser'],
    ] as const)
      assert.equal(describeDevice(userAgent), words, userAgent)
  })
})

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

test('the token is the last parameter of the query, and the rest of the URL is unchanged', () => {
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
  for (const [given, expected] of joined) assert.equal(appendToken(given, 'T'), expected)
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

test('a resent invitation says that the earlier mail no longer works, and without a link the token is shown as a code', () => {
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
