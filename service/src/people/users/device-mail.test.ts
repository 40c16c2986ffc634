import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { newId, present, randomBytes, secondMs } from '../../kernel/index.ts'
import type { MailToRender } from '../../mail/index.ts'
import { sql } from '../../postgres/index.ts'
import { newDeviceMail, renderNewDevice } from './device-mail.ts'
import { deviceOf } from '../sign-in/index.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const newClient = (more: object = {}) => ({
  ip: '203.0.113.7',
  userAgent: firefox,
  device: Buffer.from(randomBytes(32)).toString('base64url'),
  ...more,
})
type Client = ReturnType<typeof newClient>

/** A member who has joined from a device with a password. */
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

test('a sign-in from a new device is mailed once, and joining is not', async () => {
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

test('a sign-in that is refused is not mailed, and its device stays new', async () => {
  const { partnerId, email, code, signIn } = await addMember(newClient(), await addPartner(service))
  const stranger = newClient()
  service.clock.advance(30 * secondMs)
  const given = { email, password: 'wrong', code: code() }
  assert.equal(await service.members.signInByPassword(partnerId, given, stranger), undefined)
  assert.deepEqual(await mailsTo(partnerId, email), [])
  assert.ok(await signIn(stranger))
  assert.equal((await mailsTo(partnerId, email)).length, 1)
})

test('two people of one browser each get their own mail, also by a recovery code', async () => {
  const partner = await addPartner(service)
  const [ann, joan] = [await addMember(newClient(), partner), await addMember(newClient(), partner)]
  const shared = newClient()
  assert.ok(await ann.signIn(shared))
  const given = { email: joan.email, password, code: joan.recoveryCodes[0] ?? '' }
  assert.ok(await service.members.signInByPassword(partner.partnerId, given, shared))
  for (const { email } of [ann, joan]) assert.equal((await mailsTo(partner.partnerId, email)).length, 1)
})

test('of sign-ins at once from one new device, one is mailed, with a session for each', async () => {
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

test('the mail says when, from what and from where, and what to do', () => {
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

test('a user agent is told in words of ours', () => {
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
    assert.equal(deviceOf(userAgent), words, userAgent)
})
