import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestService, type Service } from '../../../../test/support/composition.ts'
import { mailServer, readMail } from '../../../../test/support/mail-server.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { newId, secondMs } from '../../kernel/index.ts'
import { smtpTransport } from '../../mail/index.ts'
import { sql } from '../../postgres/index.ts'
import { renderStaffMail } from './staff-mail.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const browser = () => ({ ip: '203.0.113.7', userAgent: 'Firefox/145.0 Windows NT', device: newId() })

/** A person who has joined from a device with a password. */
async function join(from: ReturnType<typeof browser>) {
  const { staff, db, clock } = service
  const person = { email: `${newId()}@example.com`, fullName: `Joan ${newId()}`, role: 'support' } as const
  const { token } = await db.transaction((tx) => staff.invite(tx, person))
  const { totpSecret } = await staff.openInvitation(token)
  const code = () => codeOf(totpSecret, clock.now().getTime())
  const { token: session, recoveryCodes } = await staff.join(token, { kind: 'password', password, code: code() }, from)
  const id = (await staff.signedIn(session))?.account.id ?? ''
  const signIn = (client: ReturnType<typeof browser>, given: { code?: string; password?: string } = {}) => {
    clock.advance(30 * secondMs)
    return staff.signInByPassword({ email: person.email, password, code: code(), ...given }, client)
  }
  return { ...person, id, recoveryCodes, signIn }
}

const mailsTo = (email: string) =>
  service.db.rows<{ readonly change: string; readonly data: string; readonly toName: string }>(sql`
    select data->>'change' as change, data::text as data, to_name from mail.messages
    where partner_id = ${operatorPartnerId} and to_address = ${email} order by id`)
const changesTo = async (email: string) => (await mailsTo(email)).map(({ change }) => change)

test('a sign-in from a new device is mailed once, and joining and a refused sign-in are not', async () => {
  const [own, other] = [browser(), browser()]
  const { email, signIn } = await join(own)
  assert.ok(await signIn(own))
  assert.equal(await signIn(other, { password: 'wrong' }), undefined)
  assert.deepEqual(await changesTo(email), [])
  assert.ok(await signIn(other))
  assert.ok(await signIn(other))
  assert.deepEqual(await changesTo(email), ['new device'])
})

test('a used recovery code and the fifth failure are mailed', async () => {
  const own = browser()
  const { email, signIn, recoveryCodes } = await join(own)
  assert.ok(await signIn(own, { code: recoveryCodes[0] ?? '' }))
  assert.deepEqual(await changesTo(email), ['recovery code used'])
  for (let failure = 0; failure < 6; failure += 1) await signIn(own, { password: 'wrong' })
  assert.deepEqual(await changesTo(email), ['recovery code used', 'password blocked'])
})

test('a change of the role, the end of sessions and the removal are mailed, and none if the change is rolled back', async () => {
  const { email, id } = await join(browser())
  const { staff, db } = service
  await db.transaction((tx) => staff.setRole(tx, id, 'support'))
  await assert.rejects(
    db.transaction(async (tx) => {
      await staff.setRole(tx, id, 'finance')
      throw new Error('rolled back')
    }),
  )
  assert.deepEqual(await changesTo(email), [])
  await db.transaction((tx) => staff.setRole(tx, id, 'finance'))
  await db.transaction((tx) => staff.endSessions(tx, id))
  await db.transaction((tx) => staff.remove(tx, id))
  assert.deepEqual(await changesTo(email), ['role changed', 'sessions ended', 'removed'])
})

test('the mail arrives by SMTP, with the device, and no text of a stranger', async () => {
  const { email, signIn } = await join(browser())
  assert.ok(await signIn({ ...browser(), userAgent: 'Chrome/1 https://evil.example Android' }))
  const [row] = await mailsTo(email)
  assert.ok(row)
  const server = await mailServer()
  try {
    const data = JSON.parse(row.data) as Record<string, string>
    const mail = {
      kind: 'staff_account',
      expiresAt: null,
      createdAt: service.clock.now(),
      partnerName: '',
      secret: null,
    }
    const content = renderStaffMail({ ...mail, toName: 'Joan\r\nBcc: x@evil.example', data })
    const from = { name: 'ACME', address: 'no-reply@example.com' }
    const to = { name: row.toName, address: email }
    const message = { messageId: `<${newId()}@example.com>`, date: service.clock.now(), from, to, ...content }
    await smtpTransport(server.url).send(message)
    const received = readMail(server.received[0]?.source ?? '')
    assert.match(received.one('Subject'), /^Your account at .* desk: new device$/)
    assert.match(received.text, /Device: Chrome on Android\. IP address: 203\.0\.113\.7\./)
    assert.ok(!received.text.includes('https://evil.example'))
    assert.ok(!received.text.includes('\nBcc:'))
  } finally {
    await server.stop()
  }
})
