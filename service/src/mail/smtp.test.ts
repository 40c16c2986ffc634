/** What stands in a mail, and how it travels: against a real SMTP server. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'
import { createMailer, type InvitationMail } from './mailer.ts'
import { smtpTransport } from './smtp.ts'
import { type MailMessage, MailRefused } from './transport.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function serve(options: Parameters<typeof mailServer>[0] = {}) {
  const server = await mailServer(options)
  cleanUps.push(server.stop)
  return server
}

const now = new Date('2026-11-21T08:00:00.000Z')
const from = { name: 'Acme Payments', address: 'no-reply@acme.example' }
const message: MailMessage = {
  messageId: '<1@acme.example>',
  date: now,
  from,
  to: { name: 'Ada', address: 'ada@example.com' },
  subject: 'x',
  text: 'x',
  html: 'x',
  link: null,
}
const invitation: InvitationMail = {
  id: '0193f2a8-0000-7000-8000-00000000abcd',
  kind: 'invitation',
  toAddress: 'ada@example.com',
  toName: 'Ada',
  role: 'Admin',
  invitedByName: 'Grace',
  partnerName: 'Acme',
  linkUrl: null,
  token: 'TOKEN',
  expiresAt: now,
}

test('no name makes a second header or a second recipient', async () => {
  const server = await serve()
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
    const mailer = createMailer({ transport: smtpTransport(server.url), from: { ...from, name } })
    await mailer.send({ ...invitation, toName: name, invitedByName: name, partnerName: name }, now)
    const mail = server.received.at(-1)
    assert(mail)
    assert.deepEqual([mail.from, mail.to], ['no-reply@acme.example', ['ada@example.com']])
    const { headers, all } = readMail(mail.source)
    assert.deepEqual(
      headers.map((line) => line.slice(0, line.indexOf(':'))).sort(),
      ['Auto-Submitted', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To'],
      mail.source,
    )
    assert.match(all('To')[0] ?? '', /<ada@example\.com>$/)
    assert.match(all('From')[0] ?? '', /<no-reply@acme\.example>$/)
  }
  assert.equal(server.received.length, names.length)
})

test('an address that could be read as another is not sent to at all', async () => {
  const server = await serve()
  const { send } = smtpTransport(server.url)
  for (const address of [
    'a@b\r\nRCPT TO:<eve@example.com>',
    'a@b, eve@example.com',
    '<eve@example.com>',
    '"a@evil.example x"@b',
  ])
    await assert.rejects(send({ ...message, to: { name: '', address } }), MailRefused, address)
  assert.equal(server.received.length, 0)
  await send({ ...message, to: { name: 'Zoë', address: 'zoë@exämple.com' } })
  assert.deepEqual(server.received[0]?.to, ['zoë@exämple.com'])
})

test('a password is not sent in the clear, a certificate is checked, and a wrong URL is refused without repeating it', async () => {
  const plain = await serve()
  const secure = await serve({ secure: true })
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
